"""A text with JavaScript in its holes, which answers the same questions as a template of Jinja.

Analyses of types and taint work on Jinja's nodes. `tree` expresses JavaScript in them as far as the two languages mean
the same; features that only JavaScript has become calls, whose meaning is defined in `analysis.types.javascript`.
"""

from __future__ import annotations

from jinja2 import nodes

from wfc.caching import cached, cached_property
from wfc.javascript.parse import Script, is_installed, parse_script
from wfc.javascript.tree import Builder
from wfc.struct import replace
from wfc.template import Read, Template, Use
from wfc_runtime.expr.errors import TemplateError
from wfc_runtime.javascript.scanner import Hole, find_holes, is_lone


class ScriptTemplate(Template):
    language = "javascript"

    def __init__(self, text: str) -> None:
        self.text = text
        self.error: TemplateError | None = None
        self._holes: list[Hole] = []
        self.scripts: list[tuple[int, Script]] = []
        """The expressions, each with the offset at which it begins."""
        try:
            # Without the parser, nothing is known about the text; WF201 reports that once for the whole file.
            self._holes = find_holes(text) if is_installed() else []
        except TemplateError as error:
            self.error = error
        self.is_literal = not self._holes and self.error is None
        self.lone = is_lone(text, self._holes)
        for hole in self._holes:
            script = parse_script(text[hole.inner_start : hole.inner_end])
            self.scripts.append((hole.inner_start, script))
            if self.error is None:
                self.error = _error_of(script, hole.inner_start)
        self._builder = Builder()
        self.ast = self._build() if self.error is None else None
        self.expression = None
        if self.lone and self.ast is not None:
            output = self.ast.body[0]
            assert isinstance(output, nodes.Output)
            self.expression = output.nodes[0]

    def _build(self) -> nodes.Template:
        parts: list[nodes.Expr] = []
        after = 0
        for hole, (start, script) in zip(self._holes, self.scripts, strict=True):
            if not self.lone and hole.start > after:
                parts.append(self._builder.text(self.text[after : hole.start], after))
            parts.append(self._builder.build(script, start))
            after = hole.end
        if not self.lone and after < len(self.text):
            parts.append(self._builder.text(self.text[after:], after))
        return nodes.Template([nodes.Output(parts)])

    @cached_property
    def reads(self) -> list[Read]:
        return [_moved(read, start) for start, script in self.scripts for read in script.reads]

    @property
    def filters(self) -> list[Use]:
        return []

    @property
    def tests(self) -> list[Use]:
        return []

    @property
    def functions(self) -> list[Use]:
        """None that could be unknown: a name that is called is a read unless the language has it."""
        return []

    @cached_property
    def forbidden(self) -> list[Use]:
        """Names that the sandbox does not have."""
        return [_shifted(use, start) for start, script in self.scripts for use in script.forbidden]

    @cached_property
    def blocks(self) -> list[Use]:
        return [_shifted(use, start) for start, script in self.scripts for use in script.blocks]

    @cached_property
    def impure(self) -> list[Use]:
        return [_shifted(use, start) for start, script in self.scripts for use in script.impure]

    def is_loose(self, node: nodes.Compare) -> bool:
        """Whether a comparison is written with `==` or `!=`."""
        return id(node) in self._builder.loose

    def token_span(self, node: nodes.Node) -> tuple[int, int]:
        return self._builder.tokens.get(id(node)) or self.span(node)

    def span(self, node: nodes.Node) -> tuple[int, int]:
        return self._builder.spans.get(id(node), (0, len(self.text)))


def _error_of(script: Script, start: int) -> TemplateError | None:
    if script.kind == "body":
        return TemplateError("statements are not an expression", start, start + len(script.code))
    wrong = script.error
    return TemplateError(wrong.message, start + wrong.start, start + wrong.end) if wrong else None


def _shifted(use: Use, by: int) -> Use:
    return Use(use.name, use.start + by, use.end + by)


def _moved(read: Read, by: int) -> Read:
    path = tuple(replace(part, start=part.start + by, end=part.end + by) for part in read.path)
    return replace(read, path=path, start=read.start + by, end=read.end + by)


@cached(4096)
def parse_script_template(text: str) -> ScriptTemplate:
    """Parse a text with holes. It raises nothing: a text that can't be parsed has an `error`."""
    return ScriptTemplate(text)
