"""A mission as written: the keys of each mapping, and the values they accept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from wfc.dialects.phases.scopes import PathScope, path_scope
from wfc.language.ast import INPUTS
from wfc.language.fields import (
    BOOLEAN,
    COUNT,
    ID,
    SECONDS,
    TEXT,
    WORD,
    FieldType,
    ListOf,
    MapOf,
    Mismatch,
    Nested,
    OneOf,
    Reader,
    ScalarType,
    kind_of,
)
from wfc.language.shape import BUDGET, Budget, Field, InputDecl, Shape, Validation
from wfc.language.steps.base import Retry
from wfc.language.values import Literal, Text, Tree, Word
from wfc.yaml import Mapping, Node, Scalar, Sequence
from wfc_runtime.scopes import is_path, scope_parts

RULES = ("all agents success", "any agent success", "all agents done")
"""The named conditions of `completion` on the reports of a phase. Other text is a goal for the agents."""
MODES = ("auto", "relay", "direct")
TIMEOUT = 3600
_TEMPLATE = re.compile(r"\{\{.*?\}\}")
_TEMPLATE_OR_SECTION = re.compile(r"\{\{.*?\}\}|#")


class TextsType(FieldType["list[Text]"]):
    """A text, or a list of texts."""

    words = "text, or a list of texts"

    def read(self, node: Node, reader: Reader) -> list[Text] | None:
        nodes = node.items if isinstance(node, Sequence) else [node]
        return [Text(one) for one in nodes if isinstance(one, Scalar) and isinstance(one.value, str)]

    def mismatches(self, node: Node) -> list[Mismatch]:
        nodes = node.items if isinstance(node, Sequence) else [node]
        return [bad for one in nodes for bad in TEXT.mismatches(one)]

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


TEXTS = TextsType()


class ScopeLimits(Shape):
    """The inclusions and exclusions of a scope."""

    label = "a scope"

    include = Field(TEXTS, "The paths or topics that belong to it.", example=["src/", "tests/"])
    exclude = Field(TEXTS, "What does not.", example=["src/vendor/"])


class ScopeType(FieldType["list[Text] | ScopeLimits"]):
    words = "text, a list, or `{include, exclude}`"

    def read(self, node: Node, reader: Reader) -> list[Text] | ScopeLimits | None:
        if isinstance(node, Mapping):
            found: ScopeLimits = reader.shape(ScopeLimits, node)
            return found
        return TEXTS.read(node, reader)

    def mismatches(self, node: Node) -> list[Mismatch]:
        return [] if isinstance(node, Mapping) else TEXTS.mismatches(node)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [TEXTS.schema(), {"$ref": "#/definitions/ScopeLimits"}]}


def is_file(text: str) -> bool:
    """Whether an entry of `outputs` is a file or a pattern, perhaps with `#section` behind it. A template in it stands
    for a part of a name."""
    return is_path(_TEMPLATE.sub("x", without_section(text)))


def without_section(text: str) -> str:
    """An entry of `outputs` without `#section`. A `#` in a template is part of its expression."""
    marks = (found.start() for found in _TEMPLATE_OR_SECTION.finditer(text) if found[0] == "#")
    return text[: next(marks, len(text))]


def scope_entries(scope: list[Text] | ScopeLimits | None) -> Iterator[tuple[str, Text]]:
    """Each entry of a scope with the text that it is in; what is excluded begins with `!`."""
    if isinstance(scope, ScopeLimits):
        yield from scope_entries(scope.include)
        yield from ((f"!{entry.removeprefix('!')}", text) for entry, text in scope_entries(scope.exclude))
        return
    alone = len(scope or []) == 1
    for text in scope or []:
        for entry in scope_parts(text.node.text) if alone else [text.node.text.strip()]:
            yield entry, text


def paths_of(scope: list[Text] | ScopeLimits | None) -> PathScope | None:
    return path_scope([entry for entry, _ in scope_entries(scope)])


class RequiresType(FieldType["list[Literal | Word]"]):
    words = "the number or the id of a phase, or a list of them"

    def read(self, node: Node, reader: Reader) -> list[Literal | Word] | None:
        nodes = node.items if isinstance(node, Sequence) else [node]
        found: list[Literal | Word] = []
        for one in nodes:
            if isinstance(one, Scalar) and not self._bad(one):
                found.append(Literal(one) if isinstance(one.value, int) else Word(one))
        return found

    def mismatches(self, node: Node) -> list[Mismatch]:
        nodes = node.items if isinstance(node, Sequence) else [node]
        return [
            Mismatch(one.span, f"expected {self.words}, found {kind_of(one)}")
            for one in nodes
            if not isinstance(one, Scalar) or self._bad(one)
        ]

    @staticmethod
    def _bad(node: Scalar) -> bool:
        return isinstance(node.value, bool) or not isinstance(node.value, int | str)

    def schema(self) -> dict[str, Any]:
        one = {"type": ["integer", "string"]}
        return {"anyOf": [one, {"type": "array", "items": one}]}


class CompletionType(FieldType["Tree"]):
    words = "text, a list of criteria, or a mapping of criteria to their meanings"

    def read(self, node: Node, reader: Reader) -> Tree | None:
        return None if self.mismatches(node) else Tree(node)

    def mismatches(self, node: Node) -> list[Mismatch]:
        match node:
            case Sequence():
                return [bad for one in node.items for bad in TEXT.mismatches(one)]
            case Mapping():
                return [bad for one in node.entries for bad in _DESCRIPTION.mismatches(one.value)]
        return (
            []
            if not TEXT.mismatches(node)
            else [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}")]
        )

    def schema(self) -> dict[str, Any]:
        return {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}},
                {"type": "object", "additionalProperties": {"type": ["string", "boolean", "number", "null"]}},
            ]
        }


_DESCRIPTION: FieldType[Word] = ScalarType("text", lambda node: True, Word, {})


class RetryType(FieldType["Literal | Retry"]):
    words = "the number of further rounds, or a mapping with `max_attempts`"

    def read(self, node: Node, reader: Reader) -> Literal | Retry | None:
        if isinstance(node, Mapping):
            found: Retry = reader.shape(Retry, node)
            return found
        return COUNT.read(node, reader)

    def mismatches(self, node: Node) -> list[Mismatch]:
        if isinstance(node, Mapping) or not COUNT.mismatches(node):
            return []
        return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}")]

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [COUNT.schema(), {"$ref": "#/definitions/Retry"}]}


class GitProof(Shape):
    """How changes outside an agent's scope count."""

    label = "`proof`"

    git = Field(
        OneOf(("strict",)),
        "`strict`: a change outside the scopes makes a phase fall short.",
        required=True,
        example="strict",
    )


