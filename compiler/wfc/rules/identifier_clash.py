"""Two names map to the same name in the generated Python module.

Steps, branches, tasks, inputs and fields keep their names in the module, but Python identifiers contain only letters,
digits and `_`, so `run-tests` and `run_tests` would be the same. Each workflow becomes a module, so two workflows of a
project must not share a name either.

Bad:

```yaml
steps:
  - {id: run-tests, type: shell, command: make test}
  - {id: run_tests, type: shell, command: make slow-test}
```

Good:

```yaml
steps:
  - {id: run-tests, type: shell, command: make test}
  - {id: run-slow-tests, type: shell, command: make slow-test}
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from wfc.caching import cached_per_file
from wfc.findings import Note
from wfc.language.ast import Scope, Workflow
from wfc.language.steps.base import Step
from wfc.lower.names import field_name, identifier, machine_name, module_name, task_machine_name
from wfc.project import Project, SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Mapping, Node, Span

Named = tuple[str, Span]
_HELP = "rename one of them"


@rule("WF110", "identifier-clash")
def check(file: SourceFile) -> Iterator[Finding]:
    workflow = file.workflow
    if workflow is None:
        return
    yield from _module_clashes(file)
    yield from _clashes(_classes(workflow), "class")
    for scope in file.scopes:
        yield from _clashes_of(((step.name, step.span) for step in scope.walk()), identifier, "state")
        yield from _clashes_of(_keys(scope.node.get("inputs")), field_name, "field")
        yield from _clashes_of(_state_fields(scope), field_name, "field")
    for step in file.steps:
        yield from _clashes_of(_branches(step), identifier, "state")


def _clashes_of(names: Iterable[Named], to_python: Callable[[str], str], what: str) -> Iterator[Finding]:
    named = [one for one in names if one[0]]
    made = {name: to_python(name) for name, _ in named}
    # In most files all names stay distinct, and the pairs need not be compared.
    if len(set(made.values())) < len(made):
        yield from _clashes([(made[name], (name, span)) for name, span in named], what)


def _clashes(made: Iterable[tuple[str, Named]], what: str) -> Iterator[Finding]:
    """Different names that are equal in Python. Another check reports repeated names."""
    first: dict[str, Named] = {}
    reported: set[tuple[str, str]] = set()
    for python, (name, span) in made:
        other, place = first.setdefault(python, (name, span))
        if other != name and (other, name) not in reported:
            reported.add((other, name))
            yield Finding(
                span,
                f"name clash: `{name}` and `{other}` both need the {what} name `{python}` in the generated module",
                help=_HELP,
                notes=(Note(f"`{other}` is here", place),),
            )


def _keys(node: Node | None) -> Iterator[Named]:
    if isinstance(node, Mapping):
        yield from ((entry.key.text, entry.key.span) for entry in node.entries)


def _branches(step: Step) -> Iterator[Named]:
    """The keys of the mappings that hold the branches of a step."""
    branches = step.concurrent()
    for name, value in step.values.items() if branches else ():
        if value is branches:
            yield from _keys(step.node.get(name))


def _state_fields(scope: Scope) -> Iterator[Named]:
    for given in ("initial_state", "start_values", "derived"):
        yield from _keys(scope.node.get(given))
    for step in scope.walk():
        yield from ((name, span) for name, (span, _) in step.writes().items())


def _classes(workflow: Workflow) -> Iterator[tuple[str, Named]]:
    """Each machine is a class, and so are a task's inputs and fields."""
    name = workflow.name.text if workflow.name else ""
    if workflow.name:
        yield machine_name(name), (name, workflow.name.span)
    made = [(task_machine_name(named[0], name), named) for named in _keys(workflow.node.get("tasks"))]
    yield from ((machine, named) for machine, named in made if named[0])
    for machine, named in made:
        yield from ((f"{machine}{part}", named) for part in ("Inputs", "Fields"))


# -- workflows of one project --------------------------------------------------


def _module_clashes(file: SourceFile) -> Iterator[Finding]:
    workflow = file.workflow
    if workflow is None or workflow.name is None:
        return
    name = workflow.name.text
    for other in _by_module(file.project, len(file.project.files)).get(_file_of(name), ()):
        if other is not file and other.workflow and other.workflow.name and not _is_overridden(file, other):
            yield _module_clash(name, workflow.name.span, other.workflow.name.text, other.workflow.name.span)
            return


def _is_overridden(file: SourceFile, other: SourceFile) -> bool:
    overrides = file.project.overrides
    return file.name == other.name and (overrides(file.source.path) or overrides(other.source.path))


def _module_clash(name: str, span: Span, other: str, place: Span) -> Finding:
    if name == other:
        message = f"name clash: two workflows of the project are called `{name}`"
    elif module_name(name) == module_name(other):
        message = f"name clash: `{name}` and `{other}` both need the module `{module_name(name)}.py`"
    else:
        message = f"name clash: the modules of `{name}` and `{other}` differ only in case, which some systems ignore"
    return Finding(span, message, help=_HELP, notes=(Note(f"the other `{other}` is here", place),))


def _file_of(name: str) -> str:
    """The module's file name on a case-insensitive file system."""
    return module_name(name).casefold()


@cached_per_file(1)
def _by_module(project: Project, count: int) -> dict[str, list[SourceFile]]:
    """The first `count` files of a project by the module that each is compiled to."""
    found: dict[str, list[SourceFile]] = {}
    for file in project.files[:count]:
        if file.name is not None:
            found.setdefault(_file_of(file.name), []).append(file)
    return found
