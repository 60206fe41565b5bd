"""Findings that only this language has: old spellings, shadowed and undeclared fields, settings without effect."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.dialects.base import Reports
from wfc.dialects.reactive.kinds import KINDS, OLD_TYPES, ParallelForeach, ReactiveStep, UnknownKind, Update
from wfc.dialects.reactive.model import DefaultState, ReactiveFile, Task
from wfc.dialects.reactive.names import TIERS, WRITABLE
from wfc.dialects.reactive.reading import loose_fields, old_spelling
from wfc.dialects.reactive.scopes import ScopeNames, all_steps, declared_fields, paths_set, paths_written
from wfc.dialects.reactive.scripts import holes
from wfc.dialects.reactive.tasks import has_own_state
from wfc.dialects.reactive.updates import parse_path
from wfc.findings import Edit, Fix, Note, Severity
from wfc.suggest import did_you_mean, nearest
from wfc.yaml import Entry, Mapping, Node, Scalar, Span


def check_file(file: ReactiveFile, main: ScopeNames, scopes: list[ScopeNames], reports: Reports) -> None:
    _missing(file, reports)
    for scope in scopes:
        if not isinstance(scope.shape, Task) or has_own_state(scope.shape):
            _loose_defaults(scope, reports)
            _shadowed(scope, reports)
        _types(scope, reports)
        _old_words(scope, reports)
        _same_place(scope, file, reports)
    _undeclared(main, scopes, reports)
    _settings(file, reports)
    for name, task in (file.sub_agent_tasks or {}).items():
        if task.steps and task.prompt_template:
            reports.add(
                "WF009",
                task.key_span("prompt_template"),
                f"no effect: the sub-agents of `{name}` follow its steps, and never see this text",
                "remove it, or put the text into an agent_prompt step",
                severity=Severity.WARNING,
            )


def _missing(file: ReactiveFile, reports: Reports) -> None:
    """`version` and `description` may be missing: the documents of the language leave them out."""
    if file.name is None:
        return
    for name in ("version", "description"):
        if file.node.entry(name) is None:
            reports.add(
                "WF005",
                file.value_span("name"),
                f"the workflow has no `{name}`",
                f"add `{name}`: {ReactiveFile.FIELDS[name].doc.lower().rstrip('.')}",
                severity=Severity.WARNING,
            )


# Step types.


def _types(scope: ScopeNames, reports: Reports) -> None:
    for step in all_steps(scope.shape):
        name = scope.id_of(step)
        old = old_spelling(step.node)
        if old is not None:
            reports.add(
                "WF002",
                old.renamed.key.span,
                f"two keys `type`: this one is an old spelling of `{old.name}`",
                f"rename it to `{old.name}`",
                notes=(Note("the other `type`", old.kept.key.span),),
                step=name,
                severity=Severity.WARNING,
                fix=Fix(f"rename it to {old.name}", (Edit(old.renamed.key.span, old.name),), safe=True),
            )
        elif step.type and step.type.text not in KINDS:
            _unknown_type(step, step.type.node, name, reports)


def _unknown_type(step: ReactiveStep, node: Scalar, name: str, reports: Reports) -> None:
    word = OLD_TYPES.get(node.text)
    near = word or nearest(node.text, KINDS)
    help_ = f"that is called `{word}` here" if word else did_you_mean(node.text, KINDS)
    fix = Fix(f"make it {near}", (Edit(node.span, near),), safe=False) if near and not node.style else None
    if near and node.style in ("'", '"'):
        fix = Fix(f"make it {near}", (Edit(node.span, f"{node.style}{near}{node.style}"),), safe=False)
    reports.add("WF007", node.span, f"there is no step type `{node.text}`", help_, step=name, fix=fix)
    if isinstance(step, UnknownKind):
        # The fields of an unknown type are unknown, so they are not reported as well.
        step.__dict__["unknown"] = []


# Old spellings.


def _loose_defaults(scope: ScopeNames, reports: Reports) -> None:
    entry = scope.shape.node.entry("default_state")
    node = entry.value if entry else None
    loose = loose_fields(node) if isinstance(node, Mapping) else []
    if not loose or not isinstance(node, Mapping):
        return
    names = ", ".join(f"`{one.key.text}`" for one in loose[:3])
    reports.add(
        "WF012",
        loose[0].key.span,
        f"old spelling: fields right under `default_state` ({names})",
        "put them under `raw:`",
        severity=Severity.WARNING,
        fix=_under_raw(node),
    )


def _under_raw(node: Mapping) -> Fix | None:
    """Put all fields under `raw`, if there is nothing else."""
    if any(entry.key.text in DefaultState.FIELDS for entry in node.entries):
        return None
    source, span = node.span.source, node.span
    description = "put them under raw"
    if span.text.startswith("{"):
        inner = (
            Edit(source.span(span.start, span.start), "{raw: "),
            Edit(source.span(span.end, span.end), "}"),
        )
        return Fix(description, inner, safe=True)
    first = node.entries[0].key.span
    last = max(_end(entry.value, entry.key.span) for entry in node.entries)
    indent = " " * (first.column - 1)
    line = source.position(first.start)[0]
    edits = [Edit(source.span(first.start, first.start), f"raw:{source.line_break}{indent}  ")]
    while line < len(source.line_starts) and source.line_starts[line] < last:
        start = source.line_starts[line]
        if source.line(line + 1).strip():
            edits.append(Edit(source.span(start, start), "  "))
        line += 1
    return Fix(description, tuple(edits), safe=True)


def _end(node: Node, key: Span) -> int:
    return max(node.span.end, key.end)


def _old_words(scope: ScopeNames, reports: Reports) -> None:
    for step in all_steps(scope.shape):
        updates = [step, *(shape for shape in step.shapes() if isinstance(shape, Update))]
        for update in {id(one.node): one for one in updates}.values():
            entry = update.node.entry("transform") if "transform" in update.FIELDS else None
            if entry is not None and update.node.entry("value") is None:
                reports.add(
                    "WF012",
                    entry.key.span,
                    "old spelling: `transform` of an update is `value`",
                    "rename it to `value`",
                    step=scope.id_of(step),
                    severity=Severity.WARNING,
                    fix=Fix("rename it to value", (Edit(entry.key.span, "value"),), safe=True),
                )


# Fields.


def _shadowed(scope: ScopeNames, reports: Reports) -> None:
    schema = scope.shape.state_schema
    computed = schema.computed if schema else None
    raw = dict(_raw_places(scope))
    for name in computed or ():
        if name in scope.fields.raw:
            entry = next(
                one
                for one in _entries(schema.node.get("computed") if schema else None)
                if one.key.text == name
            )
            note = (Note("the raw field", raw[name]),) if name in raw else ()
            reports.add(
                "WF314",
                entry.key.span,
                f"`{name}` is a computed and a raw field: a bare `{name}` reads the computed one",
                f"rename one of them; `raw.{name}` still reads the raw one",
                notes=note,
                severity=Severity.WARNING,
            )


def _raw_places(scope: ScopeNames) -> Iterator[tuple[str, Span]]:
    """The raw fields with the places that name them, the most telling last."""
    for node, loose in paths_written(all_steps(scope.shape)):
        path = parse_path(node.text, loose)
        if path.field:
            yield path.field, node.at(*path.field_at)
    for part in (scope.shape.state_schema, scope.shape.default_state):
        for tier in ("raw", "state"):
            for entry in _entries(part.node.get(tier)) if part else ():
                yield entry.key.text, entry.key.span


def _entries(node: Node | None) -> Iterator[Entry]:
    yield from node.entries if isinstance(node, Mapping) else ()


def _undeclared(main: ScopeNames, scopes: list[ScopeNames], reports: Reports) -> None:
    for scope in scopes:
        owner = main if isinstance(scope.shape, Task) and not has_own_state(scope.shape) else scope
        declared = declared_fields(owner.shape)
        for step in all_steps(scope.shape):
            for node, loose in paths_written([step]):
                path = parse_path(node.text, loose)
                if path.tier == "global":
                    is_known = not declared.is_global_declared or path.field in declared.globals
                else:
                    is_known = not declared.is_declared or path.field in declared.raw
                if is_known or not path.field or path.tier in ("computed", "inputs", "loop"):
                    continue
                if path.tier == "this" and path.field in declared.computed:
                    continue
                if loose and parse_path(node.text).tier not in TIERS:
                    # Without a tier, `store_result: name` introduces the name.
                    continue
                known = declared.globals if path.tier == "global" else declared.raw
                near = nearest(path.field, known)
                place = node.at(*path.field_at)
                reports.add(
                    "WF318",
                    place,
                    f"`{path.field}` is written, but the file declares its fields without it",
                    f"did you mean `{near}`?" if near else "declare it in `state_schema` or `default_state`",
                    step=scope.id_of(step),
                    severity=Severity.WARNING,
                    fix=Fix(f"write {near}", (Edit(place, near),), safe=False) if near else None,
                )


def _same_place(scope: ScopeNames, file: ReactiveFile, reports: Reports) -> None:
    """Report what every sub-agent of a step sets to its own value: the updates of the last item win."""
    starting = [step for step in all_steps(scope.shape) if isinstance(step, ParallelForeach)]
    for name in dict.fromkeys(step.sub_agent_task.text for step in starting if step.sub_agent_task):
        task = (file.sub_agent_tasks or {}).get(name)
        if task is None or has_own_state(task):
            continue
        for node, loose in paths_set(all_steps(task)):
            path = parse_path(node.text, loose)
            # A key that is computed is taken for one that differs from item to item.
            is_fixed = not any(
                part.kind == "code" or holes(node.text[part.start : part.end]) for part in path.rest
            )
            if path.field and path.tier in WRITABLE and is_fixed:
                reports.add(
                    "WF310",
                    node.span,
                    f"every sub-agent of `{name}` sets this: the value of the last item wins",
                    "set a part for each item, such as `raw.results[item]`, or use `append`",
                    severity=Severity.WARNING,
                )


# Settings of the whole file.

_CAN_NOT = {
    ("skip_completed_steps", False): "a durable run never repeats a step that is done",
    ("reset_error_counts", True): "a durable run keeps its counts",
}


def _settings(file: ReactiveFile, reports: Reports) -> None:
    node = file.on_resume.node if file.on_resume else None
    for entry in node.entries if isinstance(node, Mapping) else ():
        value = entry.value.value if isinstance(entry.value, Scalar) else None
        why = _CAN_NOT.get((entry.key.text, value)) if isinstance(value, bool) else None
        if why:
            reports.add("WF009", entry.key.span, f"no effect: {why}", "remove it", severity=Severity.WARNING)
    errors = file.error_handling
    collection = errors.error_collection if errors else None
    if collection and collection.include_stack_traces and collection.include_stack_traces.value:
        reports.add(
            "WF009",
            collection.key_span("include_stack_traces"),
            "no effect: an error of a run has a code, a message and a step, and no stack trace",
            "remove it",
            severity=Severity.WARNING,
        )
