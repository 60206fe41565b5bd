"""A whole module: imports, records, and for each machine its inputs, its fields and its chart."""

from __future__ import annotations

import re
from typing import Any

from wfc.emit.annotations import Annotations
from wfc.emit.chart import ChartWriter
from wfc.emit.docstrings import docstring
from wfc.emit.inputs import InputModels
from wfc.emit.names import field_name
from wfc.emit.printer import UNSURE, WIDTH, Call, Tuple, print_assignment, print_class, width
from wfc.ir import Chart, FieldInfo, Module, Ref
from wfc.language import types
from wfc.lower.reserved import CLASS_NAMES

_TYPING = ("Annotated", "Any", "Literal")


def emit_body(module: Module) -> str:
    """The module's text below its header."""
    runtime: set[str] = {"Workflow"}
    annotations = Annotations(set(CLASS_NAMES) | {chart.name for chart in module.charts})
    sections = [_chart(chart, chart is module.main, annotations, runtime) for chart in module.charts]
    body = [*annotations.records, *(text for section in sections for text in section), _registration(module)]
    head = [
        *docstring(module.description or f"The workflow {module.name}.", 0),
        "",
        *_imports(annotations, runtime),
    ]
    head += ["", *annotations.choices] if annotations.choices else []
    return _laid_out("\n".join(head) + "\n\n\n" + "\n\n\n".join(body) + "\n")


_TEXT_LINE = re.compile(r"""\s*(\w+=|["'][^"']*["']: )?["'].*["'],?""")


def _laid_out(body: str) -> str:
    """The printer lays out as black does, but for names so long that no line takes them: black mends those."""
    measure = len if body.isascii() else width
    long = [line for line in body.split("\n") if measure(line) > WIDTH]
    if all(map(_TEXT_LINE.fullmatch, long)) and (body.isascii() or not UNSURE.search(body)):
        return body
    import black

    return black.format_str(body, mode=black.Mode())


def _chart(chart: Chart, main: bool, annotations: Annotations, runtime: set[str]) -> list[str]:
    prefix = "" if main else chart.name
    inputs, fields = f"{prefix}Inputs", f"{prefix}Fields"
    annotations.taken |= {inputs, fields}
    models = InputModels(annotations, runtime)
    models.write(inputs, chart.inputs)
    runtime.add("WorkflowState")
    state = _fields(chart, fields, annotations, runtime)
    writer = ChartWriter(chart, inputs, fields)
    text = writer.write()
    runtime |= writer.runtime
    annotations.contract |= writer.contract
    return [*models.models, state, text]


def _fields(chart: Chart, name: str, annotations: Annotations, runtime: set[str]) -> str:
    lines = [print_class(name, (Ref("WorkflowState"),), {}, 0)]
    lines += [_field(info, annotations, runtime) for info in chart.fields] or ["    pass"]
    return "\n".join(lines)


def _field(info: FieldInfo, annotations: Annotations, runtime: set[str]) -> str:
    """A field that no step has written yet is None in this view."""
    kind = info.type if info.initial else types.union(info.type, types.NULL)
    annotation = annotations.of(kind, info.name)
    name = field_name(info.name)
    default: Any = info.default
    if name != info.name:
        runtime.add("Field")
        default = Call("Field", (info.default,), {"alias": info.name})
    return print_assignment(f"{name}: {annotation}", default, 1)


def _registration(module: Module) -> str:
    lines = {chart.title: {state.id: state.line for state in chart.states()} for chart in module.charts}
    call = Call(
        "Workflow",
        (),
        {
            "name": module.name,
            "version": module.version,
            **({"author": module.author} if module.author else {}),
            **({"tags": Tuple(module.tags)} if module.tags else {}),
            **({"on_failure": module.on_failure} if module.on_failure else {}),
            "machine": Ref(module.main.name),
            "tasks": {title: Ref(chart.name) for title, chart in module.tasks.items()},
            "lines": lines,
        },
    )
    return print_assignment("WORKFLOW", call, 0)


def _imports(annotations: Annotations, runtime: set[str]) -> list[str]:
    groups = [
        _import("typing", [name for name in _TYPING if name in annotations.imports]),
        _import("wfc_runtime.contract", sorted(annotations.contract)),
        _import("wfc_runtime.machine", sorted(runtime, key=_import_order)),
    ]
    typing, *ours = groups
    return [*typing, *([""] if typing else []), *(line for group in ours for line in group)]


def _import_order(name: str) -> tuple[bool, str]:
    return (name[0].islower(), name)


def _import(module: str, names: list[str]) -> list[str]:
    if not names:
        return []
    flat = f"from {module} import {', '.join(names)}"
    if len(flat) <= 88:
        return [flat]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]