class ProofType(FieldType["Word | GitProof"]):
    words = "`auto`, `git`, `none` or `{git: strict}`"
    _plain = OneOf(("auto", "git", "none"))

    def read(self, node: Node, reader: Reader) -> Word | GitProof | None:
        if isinstance(node, Mapping):
            found: GitProof = reader.shape(GitProof, node)
            return found
        return self._plain.read(node, reader)

    def mismatches(self, node: Node) -> list[Mismatch]:
        if isinstance(node, Mapping) or not self._plain.mismatches(node):
            return []
        return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}")]

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self._plain.schema(), {"$ref": "#/definitions/GitProof"}]}


class Role(Shape):
    """The defaults for all agents of a role; a phase can override them."""

    label = "a role"

    subagent_type = Field(WORD, "The client's agent that plays the role.", example="general-purpose")
    scope = Field(ScopeType(), "Its scope: paths and patterns, or words.", example=["src/api/"])
    prompt = Field(TEXT, "Its brief. By default the body of its agent file, or made from the phase.")
    outputs = Field(TEXTS, "The files that it writes, or what it promises.", example=["docs/design.md"])
    tools = Field(ListOf(WORD, "a list of tools"), "The tools that it has.", example=["Read", "Write"])
    timeout = Field(SECONDS, "The time limit in seconds; by default that of the phase.")

    @property
    def files(self) -> list[Text]:
        return [one for one in self.outputs or [] if is_file(one.node.text)]

    @property
    def paths(self) -> PathScope | None:
        return paths_of(self.scope)


