"""Conditions that ask how a block failed or was skipped, on a block that never runs then."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.dialects.blocks.conditions import Node, references, to_expression
from wfc.dialects.blocks.expressions import Expr
from wfc.dialects.blocks.graph import BlockNode, Wait
from wfc.dialects.blocks.references import Reference
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.resolving import Site, UnresolvedError
from wfc.findings import Edit, Fix
from wfc.yaml import Scalar, Span

_NEVER = ("pending", "running", "paused")
"""What the status of a block is never seen to be."""
_CRASHED = ("failed",)


def check_unseen(
    node: BlockNode, origin: Scalar, site: Site, reports: Reports, never_runs: bool
) -> Span | None:
    """Say which parts of a condition can't be what they ask for, of one that is never true the first. Where that is."""
    first: Span | None = None
    for part, is_wanted in _parts(node.condition) if node.condition else ():
        # That all has gone well may be denied as a whole; where that can hold, it is no mistake.
        told = _told(part, is_wanted, node, site) if is_wanted or never_runs else None
        if told is None or (first and never_runs):
            continue
        place = origin.at(part.start, part.end)
        first = first or place
        what, why, help_, fix = told
        so = ", so the block never runs" if never_runs else ""
        message = f"`{origin.text[part.start : part.end]}` {what}{so}: {why}"
        reports.add("WF210", place, message, help_, step=node.name, fix=fix)
    return first


Told = tuple[str, str, str, Fix | None]


def _told(part: Node, is_wanted: bool, node: BlockNode, site: Site) -> Told | None:
    asked = [one for one in references(part) if _block(one, site) is not None]
    if not asked:
        return None
    name = asked[0].names[1]
    if is_wanted and _asks_for_status(part, _NEVER):
        help_ = "it is `completed`, `failed` or `skipped`"
        return "is never true", f"`{name}` has ended before this block begins", help_, None
    if is_wanted and _asks_for_status(part, _CRASHED):
        return "is never true here", _why(name, node), *_remedy(name, node)
    known, unknown = _value(part, site), _value(part, Site(site.world, node))
    if known is None or not known.is_constant or unknown is None:
        return None
    if known.constant is not is_wanted and not unknown.is_constant:
        return f"is never {'true' if is_wanted else 'false'} here", _why(name, node), *_remedy(name, node)
    can_fail = site.world.graph.nodes[name].can_fail
    if known.constant and is_wanted and can_fail and any(one.names[-1] == "status" for one in asked):
        return "is always true here", _why(name, node), *_remedy(name, node)
    return None


def _parts(node: Node, is_wanted: bool = True) -> Iterator[tuple[Node, bool]]:
    """What is compared or asked, and whether it is to be true."""
    if node.word in ("and", "or", "not"):
        for operand in node.operands:
            yield from _parts(operand, is_wanted is not (node.word == "not"))
    else:
        yield node, is_wanted


def _block(reference: Reference, site: Site) -> BlockNode | None:
    """The block that a reference asks about, where its success is certain."""
    names = reference.names
    found = site.world.graph.nodes.get(names[1]) if len(names) > 2 and names[0] == "blocks" else None
    return found if found is not None and found.kind is not None and site.has_succeeded(found) else None


def _asks_for_status(part: Node, words: tuple[str, ...]) -> bool:
    values = [one.value for one in part.operands if one.word == "value"]
    paths = [one.reference for one in part.operands if one.reference is not None]
    is_status = bool(paths) and paths[0].names[-1] == "status"
    return (
        is_status and [word.text for word in part.words] == ["=="] and values[:1] in [[one] for one in words]
    )


def _value(part: Node, site: Site) -> Expr | None:
    try:
        return to_expression(part, site.resolve)
    except UnresolvedError:  # Somebody else has said so.
        return None


def _why(name: str, node: BlockNode) -> str:
    wait = _wait(name, node)
    if wait is None:
        return f"this block runs only where `{name}` succeeded, which others require that it waits for"
    return f"`{name}` is required, so this block runs only where it succeeded"


def _remedy(name: str, node: BlockNode) -> tuple[str, Fix | None]:
    wait = _wait(name, node)
    if wait is None:
        return "let what requires it only wait for it: `required: false`", None
    text = f"{{block: {name}, required: false}}"
    fix = Fix(f"only wait for `{name}`", (Edit(wait.span, text),), safe=False) if wait.is_plain else None
    return f"to run where it failed too, write `{text}` in `depends_on`: that only waits", fix


def _wait(name: str, node: BlockNode) -> Wait | None:
    return next((wait for wait in node.waits if wait.block == name and wait.required), None)
