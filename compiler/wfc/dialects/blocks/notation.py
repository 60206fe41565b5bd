"""The two notations of references, of which a file uses one: `${inputs.name}` and `{{ inputs.name }}`.

Dollar braces enclose a path. Double braces enclose a Jinja expression with operators and filters,
and `{% if %}`, `{% for %}` and `{% set %}` work as well. Double braces that do not name anything in this language stay
text: they belong to a tool that the workflow uses. So does `${{ }}`, which GitHub's workflows are written with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wfc.caching import cached
from wfc.dialects.blocks.conditions import REFERENCE, ConditionNode, Part, Reference, read_condition
from wfc.struct import struct
from wfc.template import Template, parse_template
from wfc.template.reads import Read
from wfc_runtime.expr.scanner import RAW_END

PATHS = ("inputs", "blocks", "metadata", "secrets", "each")
ROOTS = (*PATHS, "tmp")
_CALLED = ("get", "render")
# Text that is a reference even if it can't be parsed, so that a mistake in it is reported rather than left as text.
_NAMED = rf"(?:(?:{'|'.join(PATHS)})\s*(?:\.|\[)|tmp\s*(?:-?\}}\}}|\|)|(?:{'|'.join(_CALLED)})\s*\()"
_BEGINS = re.compile(rf"\{{\{{-?\s*(?:not\s+|[(\[]\s*)*{_NAMED}")
_STATEMENT = re.compile(
    rf"\{{%[-+]?\s*(?:if|elif|for|set)\b(?:(?!%\}}).)*?(?<![\w.'\"])(?:{'|'.join(PATHS)})\s*[.\[]", re.S
)
_BINDS = re.compile(r"\{%[-+]?\s*(?:for|set)\s+(\w+(?:\s*,\s*\w+)*)\s*(?:\bin\b|=)")
_TAG = re.compile(r"(?P<raw>\{%[-+]?\s*raw\s*-?%\})|\{\{")
_WHOLE = re.compile(r"\s*\{\{-?((?:(?!\}\}).)*?)-?\}\}\s*", re.S)
_ENDS_TRIED = 8
"""A `}}` may be part of a text or an object of the expression, so the first one is not always its end."""


@struct(frozen=True)
class Hole:
    """A part of a text that a run replaces by a value."""

    start: int
    end: int
    references: tuple[Reference, ...]
    template: Template | None = None
    """The expression, in double braces."""

    @property
    def trims(self) -> tuple[bool, bool]:
        """Whether the white space before and after it is removed: `{{- x -}}`."""
        text = self.template.text if self.template else ""
        return text.startswith("{{-"), text.endswith("-}}")


class Notation:
    name: str

    def holes(self, text: str) -> list[Hole]:
        raise NotImplementedError

    def references(self, text: str) -> Iterator[Reference]:
        for hole in self.holes(text):
            yield from hole.references

    def condition(self, text: str) -> ConditionNode:
        """Parse a condition. Raises `ConditionError` with the position of the first mistake."""
        raise NotImplementedError

    def statements(self, text: str) -> Template | None:
        """The whole text as a template, if it has statements."""
        return None

    def constant(self, text: str) -> Hole | None:
        """The whole text as an expression without references. It is one only where no text can be meant."""
        return None

    def written(self, path: str) -> str:
        """A reference as an author writes it."""
        raise NotImplementedError


class DollarNotation(Notation):
    name = "dollar"

    def holes(self, text: str) -> list[Hole]:
        found = (Reference.of(one) for one in REFERENCE.finditer(text))
        return [Hole(one.start, one.end, (one,)) for one in found]

    def condition(self, text: str) -> ConditionNode:
        return read_condition(text)

    def written(self, path: str) -> str:
        return f"${{{path}}}"


class BracesNotation(Notation):
    name = "braces"

    def holes(self, text: str) -> list[Hole]:
        return list(_holes(text)) if "{{" in text else []

    def references(self, text: str) -> Iterator[Reference]:
        template = self.statements(text)
        if template is None:
            yield from super().references(text)
        else:
            yield from references_of(template, 0)

    def condition(self, text: str) -> ConditionNode:
        holes = [(hole.start, hole.end) for hole in self.holes(text)]
        if not holes and (whole := _WHOLE.fullmatch(text)):
            # Nothing in it is a reference, as in `{{ true }}`. In a condition the braces belong to no other tool.
            text = f"{' ' * whole.start(1)}{whole[1]}"
        return read_condition(text, holes, in_braces=True)

    def statements(self, text: str) -> Template | None:
        if "{%" not in text:
            return None
        return parse_template(text) if _STATEMENT.search(text) or self._reads_bound(text) else None

    def constant(self, text: str) -> Hole | None:
        if self.holes(text) or not _WHOLE.fullmatch(text):
            return None
        template = parse_template(text.strip())
        start = len(text) - len(text.lstrip())
        is_one = template.error is None and template.expression is not None
        return Hole(start, start + len(template.text), (), template) if is_one else None

    def _reads_bound(self, text: str) -> bool:
        """Whether a reference reads a name that a statement of the text binds, such as a loop over fixed values."""
        bound = {name for found in _BINDS.finditer(text) for name in found[1].replace(",", " ").split()}
        if not bound:
            return False
        templates = (hole.template for hole in self.holes(text))
        return any(read.root in bound for template in templates if template for read in template.reads)

    def written(self, path: str) -> str:
        return f"{{{{{path}}}}}"


DOLLAR, BRACES = DollarNotation(), BracesNotation()


@cached(1024)
def _holes(text: str) -> tuple[Hole, ...]:
    return tuple(_scan(text))


def _scan(text: str) -> Iterator[Hole]:
    at = 0
    while found := _TAG.search(text, at):
        start, at = found.span()
        if found["raw"]:
            end = RAW_END.search(text, at)
            at = end.end() if end else at
        # `${{ }}` belongs to GitHub's workflows and stays text.
        elif text[start - 1 : start] != "$":
            hole = _hole(text, start)
            if hole is not None:
                yield hole
                at = hole.end


def _hole(text: str, start: int) -> Hole | None:
    """The expression that begins at an offset, if it names something of this language."""
    end = first = text.find("}}", start)
    for _ in range(_ENDS_TRIED):
        if end < 0:
            break
        template = parse_template(text[start : end + 2])
        if template.error is None:
            return _named(template, start)
        end = text.find("}}", end + 1)
    if first < 0 or not _BEGINS.match(text, start):
        return None
    return Hole(start, first + 2, (), parse_template(text[start : first + 2]))


def _named(template: Template, start: int) -> Hole | None:
    references = tuple(references_of(template, start))
    is_called = any(use.name in _CALLED for use in template.functions)
    if not references and not is_called:
        return None
    return Hole(start, start + len(template.text), references, template)


def references_of(template: Template, offset: int) -> Iterator[Reference]:
    """The paths of a template that begin with a name of this language."""
    return (reference_of(read, template.text, offset) for read in template.reads if read.root in ROOTS)


def reference_of(read: Read, text: str, offset: int) -> Reference:
    """The path of a read, up to a method or an index that only a run determines."""
    parts = [Part(read.root, read.start + offset, read.start + len(read.root) + offset)]
    for part in read.path:
        if part.name is None or part.called:
            # Only white space is between a part and the dot or bracket before it.
            end = len(text[: part.start].rstrip()) - 1
            return Reference(tuple(parts), read.start + offset, end + offset)
        parts.append(Part(str(part.name), part.start + offset, part.end + offset))
    return Reference(tuple(parts), read.start + offset, read.end + offset)
