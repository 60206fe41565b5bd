"""JavaScript as Jinja's nodes, for the analyses.

Where both languages mean the same, the node is Jinja's: names, paths, comparisons, `&&` and `||`, conditionals,
literals. `x.length` is the filter `length`, `a ?? b` and `a?.b` the filter `default`, and `shquote(x)` the filter
`shquote`. A call is a call; a function is a macro whose body is its result, or, if it has several statements, whose
`defaults` have all that they use; a destructured parameter is a tuple of its names; operators without a
counterpart are calls of a name that no author can write.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from jinja2 import nodes

from wfc.javascript.reads import names_in

if TYPE_CHECKING:
    from tree_sitter import Node

    from wfc.javascript.parse import Script

OTHER = "<other>"
"""The name of a call that stands for anything else: its value is unknown, and it uses all its arguments."""
SPREAD, NEW, TYPEOF, REGEX = "<spread>", "<new>", "<typeof>", "<regex>"

_COMPARISONS = {
    "===": "eq", "==": "eq", "!==": "ne", "!=": "ne", "<": "lt", "<=": "lteq", ">": "gt", ">=": "gteq", "in": "in",
}  # fmt: skip
_ARITHMETIC: dict[str, type[nodes.BinExpr]] = {
    "+": nodes.Add, "-": nodes.Sub, "*": nodes.Mul, "/": nodes.Div, "%": nodes.Mod, "**": nodes.Pow
}  # fmt: skip
_CONSTANTS = {"true": True, "false": False, "null": None, "undefined": None}
T = TypeVar("T", bound=nodes.Node)


class Builder:
    """Builds the nodes of one text, and knows the place of each."""

    def __init__(self) -> None:
        self.spans: dict[int, tuple[int, int]] = {}
        self.tokens: dict[int, tuple[int, int]] = {}
        """The place of the one word that names a node, such as a property."""
        self.loose: set[int] = set()
        """Comparisons with `==` and `!=`."""
        self._script: Script
        self._start = 0

    def text(self, text: str, start: int) -> nodes.TemplateData:
        found = nodes.TemplateData(text)
        self.spans[id(found)] = (start, start + len(text))
        return found

    def build(self, script: Script, start: int) -> nodes.Expr:
        """The expression of a hole that begins at that offset."""
        self._script, self._start = script, start
        expression = script.expression
        if expression is None:
            return self._at(script.root, _call(OTHER, []))
        return self._expr(expression)

    def _at(self, node: Node, made: T) -> T:
        start, end = self._script.span(node)
        self.spans[id(made)] = (start + self._start, end + self._start)
        return made

    def _word(self, node: Node, made: T) -> T:
        start, end = self._script.span(node)
        self.tokens[id(made)] = (start + self._start, end + self._start)
        return made

    def _expr(self, node: Node) -> nodes.Expr:
        build = _BUILD.get(node.type)
        return self._at(node, build(self, node) if build else self._other(node))

    def _some(self, children: list[Node]) -> list[nodes.Expr]:
        return [self._expr(child) for child in children if child.type != "comment"]

    def _other(self, node: Node) -> nodes.Expr:
        skipped = ("comment", "property_identifier", "statement_identifier", "regex_pattern", "regex_flags")
        parts = [child for child in node.named_children if child.type not in skipped]
        return _call(OTHER, [self._expr(child) for child in parts])

    # -- leaves ----------------------------------------------------------------

    def name(self, node: Node) -> nodes.Expr:
        return nodes.Name(self._script.text(node), "load")

    def constant(self, node: Node) -> nodes.Expr:
        return nodes.Const(_CONSTANTS[node.type])

    def number(self, node: Node) -> nodes.Expr:
        text = self._script.text(node).replace("_", "")
        try:
            value = (
                int(text, 0)
                if not any(one in text for one in ".eE") or text[:2] in ("0x", "0X")
                else float(text)
            )
        except ValueError:
            return _call(OTHER, [])
        return nodes.Const(value)

    def string(self, node: Node) -> nodes.Expr:
        return nodes.Const(string_value(self._script.text(node)))

    def template(self, node: Node) -> nodes.Expr:
        parts: list[nodes.Expr] = []
        for child in node.named_children:
            if child.type == "template_substitution":
                parts += self._some(child.named_children)
            else:
                parts.append(self._at(child, nodes.Const(self._script.text(child))))
        return nodes.Concat(parts)

    def regex(self, node: Node) -> nodes.Expr:
        return _call(REGEX, [nodes.Const(self._script.text(node))])

    # -- paths and calls -------------------------------------------------------

    def member(self, node: Node) -> nodes.Expr:
        return self._defaulted(node, self._member(node))

    def _defaulted(self, node: Node, found: nodes.Expr) -> nodes.Expr:
        """A chain with `?.` gives undefined instead of an error."""
        return (
            nodes.Filter(self._at(node, found), "default", [nodes.Const(None)], [], None, None)
            if _is_optional(node)
            else found
        )

    def _member(self, node: Node) -> nodes.Expr:
        inner = node.child_by_field_name("object")
        last = node.child_by_field_name("property") or node.child_by_field_name("index")
        if inner is None or last is None:
            return self._other(node)
        # Inside a chain, `?.` is dealt with at its end.
        base = self._at(inner, self._member(inner)) if inner.type in _MEMBERS else self._expr(inner)
        word = self._script.text(last)
        if node.type == "subscript_expression":
            return nodes.Getitem(base, self._expr(last), "load")
        if word == "length":
            return self._word(last, nodes.Filter(base, "length", [], [], None, None))
        return self._word(last, nodes.Getattr(base, word, "load"))

    def called(self, node: Node) -> nodes.Expr:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or given is None:
            return self._other(node)
        if given.type != "arguments":
            return _call(OTHER, [self._expr(function), self._expr(given)])
        args = self._some(given.named_children)
        if function.type == "identifier":
            name = self._script.text(function)
            if name == "shquote" and len(args) == 1:
                return self._word(function, nodes.Filter(args[0], "shquote", [], [], None, None))
            return self._word(function, _call(name, args))
        if function.type != "member_expression":
            return self._immediate(node, function, args)
        owner, last = function.child_by_field_name("object"), function.child_by_field_name("property")
        if owner is not None and owner.type == "identifier" and self._script.text(owner)[:1].isupper():
            return self._word(function, _call(self._script.text(function), args))
        if owner is None or last is None:
            return self._other(node)
        base = self._at(owner, self._member(owner)) if owner.type in _MEMBERS else self._expr(owner)
        method = self._word(last, self._at(function, nodes.Getattr(base, self._script.text(last), "load")))
        return self._defaulted(node, nodes.Call(method, args, [], None, None))

    def _immediate(self, node: Node, function: Node, args: list[nodes.Expr]) -> nodes.Expr:
        """`(() => ...)()` is what the function returns."""
        made = self._expr(function)
        return _call("<run>", [made, *args])

    def made(self, node: Node) -> nodes.Expr:
        kind, given = node.child_by_field_name("constructor"), node.child_by_field_name("arguments")
        args = self._some(given.named_children) if given is not None else []
        return _call(f"{NEW}{self._script.text(kind) if kind is not None else ''}", args)

    def function(self, node: Node) -> nodes.Expr:
        """A macro with the names of its parameters, and the expression that it returns or all that it uses."""
        parameters = node.child_by_field_name("parameter") or node.child_by_field_name("parameters")
        children = [parameters] if parameters is not None and parameters.type == "identifier" else []
        children = children or (parameters.named_children if parameters is not None else [])
        parts = [self._parameter(one) for one in children if one.type != "comment"]
        body = node.child_by_field_name("body")
        result = self._returned(body) if body is not None else None
        used = [self._other(body)] if body is not None and result is None else []
        # A macro is a statement to Jinja's types; here it is only ever an argument, of which analyses ask its class.
        made = nodes.Macro(
            "function", cast(list[nodes.Name], parts), used, [] if result is None else [result]
        )
        return cast(nodes.Expr, made)

    def _parameter(self, node: Node) -> nodes.Expr:
        if node.type == "identifier":
            return nodes.Name(self._script.text(node), "param")
        return nodes.Tuple([nodes.Name(one, "param") for one in names_in(self._script, node)], "param")

    def _returned(self, body: Node) -> nodes.Expr | None:
        """The value of a body that is an expression or a single `return`; None for one with more statements."""
        if body.type != "statement_block":
            return self._expr(body)
        statements = [one for one in body.named_children if one.type != "comment"]
        if len(statements) == 1 and statements[0].type == "return_statement" and statements[0].named_children:
            return self._expr(statements[0].named_children[0])
        return None

    # -- operators -------------------------------------------------------------

    def inner(self, node: Node) -> nodes.Expr:
        parts = [child for child in node.named_children if child.type != "comment"]
        return self._expr(parts[0]) if len(parts) == 1 else self._other(node)

    def binary(self, node: Node) -> nodes.Expr:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return self._other(node)
        one, other, word = self._expr(left), self._expr(right), sign.type
        if word == "&&":
            return nodes.And(one, other)
        if word == "||":
            return nodes.Or(one, other)
        if word == "??":
            return nodes.Filter(one, "default", [other, nodes.Const(True)], [], None, None)
        if word in _COMPARISONS:
            found = self._word(sign, nodes.Compare(one, [nodes.Operand(_COMPARISONS[word], other)]))
            if word in ("==", "!="):
                self.loose.add(id(found))
            return found
        return _ARITHMETIC[word](one, other) if word in _ARITHMETIC else _call(OTHER, [one, other])

    def unary(self, node: Node) -> nodes.Expr:
        sign, operand = node.child_by_field_name("operator"), node.child_by_field_name("argument")
        if sign is None or operand is None:
            return self._other(node)
        inner = self._expr(operand)
        match sign.type:
            case "!":
                return nodes.Not(inner)
            case "-":
                return nodes.Neg(inner)
            case "+":
                return _call("Number", [inner])
            case "typeof":
                return _call(TYPEOF, [inner])
        return _call(OTHER, [inner])

    def conditional(self, node: Node) -> nodes.Expr:
        test, yes, no = (
            node.child_by_field_name(name) for name in ("condition", "consequence", "alternative")
        )
        if test is None or yes is None or no is None:
            return self._other(node)
        return nodes.CondExpr(self._expr(test), self._expr(yes), self._expr(no))

    # -- lists and objects -----------------------------------------------------

    def array(self, node: Node) -> nodes.Expr:
        return nodes.List(self._some(node.named_children))

    def spread(self, node: Node) -> nodes.Expr:
        return _call(SPREAD, self._some(node.named_children))

    def object(self, node: Node) -> nodes.Expr:
        pairs: list[nodes.Pair] = []
        for child in node.named_children:
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            if child.type == "shorthand_property_identifier":
                word = self._script.text(child)
                made = self._at(child, nodes.Name(word, "load"))
                pairs.append(nodes.Pair(self._at(child, nodes.Const(word)), made))
            elif child.type == "pair" and key is not None and value is not None:
                pairs.append(nodes.Pair(self._key(key), self._expr(value)))
            elif child.type != "comment":
                # A spread or a method: the properties are not known.
                pairs.append(nodes.Pair(self._at(child, _call(SPREAD, [])), self._expr(child)))
        return nodes.Dict(pairs)

    def _key(self, node: Node) -> nodes.Expr:
        text = self._script.text(node)
        if node.type in ("property_identifier", "number"):
            return self._at(node, nodes.Const(text))
        if node.type == "string":
            return self._at(node, nodes.Const(string_value(text)))
        return self._at(node, _call(OTHER, self._some(node.named_children)))


def names_of(parameter: nodes.Node) -> list[str]:
    """The names that a parameter of a function binds."""
    if isinstance(parameter, nodes.Tuple):
        return [one.name for one in parameter.items if isinstance(one, nodes.Name)]
    return [parameter.name] if isinstance(parameter, nodes.Name) else []


def _call(name: str, args: list[nodes.Expr]) -> nodes.Call:
    return nodes.Call(nodes.Name(name, "load"), args, [], None, None)


def string_value(text: str) -> str:
    """The value of a quoted literal, or its source if it has unusual escapes."""
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    try:
        quoted = inner.replace("\\'", "'").replace('\\"', '"').replace('"', '\\"')
        return str(json.loads(f'"{quoted}"'))
    except ValueError:
        return inner


_MEMBERS = ("member_expression", "subscript_expression")


def _is_optional(node: Node) -> bool:
    """Whether a chain of properties, items and calls has a `?.` in it."""
    inner: Node | None = node
    while inner is not None and inner.type in (*_MEMBERS, "call_expression"):
        if any(child.type == "optional_chain" for child in inner.children):
            return True
        inner = inner.child_by_field_name("object") or inner.child_by_field_name("function")
    return False


_BUILD: dict[str, Callable[[Builder, Node], nodes.Expr]] = {
    "identifier": Builder.name,
    "this": Builder.name,
    "true": Builder.constant,
    "false": Builder.constant,
    "null": Builder.constant,
    "undefined": Builder.constant,
    "number": Builder.number,
    "string": Builder.string,
    "template_string": Builder.template,
    "regex": Builder.regex,
    "member_expression": Builder.member,
    "subscript_expression": Builder.member,
    "call_expression": Builder.called,
    "new_expression": Builder.made,
    "arrow_function": Builder.function,
    "function_expression": Builder.function,
    "parenthesized_expression": Builder.inner,
    "binary_expression": Builder.binary,
    "unary_expression": Builder.unary,
    "ternary_expression": Builder.conditional,
    "array": Builder.array,
    "spread_element": Builder.spread,
    "object": Builder.object,
}
