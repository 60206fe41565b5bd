"""The state fields of a run: what each is made from, and how it came to its value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from wfc_runtime.contract import Json
from wfc_runtime.errors import NotFoundError, guess
from wfc_runtime.expr import nodes
from wfc_runtime.expr.syntax import parse
from wfc_runtime.machine import Assign, Effect
from wfc_runtime.machine.chart import AnyMachine
from wfc_runtime.service import Reply


def dependencies(machine: AnyMachine, field: str) -> Reply:
    """Fields and inputs that a field is made from, directly and in the end, and the fields made from it."""
    sources = {name: _sources(machine, name) for name in machine.fields.model_fields}
    _check_known(field, sources)
    return {
        "field": field,
        "written_by": [_step_name(machine, state) for state, _ in _writers(machine, field)],
        "direct_deps": sources[field],
        "all_deps": _closure(field, sources),
        "dependents": sorted(name for name, read in sources.items() if f"state.{field}" in read),
    }


def traces(machine: AnyMachine, events: Sequence[Mapping[str, Json]], field: str | None) -> list[Reply]:
    """Each time that a field was written: when, by which step, what set it off, and the value."""
    if field is not None:
        _check_known(field, machine.fields.model_fields)
    found = []
    for event in events:
        for name, value in event.get("written", {}).items():
            if field is None or name == field:
                found.append(
                    {
                        "field": name,
                        "at": event["at"],
                        "seq": event["seq"],
                        "trigger": _trigger(event),
                        "step": _writer(machine, event, name),
                        "output": value,
                    }
                )
    return found


def _check_known(field: str, there: Iterable[str]) -> None:
    names = list(there)
    if field not in names:
        field = "".join(char if char.isprintable() else "?" for char in field[:100])
        hint = f"{guess(field, names)}There are: {', '.join(names) or 'none'}."
        raise NotFoundError("unknown_field", f"the workflow has no field `{field}`", hint)


def _writers(machine: AnyMachine, field: str) -> Iterator[tuple[str, Effect]]:
    for state, effect in machine.steps.items():
        if effect.writes == field or (isinstance(effect, Assign) and field in effect.updates):
            yield state, effect


def _sources(machine: AnyMachine, field: str) -> list[str]:
    """What the steps that write a field read for it: `state.<field>` and `inputs.<name>`."""
    found: dict[str, None] = {}
    for _, effect in _writers(machine, field):
        if isinstance(effect, Assign) and field in effect.updates:
            found |= dict.fromkeys(_computed_from(effect.updates, field))
        else:
            found |= dict.fromkeys(f"state.{name}" for name in effect.reads)
    return sorted(found)


def _computed_from(updates: Mapping[str, Json], field: str) -> Iterator[str]:
    """A bare name is an earlier key of the same step, so that its own sources count."""
    for read in _names_read(updates[field]):
        if "." in read:
            yield read
        elif read in updates and list(updates).index(read) < list(updates).index(field):
            yield from _computed_from(updates, read)


def _names_read(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _names_read(one)
    elif isinstance(value, list):
        for one in value:
            yield from _names_read(one)
    elif isinstance(value, str):
        tree = parse(value).ast
        if tree is not None:
            yield from _names_in(tree)


def _names_in(tree: nodes.Node) -> Iterator[str]:
    for node in tree.find_all((nodes.Getattr, nodes.Getitem, nodes.Name)):
        if isinstance(node, nodes.Name):
            yield node.name
            continue
        assert isinstance(node, (nodes.Getattr, nodes.Getitem))
        if isinstance(node.node, nodes.Name) and node.node.name in ("state", "inputs"):
            if isinstance(node, nodes.Getattr):
                yield f"{node.node.name}.{node.attr}"
            elif isinstance(node.arg, nodes.Const):
                yield f"{node.node.name}.{node.arg.value}"


def _closure(field: str, sources: Mapping[str, Sequence[str]]) -> list[str]:
    found: dict[str, None] = {}
    todo = list(sources[field])
    while todo:
        name = todo.pop(0)
        if name not in found:
            found[name] = None
            todo += sources.get(name.removeprefix("state."), []) if name.startswith("state.") else []
    return sorted(found)


def _trigger(event: Mapping[str, Json]) -> str:
    """`submitted look-up by toolu_0123`."""
    step = f" {event['step_id']}" if "step_id" in event else ""
    return f"{event['event']}{step}" + (f" by {event['actor']}" if "actor" in event else "")


def _writer(machine: AnyMachine, event: Mapping[str, Json], field: str) -> str | None:
    """Of the steps that can write a field, the last one that the event went through."""
    writers = {state for state, _ in _writers(machine, field)}
    passed = [*event.get("left", []), *event.get("entered", [])]
    return next((_step_name(machine, state) for state in reversed(passed) if state in writers), None)


def _step_name(machine: AnyMachine, state: str) -> str:
    return str(machine.states_map[state].name)
