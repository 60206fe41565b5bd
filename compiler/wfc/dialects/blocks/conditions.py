"""Conditions, written anew as expressions of the core. Nothing is ever evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wfc.dialects.blocks.expressions import (
    Expr,
    all_reads,
    asked,
    combination,
    comparison,
    literal,
    negation,
)
from wfc.dialects.blocks.grammar import ConditionError, Node, read_condition
from wfc.dialects.blocks.pieces import Piece
from wfc.dialects.blocks.references import Reference, Resolve

_ENDS = ("succeeded", "failed", "skipped")


def conjuncts(node: Node) -> Iterator[Node]:
    """The parts that must all hold."""
    if node.word == "and":
        for operand in node.operands:
            yield from conjuncts(operand)
    else:
        yield node


def references(node: Node) -> Iterator[Reference]:
    if node.reference is not None:
        yield node.reference
    for operand in node.operands:
        yield from references(operand)


def contradicts_itself(node: Node) -> bool:
    """Whether parts that must all hold never do together: one reference with two values, a block in two states."""
    values: dict[str, Any] = {}
    for part in conjuncts(node):
        for path, value in _demands(part):
            if values.setdefault(path, value) != value:
                return True
    return False


def _demands(part: Node) -> Iterator[tuple[str, Any]]:
    """What one part wants a reference to be."""
    is_not = part.word == "not"
    inner = part.operands[0] if is_not else part
    if inner.reference is not None:
        yield inner.reference.path, not is_not
        *block, state = inner.reference.names
        if state in _ENDS and len(block) == 2 and not is_not:
            yield f"{'.'.join(block)}.", state
    elif part.word == "compare" and [word.text for word in part.words] == ["=="]:
        paths = [one.reference.path for one in part.operands if one.reference is not None]
        values = [one.value for one in part.operands if one.word == "value"]
        # To this language some texts are booleans.
        if paths and values and str(values[0]).lower() not in ("true", "false"):
            yield paths[0], values[0]


Ask = Callable[[Node, Expr, bool], None]
"""Hears what stands where true or false is wanted, and whether it is all that comes of the condition."""


def to_expression(node: Node, resolve: Resolve, ask: Ask | None = None, is_last: bool = True) -> Expr:
    """The condition as an expression of the core."""
    joined = node.word in ("and", "or")
    parts = [
        to_expression(one, resolve, ask if joined else None, is_last and one is node.operands[-1])
        for one in node.operands
    ]
    found = _joined(node, parts, resolve)
    if ask is not None and not joined:
        ask(node, found, is_last)
    return found


def _joined(node: Node, parts: list[Expr], resolve: Resolve) -> Expr:
    match node.word:
        case "reference":
            assert node.reference is not None
            return resolve(node.reference)
        case "value":
            return literal(node.value, node.start, node.end)
        case "list":
            return _list(node, parts)
        case "method":
            return asked(parts[0], node.words[0].text[1:], parts[1:], node.words[0].start, node.end)
        case "not":
            return negation(parts[0], node.start)
        case "and" | "or":
            return combination(node.word, parts)
    links = [
        comparison(parts[number], word.text, parts[number + 1], word.start, word.end)
        for number, word in enumerate(node.words)
    ]
    return combination("and", links) if len(links) > 1 else links[0]


def _list(node: Node, items: list[Expr]) -> Expr:
    pieces: list[Piece] = [Piece("[", node.start, node.start + 1)]
    for number, item in enumerate(items):
        pieces += [Piece(", ", item.start, item.start)] if number else []
        pieces += item.pieces
    pieces.append(Piece("]", node.end - 1, node.end))
    if all(item.is_constant for item in items):
        return Expr(tuple(pieces), "list", constant=[item.constant for item in items])
    return Expr(tuple(pieces), "list", reads=all_reads(items))


__all__ = ["ConditionError", "Node", "conjuncts", "read_condition", "references", "to_expression"]
