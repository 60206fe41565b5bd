"""A small dialect for tests: chores that run one after the other, where `(name)` is the output of an earlier one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from wfc.dialects.base import Dialect, Piece, made, translated
from wfc.dialects.editing import OpenFile, StepUse, Suggestion
from wfc.dialects.steps import read_shape, read_workflow
from wfc.findings import Severity
from wfc.language.dialect import Language, Parsed, Report
from wfc.language.fields import ID, WORD, ListOf, Nested
from wfc.language.schema import shape_schema
from wfc.language.shape import Field, Shape
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence

_OUTPUT = re.compile(r"\((\w+)\)")


class Chore(Shape):
    """One chore."""

    label = "a chore"
    name = Field(ID, "Its name.", required=True, example="sweep")
    run = Field(WORD, "The command.", required=True, example="sweep --all")


class ChoresFile(Shape):
    """A list of chores."""

    label = "a list of chores"
    name = Field(ID, "The name of the list.", required=True, example="saturday")
    chores = Field(ListOf(Nested(lambda: Chore, "a chore"), "a list of chores"), "The chores.", required=True)


class ChoresLanguage(Language):
    step = "chore"
    on_failure = "Do the chore by hand."

    def severity(self, code: str, default: Severity) -> Severity | None:
        return {"WF501": Severity.INFO, "WF406": None}.get(code, default)

    def advice(self, code: str, help: str) -> str:
        return "ask an adult" if code == "WF501" else help

    def name_of(self, *path: object) -> str:
        return f"({path[1]})" if path[0] == "state" else super().name_of(*path)


class ChoresDialect(Dialect):
    name = "chores"

    def matches(self, root: Mapping) -> bool:
        return root.entry("chores") is not None

    def parse(self, root: Mapping) -> Parsed:
        file = read_shape(ChoresFile, root)
        chores = [chore for chore in file.chores or [] if chore.name and chore.run]
        names = {chore.name.text for chore in chores}
        reports = [
            Report(
                "WF202",
                chore.run.node.at(*found.span()),
                f"there is no chore `{found[1]}`",
                step=chore.name.text,
            )
            for chore in chores
            for found in _OUTPUT.finditer(chore.run.text)
            if found[1] not in names
        ]
        steps: list[Node] = [_step(chore, names) for chore in chores]
        at = file.span
        core = Mapping(
            root.span,
            [
                *(entry for entry in root.entries if entry.key.text == "name"),
                Entry(made("version", at), made("1.0", at)),
                Entry(made("steps", at), Sequence(at, steps)),
            ],
        )
        return Parsed(read_workflow(core), ChoresLanguage(), surface=file, reports=tuple(reports))

    def schema(self) -> dict[str, Any]:
        return {**shape_schema(ChoresFile), "definitions": {"Chore": shape_schema(Chore)}}

    def complete(self, file: OpenFile, text: str, offset: int) -> Iterable[Suggestion]:
        surface = file.parsed.surface if file.parsed else None
        chores = surface.chores or [] if isinstance(surface, ChoresFile) else []
        return [Suggestion(chore.name.text, "step") for chore in chores if text[offset - 1] == "("]

    def step_uses(self, parsed: Parsed, root: Node | None) -> Iterable[StepUse]:
        assert isinstance(parsed.surface, ChoresFile)
        for chore in parsed.surface.chores or []:
            yield StepUse(
                chore.name.text, chore.name.span, True, f"the chore `{chore.name.text}`", chore.run.text
            )
            for found in _OUTPUT.finditer(chore.run.text):
                yield StepUse(found[1], chore.run.node.at(*found.span(1)))


def _step(chore: Chore, names: set[str]) -> Mapping:
    at = chore.span
    found = [one for one in _OUTPUT.finditer(chore.run.text) if one[1] in names]
    read: list[Node] = [made(one[1], at) for one in found]
    return Mapping(
        chore.node.span,
        [
            Entry(made("id", at), chore.name.node),
            Entry(made("type", at), made("shell", at)),
            Entry(made("command", at), _command(chore.run.node, found)),
            Entry(made("output_to", at), made(chore.name.text, at)),
            Entry(made("needs_state", at), Sequence(at, read)),
        ],
    )


def _command(node: Scalar, found: list[re.Match[str]]) -> Scalar:
    pieces, at = [], 0
    for one in found:
        expression = f"state.{one[1]}.stdout"
        pieces.append(Piece(node.text[at : one.start()], at, one.start()))
        pieces += [Piece(text, *one.span()) for text in ("{{ ", expression, " }}")]
        at = one.end()
    pieces.append(Piece(node.text[at:], at, len(node.text)))
    return translated(node, [piece for piece in pieces if piece.text])
