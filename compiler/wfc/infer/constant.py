"""Conditions that come out the same way every time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wfc.core.types import BOOL, NULL, Choice, Exact, Record, Type
from wfc.infer.environment import Path
from wfc.infer.problems import Change, Kind
from wfc.infer.terms import UNDEFINED, always_true, kind_of, options, without
from wfc.infer.views import describe
from wfc_runtime.expr import nodes
from wfc_runtime.expr.filters.data import FALSE_WORDS, TRUE_WORDS

if TYPE_CHECKING:
    from wfc.infer.expressions import Inference


def values_of(kind: Type) -> list[str] | None:
    """The texts that it can be, where all of them are known."""
    found: list[str] = []
    for option in options(kind):
        if isinstance(option, Choice):
            found += option.values
        elif isinstance(option, Exact) and isinstance(option.value, str):
            found.append(option.value)
        else:
            return None
    return list(dict.fromkeys(found))


def check_constant(walk: Inference, node: nodes.Expr, path: Path | None) -> None:
    """A path whose value is never empty, zero or null, whatever the way to this place was."""
    if path is None or path not in walk.seen:
        return
    is_field = len(path) == 2 and path[0] == "state"
    kind = walk.environment.around.overall(str(path[1])) if is_field else walk.seen[path]
    kind = without(kind, UNDEFINED)
    if is_field and kind == NULL:
        report_always_null(walk, node)
    if not all(always_true(option) for option in options(kind)):
        return
    words = values_of(kind)
    if words is not None and is_switch(words):
        report_stringified(walk, node, words)
        return
    walk.report(
        Kind.CONSTANT,
        node,
        f"`{walk.source(node)}` is {describe(kind)}, never empty: as a condition it is always true",
        **_flag_meant(walk, node, kind),
    )


def check_null_test(walk: Inference, node: nodes.Expr) -> None:
    """`is none` of a field that is never anything else."""
    field = field_of(node)
    if field is not None and walk.environment.around.overall(field) == NULL:
        report_always_null(walk, node)


def report_always_null(walk: Inference, node: nodes.Expr) -> None:
    walk.report(
        Kind.CONSTANT,
        node,
        f"`{walk.source(node)}` is always null: no step writes it",
        help="write it somewhere with `output_to` or a set_state step",
    )


def field_of(node: nodes.Node) -> str | None:
    """The state field that an expression just names."""
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name) and node.node.name == "state":
        return node.attr
    return None


def is_switch(words: list[str]) -> bool:
    """Whether the texts are a yes and a no."""
    folded = {word.strip().lower() for word in words}
    return bool(folded & FALSE_WORDS) and folded <= FALSE_WORDS | TRUE_WORDS


def report_stringified(
    walk: Inference, node: nodes.Expr, words: list[str], why: str = "as a condition any text is true"
) -> None:
    start, end = walk.template.span(node)
    shown = " or ".join(f"`'{word.strip()}'`" for word in words)
    field = field_of(node)
    walk.report(
        Kind.STRINGIFIED,
        (start, end),
        f"`{walk.source(node)}` is the text {shown}: {why}",
        help="keep the boolean itself, as a value of just one `{{ ... }}`, or read the text with `| bool`"
        if field
        else f"compare it with one of them, or read it as a boolean: `{walk.source(node)} | bool`",
        changes=(Change(end, end, " | bool"),),
        fix="read the text as a boolean",
        field=field,
    )


def _flag_meant(walk: Inference, node: nodes.Expr, kind: Type) -> dict[str, object]:
    """Of an answer that is one boolean, that boolean was meant."""
    if not isinstance(kind, Record):
        values = values_of(kind)
        return {"help": "compare it: `== " + repr(values[0]) + "`"} if values else {}
    flags = [prop.name for prop in kind.properties if prop.type == BOOL and prop.required]
    if len(flags) == 1 and kind_of(kind) == "object":
        end = walk.template.span(node)[1]
        return {
            "help": f"did you mean `{walk.source(node)}.{flags[0]}`?",
            "changes": (Change(end, end, f".{flags[0]}"),),
            "fix": f"test {flags[0]}",
        }
    if kind.get("exit_code"):
        return {"help": f"did you mean `{walk.source(node)}.exit_code == 0`?"}
    return {"help": "test one of its properties"}
