"""Find every name, path and function that a JavaScript text refers to, with the tests around each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from wfc.template.reads import Part, Read, Use

if TYPE_CHECKING:
    from tree_sitter import Node

    from wfc.javascript.parse import Script

ADDED = frozenset({"now", "uuid", "shquote", "path_to_key"})
"""The functions that the language adds to JavaScript."""
_BUILT_IN = """
Array ArrayBuffer AggregateError BigInt Boolean DataView Date Error EvalError Float32Array Float64Array Infinity
Int16Array Int32Array Int8Array Iterator JSON Map Math NaN Number Object RangeError ReferenceError RegExp Set String
Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array WeakMap WeakSet arguments decodeURI
decodeURIComponent encodeURI encodeURIComponent escape isFinite isNaN parseFloat parseInt undefined unescape
"""
BUILT_IN = ADDED | frozenset(_BUILT_IN.split())
# Names that exist in browsers and servers, but not in the sandbox, or that only an attack needs.
_FORBIDDEN = """
Atomics DisposableStack Function Intl Promise Proxy Reflect SharedArrayBuffer WeakRef FinalizationRegistry WebAssembly
clearInterval clearTimeout console document eval fetch globalThis import performance process queueMicrotask require
setImmediate setInterval setTimeout window XMLHttpRequest Worker
"""
FORBIDDEN = frozenset(_FORBIDDEN.split())
_FORBIDDEN_PARTS = """
__proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ toLocaleString toLocaleDateString
toLocaleTimeString toLocaleUpperCase toLocaleLowerCase callee caller constructor
"""
_FORBIDDEN_PROPERTIES = frozenset(_FORBIDDEN_PARTS.split())
_FUNCTIONS = frozenset(
    {"arrow_function", "function_expression", "function_declaration", "generator_function", "method_definition",
     "generator_function_declaration"}
)  # fmt: skip
_NAMES = frozenset({"identifier", "shorthand_property_identifier_pattern"})
_MEMBERS = frozenset({"member_expression", "subscript_expression"})

Path = tuple[str | int, ...]
Facts = frozenset[Path]
NO_FACTS: Facts = frozenset()


class ScriptReads:
    """The walk over one tree."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.reads: list[Read] = []
        self.functions: list[Use] = []
        self.forbidden: list[Use] = []
        self.impure: list[Use] = []
        self.shorthands: list[int] = []
        self._perhaps = False
        self._walk(script.root, frozenset(), NO_FACTS)
        self.reads.sort(key=lambda read: (read.start, read.end))

    def _use(self, node: Node, name: str = "") -> Use:
        return Use(name or self._script.text(node), *self._script.span(node))

    def _walk(self, node: Node, bound: frozenset[str], facts: Facts, guarded: bool = False) -> None:
        kind = node.type
        if kind in _MEMBERS or kind in ("identifier", "this"):
            self._path(node, bound, facts, guarded, called=False)
        elif kind == "shorthand_property_identifier":
            before = len(self.reads)
            self._name(node, (), node, bound, facts, guarded)
            if len(self.reads) > before:
                self.shorthands.append(self.reads[-1].start)
        elif kind == "call_expression":
            self._call(node, bound, facts, guarded)
        elif kind == "new_expression":
            self._new(node, bound, facts)
        elif kind == "import":
            self.forbidden.append(self._use(node))
        elif kind in _FUNCTIONS:
            self._function(node, bound, facts)
        elif kind in ("ternary_expression", "if_statement"):
            self._choice(node, bound, facts, guarded)
        elif kind == "binary_expression":
            self._binary(node, bound, facts, guarded)
        elif kind == "unary_expression":
            # `typeof x` works on a name that does not exist.
            for child in node.named_children:
                self._walk(child, bound, facts, self._script.text(node).startswith("typeof"))
        elif kind in ("parenthesized_expression", "sequence_expression", "expression_statement"):
            for child in node.named_children:
                self._walk(child, bound, facts, guarded)
        else:
            if kind in (
                "statement_block",
                "program",
                "for_in_statement",
                "for_statement",
                "catch_clause",
                "class",
            ):
                bound = bound | set(_declared(self._script, node))
            for child in node.named_children:
                if child.type != "property_identifier" and not _is_declaration(node, child):
                    self._walk(child, bound, facts)

    # -- functions and calls ---------------------------------------------------

    def _function(self, node: Node, bound: frozenset[str], facts: Facts) -> None:
        inner = bound | set(_declared(self._script, node))
        for child in node.named_children:
            if child.type in ("formal_parameters", "object_pattern", "array_pattern"):
                self._defaults(child, inner, facts)
            elif child.type not in ("identifier", "property_identifier") or child == node.child_by_field_name(
                "body"
            ):
                self._walk(child, inner, facts)

    def _defaults(self, node: Node, bound: frozenset[str], facts: Facts) -> None:
        """The default values of parameters, which may read names."""
        for child in node.named_children:
            if child.type in ("assignment_pattern", "object_assignment_pattern"):
                right = child.child_by_field_name("right")
                if right is not None:
                    self._walk(right, bound, facts)
            self._defaults(child, bound, facts)

    def _call(self, node: Node, bound: frozenset[str], facts: Facts, guarded: bool) -> None:
        function = node.child_by_field_name("function")
        name = self._script.text(function) if function is not None else ""
        if function is not None and function.type == "identifier" and name in BUILT_IN and name not in bound:
            self.functions.append(self._use(function))
            if name in ("now", "uuid") or name == "Date":
                self.impure.append(self._use(node, f"{name}()"))
        elif function is not None:
            if name == "Date.now":
                self.impure.append(self._use(node, "Date.now()"))
            if function.type in _MEMBERS:
                self._path(function, bound, facts, guarded, called=True)
            else:
                self._walk(function, bound, facts)
        arguments = node.child_by_field_name("arguments")
        for child in arguments.named_children if arguments is not None else ():
            self._walk(child, bound, facts)

    def _new(self, node: Node, bound: frozenset[str], facts: Facts) -> None:
        arguments = node.child_by_field_name("arguments")
        made = node.child_by_field_name("constructor")
        is_date = made is not None and self._script.text(made) == "Date" and "Date" not in bound
        if is_date and (arguments is None or not arguments.named_children):
            self.impure.append(self._use(node, "new Date()"))
        for child in node.named_children:
            self._walk(child, bound, facts)

    # -- tests -----------------------------------------------------------------

    def _choice(self, node: Node, bound: frozenset[str], facts: Facts, guarded: bool) -> None:
        test = node.child_by_field_name("condition")
        if test is not None:
            self._walk(test, bound, facts)
        before, self._perhaps = self._perhaps, True
        for name, outcome in (("consequence", True), ("alternative", False)):
            branch = node.child_by_field_name(name)
            if branch is not None:
                more = self._facts(test, outcome, bound) if test is not None else NO_FACTS
                self._walk(branch, bound, facts | more, guarded)
        self._perhaps = before

    def _binary(self, node: Node, bound: frozenset[str], facts: Facts, guarded: bool) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        word = sign.type if sign is not None else ""
        if left is None or right is None:
            return
        self._walk(left, bound, facts, guarded or word in ("??", "||"))
        before = self._perhaps
        if word in ("&&", "||", "??"):
            self._perhaps = True
            facts = facts | (self._facts(left, word == "&&", bound) if word != "??" else NO_FACTS)
            self._walk(right, bound, facts, guarded)
        else:
            self._walk(right, bound, facts)
        self._perhaps = before

    def _facts(self, node: Node, outcome: bool, bound: frozenset[str]) -> Facts:
        """The paths that are present if a test has this outcome."""
        kind = node.type
        if kind == "parenthesized_expression" and node.named_children:
            return self._facts(node.named_children[0], outcome, bound)
        if kind == "unary_expression":
            inner = node.child_by_field_name("argument")
            is_not = self._script.text(node).startswith("!")
            return self._facts(inner, not outcome, bound) if is_not and inner is not None else NO_FACTS
        if kind == "binary_expression":
            return self._facts_of_binary(node, outcome, bound)
        if not outcome or (kind not in _MEMBERS and kind != "identifier"):
            return NO_FACTS
        base, parts, _ = self._unwind(node, called=False)
        names: Path = (self._script.text(base), *(part.name for part in parts if part.name is not None))
        # `x.length` is true only for something that is there.
        is_path = base.type in ("identifier", "this") and len(names) == len(parts) + 1
        return frozenset({names}) if is_path and names[0] not in bound else NO_FACTS

    def _facts_of_binary(self, node: Node, outcome: bool, bound: frozenset[str]) -> Facts:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return NO_FACTS
        if sign.type == ("&&" if outcome else "||"):
            return self._facts(left, outcome, bound) | self._facts(right, outcome, bound)
        if sign.type in ("!=", "!==") if outcome else sign.type in ("==", "==="):
            nothing = self._script.text(right).strip("'\"")
            if nothing in ("null", "undefined"):
                if left.type == "unary_expression" and self._script.text(left).startswith("typeof"):
                    left = left.child_by_field_name("argument") or left
                return self._facts(left, True, bound)
        return NO_FACTS

    # -- paths -----------------------------------------------------------------

    def _path(self, node: Node, bound: frozenset[str], facts: Facts, guarded: bool, called: bool) -> None:
        base, parts, others = self._unwind(node, called)
        for other in others:
            self._walk(other, bound, facts)
        for part in parts:
            if part.name in _FORBIDDEN_PROPERTIES:
                self.forbidden.append(Use(str(part.name), part.start, part.end))
        if base.type in ("identifier", "this"):
            self._name(base, tuple(parts), node, bound, facts, guarded)
        else:
            self._walk(base, bound, facts, guarded)

    def _name(
        self,
        base: Node,
        parts: tuple[Part, ...],
        node: Node,
        bound: frozenset[str],
        facts: Facts,
        guarded: bool,
    ) -> None:
        name = self._script.text(base)
        start, end = self._script.offset(base.start_byte), self._script.offset(node.end_byte)
        if name in bound:
            return
        if name == "Math" and parts and parts[0].name == "random":
            self.forbidden.append(Use("Math.random", start, parts[0].end))
        if name in FORBIDDEN:
            self.forbidden.append(Use(name, start, start + len(name)))
        elif name not in BUILT_IN:
            names: Path = (name, *(part.name for part in parts if not part.called and part.name is not None))
            known = max((_shared(fact, names) - 1 for fact in facts), default=0)
            is_guarded = (
                guarded
                or "?." in self._script.text(node)
                or any(fact[: len(names)] == names for fact in facts)
            )
            self.reads.append(Read(name, parts, start, end, is_guarded, max(known, 0), self._perhaps))

    def _unwind(self, node: Node, called: bool) -> tuple[Node, list[Part], list[Node]]:
        """The base of a path, its parts, and the expressions between its brackets."""
        parts: list[Part] = []
        others: list[Node] = []
        while node.type in _MEMBERS:
            inner = node.child_by_field_name("object")
            last = node.child_by_field_name("property") or node.child_by_field_name("index")
            if inner is None or last is None:
                break
            part = self._part(last, called)
            if part.name is None:
                others.append(last)
            parts.append(part)
            called, node = False, inner
            if node.type == "parenthesized_expression" and node.named_child_count == 1:
                only = node.named_children[0]
                node = only if only.type in (*_MEMBERS, "identifier", "this") else node
        return node, parts[::-1], others[::-1]

    def _part(self, node: Node, called: bool) -> Part:
        start, end = self._script.span(node)
        text = self._script.text(node)
        if node.type == "property_identifier":
            return Part(text, start, end, called)
        if node.type == "string" and "\\" not in text:
            return Part(text[1:-1], start + 1, end - 1, called)
        if node.type == "number" and text.isdecimal():
            return Part(int(text), start, end, called)
        return Part(None, start, end, called)


