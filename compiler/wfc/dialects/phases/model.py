"""A mission after reading: phases in order, each with its agents, the names of its steps and its state fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from wfc.caching import cached_property
from wfc.dialects.phases.agents import Agents, with_role
from wfc.dialects.phases.file import RULES, Agent, GitProof, Phase, PhasesFile
from wfc.dialects.phases.markdown import slug
from wfc.dialects.phases.scopes import PathScope
from wfc.language.steps.base import Retry
from wfc.language.values import Literal, Text, Word
from wfc.struct import struct
from wfc.yaml import Mapping, Scalar, Sequence, Span

_NOT_NAME = re.compile(r"[^A-Za-z0-9_]")


class Names:
    """Unique names: ids of steps, in which `-` and `_` count as the same, and state fields."""

    def __init__(self) -> None:
        self._steps: set[str] = set()
        self._fields: set[str] = set()

    def step(self, name: str) -> str:
        return self._free(name, self._steps, "-", lambda one: one.replace("-", "_"))

    def field(self, name: str) -> str:
        made = _NOT_NAME.sub("_", name)
        return self._free(made if made[:1].isalpha() else f"phase_{made}", self._fields, "_", str)

    @staticmethod
    def _free(name: str, taken: set[str], joint: str, key: Callable[[str], str]) -> str:
        made, number = name, 1
        while key(made) in taken:
            number += 1
            made = f"{name}{joint}{number}"
        taken.add(key(made))
        return made


@struct(eq=False)
class Member:
    """An agent of a phase."""

    agent: Agent
    role: str
    """Its key among the agents of the phase: the role, with a number if it occurs more than once."""
    label: str
    """The role as written."""
    sort: str | None
    """The client's agent that does the work; None for an agent of the settings."""
    body: str
    """The body of its agent file."""
    can_write: bool
    step: str = ""
    report: str = ""
    """The state field of its report."""

    @property
    def span(self) -> Span:
        return self.agent.span

    @property
    def paths(self) -> PathScope | None:
        return self.agent.paths


@struct(eq=False)
class PhaseNode:
    shape: Phase
    id: str
    number: int
    title: str
    members: list[Member]
    requires: list[PhaseNode] = field(default_factory=list)

    @property
    def span(self) -> Span:
        return self.shape.span

    @property
    def is_parallel(self) -> bool:
        return self.shape.is_parallel and len(self.members) > 1

    @property
    def is_lenient(self) -> bool:
        """Whether the run continues if it falls short, without asking anybody."""
        return bool(self.members) and self.shape.setting("on_error") == "continue"

    @property
    def has_checkpoint(self) -> bool:
        return self.shape.checkpoint is not None or not self.members

    @cached_property
    def may_miss(self) -> bool:
        """Whether it may end without success: it can fail, or be skipped."""
        return self.is_lenient or any(one.may_miss for one in self.requires)

    @property
    def rounds(self) -> int:
        """How often agents that fell short work again before a person is asked."""
        retry = self.shape.retry
        if isinstance(retry, Retry):
            # `max_attempts` counts the first attempt as well; a bare number counts only the further ones.
            return max(int(retry.max_attempts.value) - 1, 0) if retry.max_attempts else 0
        return int(retry.value) if isinstance(retry, Literal) else 0

    @property
    def rule(self) -> str:
        words = " ".join(self.goal.split()).lower()
        return words if words in RULES else RULES[0]

    @property
    def goal(self) -> str:
        node = self.shape.completion.node if self.shape.completion else None
        return node.text if isinstance(node, Scalar) else ""

    @property
    def criteria(self) -> list[tuple[Scalar, Scalar | None]]:
        """The criteria that every report must give evidence for, each with its explanation."""
        match self.shape.completion.node if self.shape.completion else None:
            case Sequence(items=items):
                return [(one, None) for one in items if isinstance(one, Scalar)]
            case Mapping(entries=entries):
                return [
                    (
                        one.key,
                        one.value
                        if isinstance(one.value, Scalar) and isinstance(one.value.value, str)
                        else None,
                    )
                    for one in entries
                ]
        return []

    @property
    def files(self) -> list[Text]:
        """The files that must exist at its end."""
        return [*self.shape.files, *(one for member in self.members for one in member.agent.files)]

    def upstream(self) -> Iterator[PhaseNode]:
        """The phases that it requires, directly or not."""
        for one in self.requires:
            yield one
            yield from one.upstream()


@struct(eq=False)
class Mission:
    file: PhasesFile
    phases: list[PhaseNode]
    """In the order of their numbers."""
    known: Agents
    folder: str
    """The folder of the mission, relative to the project; empty if it does not have one."""

    @property
    def mode(self) -> str:
        return str(self.file.setting("mcp"))

    @property
    def proof(self) -> str:
        """`auto`, `git`, `strict` or `none`."""
        proof = self.file.proof
        return "strict" if isinstance(proof, GitProof) else proof.text if proof else "auto"


def members_of(phase: Phase, file: PhasesFile, known: Agents) -> list[Member]:
    found: list[Member] = []
    count: dict[str, int] = {}
    for written in phase.agents or []:
        agent = with_role(written, file.agents or {})
        label = agent.type.text if agent.type else agent.subagent_type.text if agent.subagent_type else ""
        if not label:
            continue
        key = slug(label) or "agent"
        count[key] = count.get(key, 0) + 1
        role = key if count[key] == 1 else f"{key}-{count[key]}"
        sort = agent.subagent_type.text if agent.subagent_type else None
        tools = [one.text for one in agent.tools] if agent.tools is not None else None
        can_write = known.can_write(sort or label, tools)
        # A role of the settings takes precedence over an agent of the client with the same name.
        if sort is None and label not in known.roles:
            sort = known.client_agent(label)
        found.append(Member(agent, role, label, sort, known.body(label), can_write))
    return found


def find_required(
    phase: Phase, others: Iterable[PhaseNode]
) -> Iterator[tuple[Literal | Word, PhaseNode | None]]:
    """Each phase that `requires` names, and the phase of that number or id."""
    by_name: dict[object, PhaseNode] = {}
    for one in others:
        # If two phases share a number or an id, which another check reports, the first one counts.
        by_name.setdefault(one.number, one)
        by_name.setdefault(one.id, one)
    for word in phase.requires or []:
        key = word.value if isinstance(word, Literal) else word.text
        # A quoted number is an id if a phase has that id, and otherwise a number.
        if isinstance(key, str) and key not in by_name and key.isdecimal():
            key = int(key)
        yield word, by_name.get(key)
