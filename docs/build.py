"""Writes the pages and the plugin's files that are made from the code: `make docs`. What the pages say stands in
docstrings and help texts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from checks import checks
from gallery import FOLDER, library_pages
from mistakes import mistakes
from page_parts import MADE, table

from wfc.cli.main import cli
from wfc.dialects.blocks.file import (
    Block,
    BlocksFile,
    Dependency,
    InputDeclaration,
    OutputDeclaration,
    WorkflowOutput,
)
from wfc.dialects.blocks.kinds import KINDS
from wfc.dialects.blocks.reference import STATE_DOCS, block_page
from wfc.dialects.phases.file import Agent, Phase, PhasesFile, Role
from wfc.dialects.reactive import model as reactive
from wfc.dialects.reactive.kinds import KINDS as STEP_KINDS
from wfc.dialects.reactive.kinds import Handling, ReactiveStep, page_of
from wfc.dialects.reactive.kinds import Update as StateUpdate
from wfc.dialects.reactive.model import ReactiveFile
from wfc.language.ast import Task, Workflow
from wfc.language.changes import Update
from wfc.language.derived import Derivation
from wfc.language.reference import StepPage, fields_of, step_page
from wfc.language.shape import InputDecl, Shape, Validation
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Recovery, Retry
from wfc.language.steps.foreach import ChildErrors
from wfc.starter.claude_plugin import marketplace, plugin_files
from wfc_runtime.expr import FILTERS, FUNCTIONS, TESTS
from wfc_runtime.server.toolsets import load_tools

HERE = Path(__file__).parent


def pages() -> dict[str, str]:
    """Each page by its file name."""
    made = {
        "language.md": _language(),
        "blocks.md": _blocks(),
        "phases.md": _phases(),
        "reactive.md": _reactive(),
        "checks.md": checks(),
        "mistakes.md": mistakes(),
        "command-line.md": _command_line(),
        "mcp-tools.md": _mcp_tools(),
    }
    return _texts(made)


def _texts(made: Mapping[str, Iterable[str]]) -> dict[str, str]:
    return {name: "\n".join(lines).rstrip() + "\n" for name, lines in made.items()}


# -- the language --------------------------------------------------------------


def _language() -> Iterator[str]:
    yield from ("# The steps language", "", MADE, "")
    yield "A workflow is one YAML file. `wfc explain <step type>` prints the same pages in a terminal."
    yield from ("", "## The file", "")
    yield from _fields_of(Workflow)
    parts = ("Inputs", InputDecl), ("Validation", Validation), ("Derived fields", Derivation), ("Tasks", Task)
    for title, shape in parts:
        yield from ("", f"### {title}", "", _doc(shape), "")
        yield from _fields_of(shape)
    yield from ("", "## Steps", "")
    for kind in STEP_TYPES.values():
        page = step_page(kind)
        yield f"- [`{page.name}`](#{page.name}): {page.summary}"
    for kind in STEP_TYPES.values():
        yield from _step(step_page(kind))
    for shape in (Retry, Recovery, Update, ChildErrors):
        yield from ("", f"### {shape.label.strip('`')}", "", _doc(shape), "")
        yield from _fields_of(shape)
    yield from _expressions()


def _step(page: StepPage) -> Iterator[str]:
    yield from ("", f"### {page.name}", "", page.doc, "")
    yield from table(page.fields)
    for result in page.results:
        where = f" with `{result.where}`" if result.where else ""
        yield from ("", f"Result{where}:" if result.properties else f"Result{where}: {result.type}.", "")
        for prop in result.properties:
            yield f"- `{prop.name}`: {prop.type}{', optional' if prop.optional else ''}"


def _expressions() -> Iterator[str]:
    yield from ("", "## Expressions", "")
    yield (
        "Jinja2's language in `{{ }}` and `{% %}`, evaluated by wfc itself: sandboxed, bounded in work, memory and "
        "output, and the same on every machine. A lone `{{ expression }}` gives the value itself; text around "
        "or between holes gives text. A missing value is an error, except under `is defined` and `default`."
    )
    for title, known in (("Filters", FILTERS), ("Tests", TESTS), ("Functions", FUNCTIONS)):
        yield from ("", f"### {title}", "")
        yield from (f"- `{one.name}`: {one.doc}" for one in known.values())
    yield from ("", "### JavaScript", "")
    yield (
        "With `expressions: javascript` at the top of the file, `{{ }}` holds one JavaScript expression (ES2023). "
        "`pip install 'wfc-compiler[reactive]'` installs what that needs. An expression sees `state`, `inputs` and the "
        "names of its place, and the built-in objects of the language, which it can't change. It reaches no file, "
        "network or clock: `Date` has the time of the event, in UTC. There is no `eval`, `Function`, `Proxy`, "
        "`Promise`, `Math.random` or `toLocaleString`."
    )
    yield from (
        "",
        "- A lone `{{ }}` yields the value itself; `undefined` becomes null. NaN, Infinity and functions are errors.",
    )
    yield "- In text, lists and objects are printed as JSON, and `undefined` is an error."
    yield "- Conditions have JavaScript's truth: an empty list or object is true."
    yield "- A missing property or item is `undefined` and no error; a property of `undefined` or null is an error."
    yield (
        "- `now()` is the time as ISO text, `uuid()` a new id, `shquote(x)` one word for a shell, and `path_to_key(x)` "
        "the text with `_` in place of everything but letters, digits and `_`."
    )
    yield "- Limits: 5 seconds of CPU time, 64 MiB of memory, 1 MiB of result, 64 KiB of source."


def _doc(shape: type[Shape]) -> str:
    return " ".join((shape.__doc__ or "").split())


def _fields_of(shape: type[Shape]) -> Iterator[str]:
    return table(fields_of(shape))


# -- graphs of blocks ----------------------------------------------------------


def _blocks() -> Iterator[str]:
    yield from (
        "# Graphs of blocks",
        "",
        MADE,
        "",
        (HERE / "parts" / "blocks.md").read_text(encoding="utf-8"),
    )
    yield from ("## The file", "")
    yield from _fields_of(BlocksFile)
    shapes = (
        ("Inputs", InputDeclaration),
        ("Blocks", Block),
        ("Dependencies", Dependency),
        ("Files that a block writes", OutputDeclaration),
        ("Outputs", WorkflowOutput),
    )
    for title, shape in shapes:
        yield from ("", f"### {title}", "", _doc(shape), "")
        yield from _fields_of(shape)
    yield from ("", "## What every block says of itself", "")
    yield from (f"- `${{blocks.<id>.{name}}}`, {doc}" for name, doc in STATE_DOCS.items())
    yield from ("", "## Types of block")
    for name in KINDS:
        page = block_page(name)
        yield from ("", f"### {name}", "", page.markdown, "")
        yield from table(page.fields)


# -- missions of phases --------------------------------------------------------


def _phases() -> Iterator[str]:
    part = (HERE / "parts" / "phases.md").read_text(encoding="utf-8")
    yield from ("# Missions of phases", "", MADE, "", part)
    yield from ("## The file", "")
    yield from _fields_of(PhasesFile)
    for title, shape in (("Phases", Phase), ("Agents", Agent), ("Roles", Role)):
        yield from ("", f"### {title}", "", _doc(shape), "")
        yield from _fields_of(shape)


# -- reactive state ------------------------------------------------------------


def _reactive() -> Iterator[str]:
    yield from (
        "# Reactive state",
        "",
        MADE,
        "",
        (HERE / "parts" / "reactive.md").read_text(encoding="utf-8"),
    )
    yield from ("## The file", "")
    yield from _fields_of(ReactiveFile)
    shapes = (
        ("Inputs", reactive.InputDeclaration),
        ("The state at the start", reactive.DefaultState),
        ("The fields", reactive.StateSchema),
        ("Computed fields", reactive.ComputedField),
        ("Updates", StateUpdate),
        ("Tasks of sub-agents", reactive.Task),
        ("Errors of a step", Handling),
        ("Errors of sub-agents", reactive.SubAgentErrors),
        ("Errors of a task", reactive.TaskErrors),
        ("Errors of the workflow", reactive.WorkflowErrors),
        ("Settings of a run", reactive.RunConfig),
    )
    for title, shape in shapes:
        yield from ("", f"### {title}", "", _doc(shape), "")
        yield from _fields_of(shape)
    yield from ("", "## Step types", "", "Every step can have these fields:", "")
    yield from _fields_of(ReactiveStep)
    for name, kind in STEP_KINDS.items():
        own = [one for one in fields_of(kind) if one.name not in ReactiveStep.FIELDS]
        yield from ("", f"### {name}", "", page_of(kind), "")
        yield from table(own)


# -- the command line ----------------------------------------------------------


def _command_line() -> Iterator[str]:
    yield from ("# The command line", "", MADE, "")
    settings = {**cli.context_settings, "max_content_width": 100, "terminal_width": 100}
    context = click.Context(cli, info_name="wfc", **settings)
    yield from ("```text", cli.get_help(context), "```")
    yield from _commands(cli, context)


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(
            command, info_name=name, parent=context, max_content_width=100, terminal_width=100
        )
        yield from ("", f"## {inner.command_path}", "", "```text", command.get_help(inner), "```")
        if isinstance(command, click.Group):
            yield from _commands(command, inner)


# -- the tools -----------------------------------------------------------------

_SETS = {
    "core": "Always offered: what an agent needs to execute a workflow.",
    "debug": "With `--toolsets core,debug`: inspect runs.",
    "journal": "With `--toolsets core,journal`: keep what was decided, reached and run into with the run. See "
    "[journal.md](journal.md).",
    "author": "With `--toolsets core,author`: try out workflows that are not saved yet.",
}


_FORM = (
    "A reply is the result's `structuredContent` and, as the same JSON in text, its `content`. Clients differ in "
    "which of the two they give to the model. Claude Code (2.1.325, measured) passes `structuredContent` on and "
    "drops `content`, so its model reads each reply once. Claude Desktop, OpenCode, Open WebUI, the OpenAI Agents "
    "SDK with its default settings and LangChain's adapters pass only `content` on; with an empty one their model "
    "would see nothing. Kimi Code and Hermes prefer `content` if it is not empty. GitHub Copilot's CLI passes on "
    "both, so its model reads each reply twice; users have reported that as a defect. Clients with a protocol "
    "version before 2025-06-18 get text only."
)
_BRIEF = (
    "A reply to a submit shows the actions that it made pending; those that were pending before are named by "
    "their `step_id` in `still_pending`. `get_workflow_status` shows all of them whole. A `result_schema` asks "
    "only for what the workflow reads: times, durations and token counts are accepted, but asked for only if an "
    "expression names them."
)
_REFUSED = (
    "A refusal is text with `isError`: what is wrong, the next call and, in its last line, the pending actions "
    "whole, so that an agent that has lost its context can continue from the refusal alone. If they are longer "
    "than 8,000 characters, the next call is the one that shows them. A call of an unknown tool is an error of "
    "the protocol."
)
_CHILDREN = (
    "The children of a foreach are runs, and they are executed with the same tools: `get_workflow_status`, whose "
    "reply contains the rules for a sub-agent, then `submit_result`. In the status of the parent a child that "
    "somebody works on has `worked_on`, with `by` and `since`; the others are free. A child counts as worked on "
    "when a result of it was submitted, through any server, and when a session of the same server asked for it. "
    "Asking is not recorded in the store, since reading never writes, so a server that has been restarted knows "
    "only of submitted results."
)


def _mcp_tools() -> Iterator[str]:
    yield from ("# The MCP tools", "", MADE, "")
    yield (
        "`wfc serve` offers these to an agent. Every reply that advances a run has the same shape (`workflow_id`, "
        "`status`, then `action`, `result` or `error`) and ends with `next`: the exact call to make now. Every refusal "
        "says what is wrong and what to call next."
    )
    for part in (_FORM, _BRIEF, _REFUSED, _CHILDREN):
        yield from ("", part)
    for name, about in _SETS.items():
        yield from ("", f"## {name}", "", about)
        for tool in load_tools([name]).values():
            yield from ("", f"### {tool.name}", "", tool.description, "")
            yield from _arguments(tool.input_schema)


def _arguments(schema: dict[str, Any]) -> Iterator[str]:
    for name, one in schema["properties"].items():
        need = " Required." if name in schema["required"] else ""
        yield f"- `{name}` ({one.get('type', 'anything')}): {one['description']}{need}"


def main() -> int:
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps(_texts(library_pages()) if "library" in sys.argv else pages()))
        return 0
    about_library = _texts(library_pages())
    for old in (HERE / FOLDER).glob("*"):
        if f"{FOLDER}/{old.name}" not in about_library:
            old.unlink()
    (HERE / FOLDER).mkdir(exist_ok=True)
    for name, text in {**pages(), **about_library}.items():
        (HERE / name).write_text(text, encoding="utf-8")
    plugin = {f"plugin/{path}": text for path, text in plugin_files().items()}
    for path, text in {".claude-plugin/marketplace.json": marketplace(), **plugin}.items():
        file = HERE.parent / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
