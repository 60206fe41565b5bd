"""A file in the `${...}` notation, rewritten to `{{...}}`: comments and layout stay as they are."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.dialects.blocks.checks import rewrite, texts_of
from wfc.dialects.blocks.conditions import Reference, condition_tokens
from wfc.dialects.blocks.kinds import is_template_text, kind_of
from wfc.dialects.blocks.notation import BRACES, DOLLAR
from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.translate import output_condition, read_file, translate
from wfc.findings import Edit
from wfc.language.dialect import NotRewrittenError
from wfc.yaml import Mapping, Scalar


def edits_to_braces(root: Mapping) -> list[Edit]:
    """The edits. Raises `NotRewrittenError` for a file that is in this notation already, or that can't be."""
    file = read_file(root)
    world = translate(file, Reports()).world
    if world.notation is BRACES:
        raise NotRewrittenError("the references of this file are in double braces already")
    for block in file.blocks or []:
        kind, inputs = kind_of(block.node), block.node.get("inputs")
        for entry in inputs.entries if kind and isinstance(inputs, Mapping) else ():
            if kind and is_template_text(entry, kind) and isinstance(entry.value, Scalar):
                for hole in DOLLAR.holes(entry.value.text):
                    name = block.id.text if block.id else ""
                    raise NotRewrittenError(
                        f"the template of `{name}` has `{entry.value.text[hole.start : hole.end]}` in it: "
                        "pass that as one of its `variables` first"
                    )
    edits: list[Edit] = []
    for _, scalar in texts_of(file):
        changes = list(_changes(scalar, world.printed))
        edits += rewrite(scalar, changes) if changes else ()
    return edits


def _changes(scalar: Scalar, printed: dict[tuple[int, int], str]) -> Iterator[tuple[int, int, str]]:
    if output_condition(scalar.text, DOLLAR) is not None:
        yield from _in_condition(scalar.text)
        return
    for hole in DOLLAR.holes(scalar.text):
        path, filter_ = _path(hole.references[0]), printed.get((scalar.span.start, hole.start), "")
        # A brace before the reference would be read with it, so that it becomes part of the expression.
        before = len(scalar.text[: hole.start]) - len(scalar.text[: hole.start].rstrip("{"))
        if before:
            path = f"{'{' * before!r} ~ ({path} | text)"
        yield hole.start - before, hole.end, BRACES.written(f"{path} | {filter_}" if filter_ else path)


def _in_condition(text: str) -> Iterator[tuple[int, int, str]]:
    """The references of a condition. Inside of `${ }` around a whole expression they have no braces of their own."""
    inside = 0
    for token in condition_tokens(text):
        if token.kind == "operator" and token.text == "${":
            yield token.start, token.end, "(" if inside else "{{"
            inside += 1
        elif token.kind == "operator" and token.text == "}":
            inside -= 1
            yield token.start, token.end, ")" if inside else "}}"
        elif token.kind in ("reference", "text"):
            for hole in DOLLAR.holes(token.text):
                path = _path(hole.references[0])
                start, end = token.start + hole.start, token.start + hole.end
                yield start, end, path if inside else BRACES.written(path)


def _path(reference: Reference) -> str:
    """The path as an expression: a hyphen would subtract, and a number is not a name."""
    root, *parts = reference.names
    return root + "".join(f".{one}" if one.isidentifier() else f"[{one!r}]" for one in parts)
