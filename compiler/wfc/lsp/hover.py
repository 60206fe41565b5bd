"""The text that an editor shows for the name under the pointer."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.scopes import Site
from wfc.language.shape import Shape
from wfc.language.steps.protocol import Child
from wfc.language.types import Type, properties, shown
from wfc.lsp.analysis import Analysis
from wfc.lsp.index import Symbol
from wfc.yaml import Span
from wfc_runtime.expr import FILTERS, FUNCTIONS, TESTS, Builtin

Shown = tuple[str, tuple[int, int]]


def hover_at(analysis: Analysis, offset: int) -> Shown | None:
    """Markdown, and the range of characters that it describes."""
    # Templates first: the place of an expression is also inside the value of a key.
    site = analysis.site_at(offset)
    found = _in_template(analysis, site, offset) if site else None
    return found or _symbol(analysis, offset) or _part(analysis, offset) or _field(analysis, offset)


def _part(analysis: Analysis, offset: int) -> Shown | None:
    """A part of a step's result that only the dialect knows."""
    found = analysis.file.dialect.part_at(analysis.file.source, offset)
    owner = analysis.index.find("step", None, found.step) if found else None
    if found is None or not found.doc or owner is None or not owner.definitions:
        return None
    return found.doc, (found.span.start, found.span.end)


def _in_template(analysis: Analysis, site: Site, offset: int) -> Shown | None:
    template = site.text.template
    for read in template.reads:
        root = site.text.at(read.start, read.start + len(read.root))
        if root.start <= offset <= root.end and (said := _root(analysis, site, read.root)):
            return said, (root.start, root.end)
        for count, part in enumerate(read.path, 1):
            span = site.text.at(part.start, part.end)
            # A method has no type of its own to show.
            if span.start <= offset <= span.end and not part.called:
                names = [read.root, *(one.name for one in read.path[:count])]
                kind = analysis.type_of_path(site.scope, names, _starting(site))
                title = analysis.file.language.name_of(*names)
                return "\n\n".join([_typed(title, kind), *_about(analysis, offset)]), (span.start, span.end)
    uses = ((FILTERS, template.filters), (TESTS, template.tests), (FUNCTIONS, template.functions))
    for table, used in uses:
        for use in used:
            span = site.text.at(use.start, use.end)
            if span.start <= offset <= span.end and use.name in table:
                return _builtin(table[use.name]), (span.start, span.end)
    return None


def _root(analysis: Analysis, site: Site, name: str) -> str:
    """The documentation of the name that a path begins with."""
    # In a translated file the root is a name of the core language, which is not in the source.
    if analysis.file.workflow is None or analysis.file.is_translated:
        return ""
    roots = analysis.file.language.roots
    if name in roots:
        return f"`{name}`: {roots[name]}"
    kind = analysis.names_given(site.scope, _starting(site)).get(name)
    return _typed(name, kind) if kind else ""


def _starting(site: Site) -> Child | None:
    """The child whose `with` contains a template."""
    child = site.step.child()
    given = site.step.node.get("with") if child is not None and child.is_task else None
    at = site.text.node.span
    inside = given is not None and given.span.start <= at.start and at.end <= given.span.end
    return child if inside else None


def _typed(title: str, kind: Type | None) -> str:
    """A name with its type and its properties."""
    lines = [f"`{title}`: {shown(kind) if kind else 'not known'}"]
    lines += [f"- `{name}`: {shown(one)}" for name, one in properties(kind).items()]
    return "\n".join(lines)


def _builtin(builtin: Builtin) -> str:
    return f"`{builtin.name}`\n\n{builtin.doc}"


def _symbol(analysis: Analysis, offset: int) -> Shown | None:
    found = analysis.index.at(offset)
    if found is None:
        return None
    symbol, place = found
    lines = [line for line in (_title(analysis, symbol), *_about(analysis, offset)) if line]
    return "\n\n".join(lines), place


def _title(analysis: Analysis, symbol: Symbol) -> str:
    scope = symbol.scope
    match symbol.kind:
        case "field" if scope is not None:
            kind = analysis.type_of_path(scope, ["state", symbol.name])
            return _typed(analysis.file.language.name_of("state", symbol.name), kind)
        case "input" if scope is not None:
            kind = analysis.type_of_path(scope, ["inputs", symbol.name])
            return _typed(f"inputs.{symbol.name}", kind)
    return symbol.title or f"{symbol.kind} `{symbol.name}`"


def _about(analysis: Analysis, offset: int) -> Iterator[str]:
    """What the file says about a symbol: its description, or the lines that write and name a field."""
    found = analysis.index.at(offset)
    if found is None:
        return
    symbol = found[0]
    match symbol.kind:
        case _ if symbol.doc:
            yield symbol.doc
        case "field":
            yield f"written at {_lines(symbol.definitions)}; named at {_lines(symbol.references)}"
        case "input" if symbol.scope and (declared := symbol.scope.declared_inputs.get(symbol.name)):
            if declared.description:
                yield declared.description.text
        case "step" if named := analysis.step_named(symbol.name):
            step = named[1]
            yield f"type `{step.kind}`" + (f": {step.description.text}" if step.description else "")
        case "task" if analysis.file.workflow:
            task = analysis.file.workflow.declared_tasks.get(symbol.name)
            if task and task.description:
                yield task.description.text


def _lines(spans: list[Span]) -> str:
    numbers = list(dict.fromkeys(str(span.line) for span in spans))
    return ("line " if len(numbers) == 1 else "lines ") + ", ".join(numbers) if numbers else "no line"


def _field(analysis: Analysis, offset: int) -> Shown | None:
    """The documentation of a key, or of the type of a step."""
    for shape in analysis.file.shapes:
        for entry in shape.node.entries:
            key, value = entry.key.span, entry.value.span
            if key.start <= offset <= key.end and entry.key.text in shape.FIELDS:
                return _documented(shape, entry.key.text), (key.start, key.end)
            if entry.key.text == "type" and value.start <= offset <= value.end:
                doc = analysis.file.dialect.page(shape, value.text.strip("'\""))
                return (doc, (value.start, value.end)) if doc else None
    return None


def _documented(shape: Shape, name: str) -> str:
    field = shape.FIELDS[name]
    default = f" Default: `{field.default}`." if field.default is not None else ""
    need = " Required." if field.required else ""
    return f"`{name}` — {field.doc} Takes {field.type.words}.{default}{need}"