def _shared(one: Path, other: Path) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


# Names that a text binds itself.

_BINDING = {
    "variable_declarator": "name", "function_declaration": "name", "class_declaration": "name",
    "generator_function_declaration": "name", "catch_clause": "parameter", "for_in_statement": "left",
    "arrow_function": "parameter",
}  # fmt: skip


def _is_declaration(node: Node, child: Node) -> bool:
    name = _BINDING.get(node.type)
    return name is not None and node.child_by_field_name(name) == child


def _declared(script: Script, node: Node) -> Iterator[str]:
    """The names that a function, a block or a loop binds, without those of the functions inside of it."""
    todo = [node]
    while todo:
        one = todo.pop()
        if one.type in ("formal_parameters",):
            for parameter in one.named_children:
                yield from names_in(script, parameter)
            continue
        named = _BINDING.get(one.type)
        target = one.child_by_field_name(named) if named else None
        if target is not None:
            yield from names_in(script, target)
        if one.type == "function_expression" and one is node:
            own = one.child_by_field_name("name")
            yield from names_in(script, own) if own is not None else ()
        if one is node or one.type not in _FUNCTIONS:
            todo += one.named_children


def names_in(script: Script, pattern: Node) -> Iterator[str]:
    """The names of a pattern such as `{a, b: [c], ...d}`."""
    if pattern.type in _NAMES:
        yield script.text(pattern)
        return
    for child in pattern.named_children:
        if pattern.type == "pair_pattern" and child == pattern.child_by_field_name("key"):
            continue
        if pattern.type in (
            "assignment_pattern",
            "object_assignment_pattern",
        ) and child == pattern.child_by_field_name("right"):
            continue
        yield from names_in(script, child)
