"""`wfc check --types`: every state field with its type, its writers and its readers."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.analysis.types.lattice import UNDEFINED
from wfc.analysis.types.workflow import ScopeTypes, types_of
from wfc.language.types import shown
from wfc.language.values import state_use
from wfc.project import SourceFile
from wfc.yaml import Span


def render_types(file: SourceFile) -> str:
    """The types of a file's state as text."""
    types = types_of(file)
    if types is None:
        return f"{file.source.path}: its types are unknown because of errors; see `wfc check`\n"
    lines: list[str] = []
    for scope in types.scopes:
        title = scope.scope.known_as if scope is not types.main else f"the workflow `{file.name or '?'}`"
        lines += [f"{file.source.path}: {title}", *_scope(scope), ""]
    return "\n".join(lines)


def _scope(scope: ScopeTypes) -> Iterator[str]:
    kinds = scope.field_types()
    readers = _readers(scope)
    width = max((len(name) for name in kinds), default=0)
    for name, kind in kinds.items():
        ways = scope.inference.definitions.by_field[name]
        unset = scope.inference.definitions.types[ways[0].number] == UNDEFINED
        yield f"  {name:<{width}}  {shown(kind)}{', unset at the start' if unset else ''}"
        written = [
            _place(way.step.name if way.step else "initial_state", way.span) for way in ways if way.span
        ]
        yield f"  {'':<{width}}    written by {', '.join(dict.fromkeys(written)) or 'nothing'}"
        yield f"  {'':<{width}}    read by {', '.join(readers.get(name, ())) or 'nothing'}"
    yield f"  returns {shown(scope.returns)}"


def _readers(scope: ScopeTypes) -> dict[str, list[str]]:
    """The steps that read each field."""
    fields = scope.inference.definitions.by_field
    found: dict[str, list[str]] = {}
    for step in scope.scope.walk():
        names: dict[str, None] = {}
        texts = scope.inference.texts(step)
        for place in texts.all:
            use = state_use(place.text.template)
            names |= dict.fromkeys(use.fields)
            # Inside one `updates` a bare name is an earlier key.
            names |= dict.fromkeys(
                read.root for read in place.text.template.reads if read.root in texts.inner
            )
            if use.whole:
                names |= dict.fromkeys(word.text for word in step.declared)
        for name in names:
            if name in fields:
                found.setdefault(name, []).append(_place(step.name, step.span))
    return found


def _place(name: str, span: Span) -> str:
    return f"{name}:{span.line}"