class Agent(Role):
    """One agent of a phase."""

    label = "an agent"

    type = Field(
        WORD, "The role: an agent of the project, unless there is a `subagent_type`.", example="reviewer"
    )
    ONE_OF = ("type", "subagent_type")


class Phase(Shape):
    """One phase: its agents, what they must deliver, and whether a person approves it."""

    label = "a phase"

    id = Field(ID, "Its name, unique in the mission; by default `phase-<number>`.", example="design")
    number = Field(COUNT, "Its place in the order; unique.", required=True, example=1)
    name = Field(WORD, "Its title; by default the id.", example="Design")
    description = Field(TEXT, "The purpose of the phase; part of every brief.")
    requires = Field(
        RequiresType(), "The phases whose success it needs and whose reports its agents get.", example=1
    )
    agents = Field(
        ListOf(Nested(lambda: Agent, "an agent (a mapping with `type`)"), "a list of agents"),
        "The agents. A phase without agents is a gate and needs a `checkpoint`.",
    )
    parallel = Field(
        BOOLEAN,
        "Whether the agents work at the same time.",
        default=False,
    )
    outputs = Field(
        TEXTS,
        "Files or patterns, which must exist before the phase can end; other text is shown to the agents.",
        example=["docs/design.md"],
    )
    completion = Field(
        CompletionType(),
        "When the phase is done: `all agents success` (the default), `any agent success`, `all agents done`; a goal "
        "in words; or criteria, for each of which every report needs evidence.",
    )
    checkpoint = Field(
        OneOf(("human",)), "`human`: a person approves the phase, asks for changes, or stops the run."
    )
    retry = Field(
        RetryType(), "How often agents that fell short work again before a person is asked.", example=1
    )
    on_error = Field(
        OneOf(("ask", "continue")),
        "The reaction if the phase falls short: `ask` the person, or `continue` without the phases that require it.",
        default="ask",
    )
    timeout = Field(SECONDS, "The time limit of each agent in seconds.", default=TIMEOUT)

    @property
    def files(self) -> list[Text]:
        return [one for one in self.outputs or [] if is_file(one.node.text)]

    @property
    def is_parallel(self) -> bool:
        return bool(self.setting("parallel"))


class PhasesFile(Shape):
    """A whole mission."""

    label = "a mission"
    agent_names: tuple[str, ...] = ()
    """The agents that the mission can use, for editors."""

    name = Field(ID, "The workflow's name, unique in the project.", required=True, example="new-feature")
    version = Field(WORD, "Its version, as text.", default="1.0")
    description = Field(WORD, "Its purpose.")
    budget = Field(BUDGET, "The budget of a run.", example={"usd": 5, "steps": 40})
    inputs = Field(INPUTS, "The inputs of a run, by name.")
    objective = Field(TEXT, "The goal of the mission; part of every brief.")
    scope = Field(ScopeType(), "The scope of the mission: text, a list, or `{include, exclude}`.")
    constraints = Field(TEXTS, "Rules for all agents.")
    success_criteria = Field(TEXTS, "How one knows that the mission has succeeded.")
    profile = Field(OneOf(("simple", "standard", "complex")), "The size of the mission. It has no effect.")
    mcp = Field(
        OneOf(MODES),
        "Who submits reports: the orchestrator (`auto`, and `relay` if sub-agents have no tools of wfc), or each "
        "sub-agent (`direct`).",
        default="auto",
    )
    proof = Field(
        ProofType(),
        "Whether git shows what changed: `auto` where the server may run git, `git` always, `none`, or "
        "`{git: strict}`.",
        default="auto",
    )
    agents = Field(
        MapOf(Nested(lambda: Role, "a role (a mapping)"), "a mapping of roles to their settings"),
        "Settings of roles, by role.",
    )
    phases = Field(
        ListOf(Nested(lambda: Phase, "a phase (a mapping with `number`)"), "a list of phases", least=1),
        "The phases. Their numbers give the order.",
        required=True,
    )


NESTED: tuple[type[Shape], ...] = (
    Budget,
    Agent,
    GitProof,
    Phase,
    Role,
    ScopeLimits,
    InputDecl,
    Validation,
    Retry,
)
"""The mappings inside a file, for its schema."""
