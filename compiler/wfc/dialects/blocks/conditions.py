"""Conditions, written anew as expressions of the core. Nothing is ever evaluated."""

from __future__ import annotations

from collections.abc import Iterator

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


def to_expression(node: Node, resolve: Resolve) -> Expr:
    """The condition as an expression of the core."""
    parts = [to_expression(operand, resolve) for operand in node.operands]
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
