"""Pages about the workflows of the library, made from the workflows themselves: one for each, and a gallery."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from page_parts import cell

from wfc.cli.shared.workflow import compile_in_memory
from wfc.config import CompileLimits
from wfc.library import Pack, shipped_pack
from wfc.library.pack import Item
from wfc.picture import to_picture
from wfc.project import SourceFile
from wfc.testfiles.cases import read_tests
from wfc.testfiles.reader import Reader
from wfc.workspace.shipped import shipped_folder
from wfc_runtime.picture import RENDERERS
from wfc_runtime.plan import explain_plan
from wfc_runtime.registry import Module
from wfc_runtime.server.workflows import input_schema

FOLDER = "library"
_MADE = "<!-- Made by `make docs` from the workflow. Change that, not this page. -->"
_LANGUAGES = {
    "steps": "[steps](../language.md)",
    "blocks": "[blocks](../blocks.md)",
    "reactive": "[reactive](../reactive.md)",
    "phases": "[phases](../phases.md)",
}

TOPICS = {
    "Planning and research": (
        "interactive-planning",
        "research-question",
        "analyze-codebase",
        "onboard-codebase",
    ),
    "Features and new code": ("build-feature", "new-service"),
    "Bugs": ("bugs:triage", "reproduce-bug", "fix-bug", "bisect-regression"),
    "Reviews": (
        "review-branch",
        "audit-security",
        "review-performance",
        "review-accessibility",
        "pr-automation",
    ),
    "Refactoring and standards": ("refactor:campaign", "fix-standards", "standards:fix"),
    "Tests and coverage": ("raise-coverage", "tests:until-green", "fix-flaky-tests"),
    "Dependencies and migrations": (
        "upgrade-dependencies",
        "deps:audit",
        "migrate-framework",
        "migrate-database",
    ),
    "Continuous integration": ("python-ci", "python-tests", "node-ci"),
    "Git": ("git-checkout", "commit-and-push", "worktree-build"),
    "Releases and deployments": (
        "release-checks",
        "release-notes",
        "changelog:draft",
        "ship-release",
        "conditional-deploy",
        "deploy-service",
    ),
    "Incidents": ("incident-triage", "write-postmortem"),
    "Documentation and translation": ("overhaul-docs", "docs:translate"),
    "Data": ("check-csv", "check-database"),
}
"""Where each workflow stands in the gallery. One that stands nowhere fails the build of the pages."""


def library_pages() -> dict[str, list[str]]:
    """The lines of each page and picture, by file name."""
    pack = shipped_pack()
    placed = [name for names in TOPICS.values() for name in names]
    if sorted(placed) != sorted(pack.files):
        differing = sorted({*placed} ^ {*pack.files})
        raise SystemExit(f"TOPICS in docs/gallery.py and the library differ: {', '.join(differing)}")
    modules = compile_in_memory(list(pack.files.values()))
    pages = {"gallery.md": list(_gallery(pack))}
    for name, file in pack.files.items():
        pages[f"{FOLDER}/{slug(name)}.md"] = list(_page(pack.item(name), modules))
        pages[f"{FOLDER}/{slug(name)}.svg"] = _picture(file).splitlines()
    return pages


def slug(name: str) -> str:
    return name.replace(":", "-")


def _picture(file: SourceFile) -> str:
    assert file.module is not None
    graph = file.parsed.graph if file.parsed else None
    outline = file.parsed.outline if file.parsed else None
    return RENDERERS["svg"](to_picture(file.module, None, graph, outline))


# -- the gallery ---------------------------------------------------------------


def _gallery(pack: Pack) -> Iterator[str]:
    yield from ("# Gallery", "", _MADE, "")
    yield (
        f"The {len(pack.files)} workflows that wfc ships, by topic. `wfc library add NAME` copies one into your "
        "project, and `wfc serve --library` offers all of them to an agent: see [the library](library.md). "
        "`wfc graph NAME --format svg` draws such a picture of a workflow of yours."
    )
    for topic, names in TOPICS.items():
        yield from ("", f"## {topic}", "")
        yield from ("| | |", "|---|---|")
        for name in names:
            file = pack.files[name]
            page = f"{FOLDER}/{slug(name)}"
            shown = f'<a href="{page}.md"><img src="{page}.svg" alt="The flow of {name}" width="220"></a>'
            about = f"**[{name}]({page}.md)** ({file.dialect.name})<br>{cell(_description(file))}"
            yield f"| {shown} | {about} |"


def _description(file: SourceFile) -> str:
    about = file.workflow.description if file.workflow else None
    return " ".join(about.text.split()) if about else ""


# -- a page --------------------------------------------------------------------


def _page(item: Item, modules: dict[str, Module]) -> Iterator[str]:
    module, file = modules[item.name], item.file
    plan = explain_plan(module.workflow, lambda name: modules[name].workflow if name in modules else None)
    source = _source(file)
    yield from (f"# {item.name}", "", _MADE, "", _description(file), "")
    yield f"- Language: {_LANGUAGES[file.dialect.name]}; version {module.workflow.version}"
    yield f"- Source: [{source}](../../{source})"
    yield f"- Add it to your project: `wfc library add {item.name}`"
    yield f"- Actions of a run: {_actions(plan['actions'])}"
    if item.called:
        yield "- Calls: " + ", ".join(f"[{name}]({slug(name)}.md)" for name in item.called)
    yield from _needs(plan)
    yield from ("", f"![The flow of {item.name}]({slug(item.name)}.svg)", "", "## Inputs", "")
    yield from _inputs(input_schema(module))
    yield from ("", "## What its tests show", "")
    yield from (f"- {name}" for name in _tests(item))


def _actions(actions: dict[str, Any]) -> str:
    least, most = actions["least"], actions["most"]
    found = f"at least {least}" if most is None else f"{least}" if least == most else f"{least} to {most}"
    items = actions.get("per_item", [])
    each = [f"{one['most'] or 'any number'} for each item of `{one['step']}`" for one in items]
    return "; ".join([found, *each])


def _needs(plan: dict[str, Any]) -> Iterator[str]:
    needs = plan["needs"]
    if needs.get("agents"):
        yield f"- Agents: {', '.join(f'`{one}`' for one in needs['agents'])}"
    if needs.get("tools"):
        yield f"- Tools: {', '.join(f'`{one}`' for one in needs['tools'])}"
    people = plan["waits"]["person"]
    if people:
        yield f"- Asks a person: {', '.join(dict.fromkeys(f'`{_step(one)}`' for one in people))}"


def _step(waiting: Any) -> str:
    return str(waiting["step"] if isinstance(waiting, dict) else waiting)


def _inputs(schema: dict[str, Any]) -> Iterator[str]:
    if not schema.get("properties"):
        yield "None."
        return
    yield from ("| input | type | |", "|---|---|---|")
    for name, one in schema["properties"].items():
        need = " **Required.**" if name in schema.get("required", []) else ""
        default = f" Default: `{json.dumps(one['default'])}`." if one.get("default") is not None else ""
        kind = one.get("type") or " or ".join(str(part.get("type")) for part in one.get("anyOf", [{}]))
        yield f"| `{name}` | {cell(str(kind))} | {cell(str(one.get('description', '')))}{need}{cell(default)} |"


def _tests(item: Item) -> Iterator[str]:
    path = str(Path(_source(item.file)).with_suffix(".test.yaml"))
    reader = Reader.of(path, item.files[path].encode(), CompileLimits())
    yield from (case.name for case in read_tests(reader).cases)


def _source(file: SourceFile) -> str:
    return Path(file.source.path).relative_to(shipped_folder()).as_posix()
