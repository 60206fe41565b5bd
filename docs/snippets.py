"""The examples of the checks, made whole and looked at: a page shows what wfc really says of them.

A snippet may leave out what is beside the point: the name and version of the workflow, inputs, a task, the steps that
wrote what it reads. `GIVEN` says what is there then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from wfc.checker import each_finding, in_order
from wfc.config import Config, TextFile
from wfc.findings import Diagnostic, Note
from wfc.project import Project, load_file
from wfc.render.style import Style
from wfc.render.text import render_text
from wfc.rules import BY_CODE
from wfc.rules.base import Rule
from wfc.struct import replace
from wfc.yaml import Source, Span

_EXAMPLE = re.compile(r"^(Bad|Good):[^\n]*\n\n```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMANDS = {
    "build": "make || true",
    "lint": "make lint",
    "listing": "ls || true",
    "tests": "make test",
}
GIVEN = {
    **{
        name: f"- {{id: given-{name}, type: shell, command: {command}, output_to: {name}}}"
        for name, command in _COMMANDS.items()
    },
    "answer": "- {id: given-answer, type: mcp_call, tool: storage.read, output_to: answer}",
    "channel": "- {id: given-channel, type: prompt, prompt_type: choice, message: How?, options: [slack, mail],"
    " output_to: channel}",
    "results": "- {id: given-results, type: mcp_call, tool: storage.list, output_to: results,"
    " result_schema: {type: array, items: {type: string}}}",
    "total": "- {id: given-total, type: set_state, updates: {total: 3}}",
}
"""The step that wrote a field of the state which a snippet reads and does not write."""
_INPUTS = {"modules": "array", "service": "string"}
"""Inputs that are not booleans."""
_TASK = "    inputs: {item_name: {type: string, required: true}}\n    steps:\n"
_LOOK = (
    "      - {id: given-look, type: delegate, instructions: 'Look at <item>{{ inputs.item_name }}</item>.'}\n"
)
_CALLED = (
    "name: deploy-service\nversion: '1.0.0'\nsteps:\n- {id: deploy, type: shell, command: make deploy}\n"
)
_TESTS = "release.test.yaml"
_TESTED = (
    "name: release\nversion: '1.0.0'\nsteps:\n- {id: build, type: shell, command: make}\n"
    "- {id: approve, type: prompt, prompt_type: confirm, message: Release?, output_to: answer}\n"
    "- {id: end, type: return, needs_state: [answer], value: '{{ state.answer.confirmed }}'}\n"
)
_AGENTS = {"models": {"fast": "haiku", "strong": "opus"}, "roles": {"plan-reviewer": {}}}
_TOOLS = ("github.create_issue", "mail.send", "slack.send", "storage.*")


def examples(doc: str) -> dict[str, str]:
    """The snippets of a check's page, by `Bad` and `Good`. A check of files that are no workflows has none."""
    return {found[1]: found[2] for found in _EXAMPLE.finditer(doc)}


def _text(source: str, name: str) -> TextFile:
    is_there = name == "prompts/review.md"
    return TextFile("Review the plan.") if is_there else TextFile(problem=f"there is no file `{name}`")


def findings(snippet: str, rules: Iterable[Rule]) -> list[Diagnostic]:
    """What some rules say of a snippet in a project where everything else is right; places are those in the snippet."""
    config = Config(Path("."), tools=_TOOLS, agents=_AGENTS)
    project = Project(config, texts=_text)
    if snippet.startswith(f"# {_TESTS}\n"):
        name, before, after = _TESTS, "", ""
    else:
        name, before, after = "workflow.yaml", _before(snippet), _after(snippet)
    load_file(name, (before + snippet + after).encode(), config, project)
    load_file("deploy-service.yaml", _CALLED.encode(), config, project)
    load_file("release.yaml", _TESTED.encode(), config, project)
    shown = Source(name, snippet)
    chosen = list(rules)
    found = in_order(list(each_finding(file, chosen)) for file in project.files)
    return [_moved(one, shown, len(before)) for one in found]


def with_findings(code: str, doc: str) -> str:
    """A page with what wfc says of its bad example below that."""
    bad = examples(doc).get("Bad")
    if bad is None:
        return doc
    said = findings(bad, [BY_CODE[code]])
    assert said, f"{code} does not find its own bad example"
    return doc.replace(f"{bad}```\n", f"{bad}```\n\n```text\n{render_text(said, Style()).rstrip()}\n```\n", 1)


def _before(snippet: str) -> str:
    if not snippet.startswith("- "):
        return ""
    given = [step for name, step in GIVEN.items() if _reads(snippet, name) and not _writes(snippet, name)]
    return "\n".join(["steps:", *given, ""])


def _reads(snippet: str, name: str) -> bool:
    return bool(re.search(rf"\bstate\.{name}\b|needs_state: \[[^\]]*\b{name}\b", snippet))


def _writes(snippet: str, name: str) -> bool:
    return bool(re.search(rf"output_to: {name}\b|^ +{name}: ", snippet, re.MULTILINE))


def _after(snippet: str) -> str:
    """The rest of the file. Keys may stand in any order."""
    keys = set(re.findall(r"^(\w+):", snippet, re.MULTILINE))
    lines = []
    if "name" not in keys:
        lines.append("name: example")
    if "blocks" not in keys:
        lines.append("version: '1.0.0'")
    if not keys & {"blocks", "steps", "phases"} and not snippet.startswith("- "):
        lines.append(_a_step(snippet))
    inputs = dict.fromkeys(re.findall(r"\binputs\.(\w+)", snippet))
    if inputs and "inputs" not in keys and "tasks" not in keys:
        lines.append("inputs:")
        lines += [f"  {name}: {{type: {_INPUTS.get(name, 'boolean')}, required: true}}" for name in inputs]
    task = re.search(r"\btask: (\w+)", snippet)
    if task and "tasks" not in keys:
        lines += ["tasks:", f"  {task[1]}:", _TASK + _LOOK]
    return "\n".join([*lines, ""])


def _a_step(snippet: str) -> str:
    """Something that reads the inputs which the snippet is about."""
    names = re.findall(r"^  (\w+):", snippet, re.MULTILINE)
    value = ", ".join(f"'{{{{ inputs.{name} }}}}'" for name in names)
    return f"steps:\n- {{id: given, type: return, value: [{value}]}}"


def _moved(found: Diagnostic, shown: Source, by: int) -> Diagnostic:
    def place(span: Span) -> Span | None:
        start, end = span.start - by, span.end - by
        return shown.span(start, end) if 0 <= start <= end <= len(shown.text) else None

    def notes(some: tuple[Note, ...]) -> tuple[Note, ...]:
        return tuple(Note(note.message, place(note.span) if note.span else None) for note in some)

    if found.path != shown.path:
        return found
    secret = place(found.secret) if found.secret else None
    return replace(
        found,
        span=place(found.span) or shown.start,
        notes=notes(found.notes),
        flow=notes(found.flow),
        secret=secret,
    )
