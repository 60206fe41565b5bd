"""A template reads an input that is not declared.

`inputs` contains only the inputs that the same workflow or task declares under `inputs:`. A task can't access the
workflow's inputs: pass them with `with:` of the foreach.

Bad:

```yaml
inputs:
  environment: {type: string, required: true}
steps:
  - {id: done, type: return, value: "{{ inputs.env }}"}
```

Good:

```yaml
inputs:
  environment: {type: string, required: true}
steps:
  - {id: done, type: return, value: "{{ inputs.environment }}"}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note
from wfc.language.ast import Scope, Task, Workflow
from wfc.language.dialect import Language
from wfc.language.scopes import Site, template_sites
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import replace_in_text
from wfc.rules.common.state import keys_of
from wfc.suggest import Nearest
from wfc.template import Part


@rule("WF204", "undeclared-input", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    if file.workflow is None:
        return
    declared: dict[Scope, Nearest] = {}
    known: dict[Scope, frozenset[str] | None] = {}
    for scope in file.scopes:
        names = keys_of(scope, "inputs")
        known[scope] = None if names is None else frozenset(names)
        declared[scope] = Nearest(names or ())
    for site in template_sites(file.workflow):
        names_here = known[site.scope]
        if names_here is None:
            continue
        for name, parts in _unknown(site, names_here).items():
            yield _finding(file.language, file.workflow, site, name, parts, declared[site.scope])


def _unknown(site: Site, known: frozenset[str]) -> dict[str, list[Part]]:
    """The undeclared inputs that a template reads, with their places."""
    found: dict[str, list[Part]] = {}
    for read in site.text.template.reads:
        if read.root == "inputs" and read.path:
            part = read.path[0]
            if isinstance(part.name, str) and not part.called and part.name not in known:
                found.setdefault(part.name, []).append(part)
    return found


def _finding(
    language: Language, workflow: Workflow, site: Site, name: str, parts: list[Part], known: Nearest
) -> Finding:
    near = known.to(name)
    places = [(part.start, part.end) for part in parts]
    return Finding(
        site.text.at(*places[0]),
        f"undeclared input `{name[:60]}` of {site.scope.known_as}",
        help=_help(language, workflow, site.scope, name, known),
        notes=_notes(workflow, site.scope, name),
        fix=replace_in_text(site.text, places, name, near) if near else None,
        step=site.step.name,
    )


def _help(language: Language, workflow: Workflow, scope: Scope, name: str, known: Nearest) -> str:
    if _is_the_workflows(workflow, scope, name):
        return (
            f"declare `{name}` in the task's `inputs` and pass it in the foreach: "
            f"`{language.key('with')}: {{{name}: ...}}`"
        )
    return known.hint(name) or f"declare it under `inputs:` of {scope.known_as}"


def _notes(workflow: Workflow, scope: Scope, name: str) -> tuple[Note, ...]:
    if not _is_the_workflows(workflow, scope, name):
        return ()
    return (
        Note(
            "the workflow declares it, but a task can access only its own inputs",
            workflow.declared_inputs[name].span,
        ),
    )


def _is_the_workflows(workflow: Workflow, scope: Scope, name: str) -> bool:
    return isinstance(scope, Task) and name in workflow.declared_inputs
