"""The language that a file is written in, as the rest of the compiler sees it.

Every dialect is translated to the core AST, and checks look at that. `Language` gives them the words of the
file's author: the name of a step, the notation of a reference, the severity of a finding. A rule puts data into a
finding and asks the language for the words; it never asks which language it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from re import Pattern
from types import MappingProxyType
from typing import Any, Protocol

from wfc.findings import Fix, Note, Severity
from wfc.ir import Vertex
from wfc.language.ast import Workflow
from wfc.language.shape import Shape
from wfc.language.steps.base import Step
from wfc.struct import struct
from wfc.yaml import Entry, Span
from wfc.yaml import Mapping as MappingNode


@struct(frozen=True, slots=True)
class OldSpelling:
    """A repeated key of a mapping, of which one is an old spelling of another key."""

    kept: Entry
    renamed: Entry
    name: str
    """The current spelling of the renamed one."""


class InCommand(Protocol):
    """A finding, and the quotes around an untrusted value in a command; None if it is not about one."""

    @property
    def span(self) -> Span: ...
    @property
    def step(self) -> str | None: ...
    @property
    def quotes(self) -> str | None: ...


class Language:
    """The words and rules of one language. These are the core's; a dialect overrides those that differ."""

    step = "step"
    """The word for one unit of work."""
    deep_nesting = Severity.ERROR
    """The severity of steps that are nested deeper than the limit."""
    calls_elsewhere = False
    """Whether a called workflow may be in a folder that only the server knows."""
    on_failure = ""
    """The advice of a server after a step has failed a run; empty where the core's advice fits."""
    roots: Mapping[str, str] = MappingProxyType(
        {
            "state": "the state fields that `needs_state` lists",
            "inputs": "the inputs of the run",
        }
    )
    """The names that a reference can begin with everywhere, each with its documentation."""
    foreign_reference: Pattern[str] | None = None
    """References in the notation of another language, with the path as group 1. They are only text here."""

    def severity(self, code: str, default: Severity) -> Severity | None:
        """The severity of a finding, or None for a rule that does not apply to this language."""
        return default

    def advice(self, code: str, help: str) -> str:
        """The help of a finding. The rule's own may rely on means that this language does not have."""
        return help

    def fix_in_command(self, found: InCommand) -> Fix | None:
        """A fix for an untrusted value in a command, by the means of this language."""
        return None

    def name_of(self, *path: object) -> str:
        """A path that begins with `state`, `inputs` or a name such as `item`, as a reference writes it."""
        return ".".join(map(str, path))

    def hole(self, expression: str) -> str:
        """An expression embedded in text."""
        return f"{{{{ {expression} }}}}"

    def is_template(self, text: str) -> bool:
        """Whether a text has something in it that would be evaluated, if it were a value."""
        return "{{" in text or "{%" in text

    def key(self, name: str) -> str:
        """The key that a field of a step is written under."""
        return name

    def call(self, step: Step) -> str:
        """A step by its name, if it has one."""
        return f"`{step.name}`" if step.name else f"the {self.step}"

    def old_spelling(self, node: MappingNode) -> OldSpelling | None:
        """A repeated key that this language reads as another one."""
        return None


CORE = Language()


class NotRewrittenError(Exception):
    """Why a file can't be written in another notation of its language."""


@struct(frozen=True)
class Report:
    """A finding of the dialect itself, in the terms of its own language."""

    code: str
    span: Span
    message: str
    help: str = ""
    notes: tuple[Note, ...] = ()
    step: str | None = None
    severity: Severity | None = None
    """Set if it differs from the severity of the rule."""
    fix: Fix | None = None
    """An edit of the file itself."""


@struct(frozen=True)
class Shadowing:
    """A bare name that means a field of the file itself, at a place where results of called workflows have bare names
    too. Which fields these have is known only in the project."""

    name: str
    span: Span
    step: str
    called: tuple[str, ...]
    """The names of the called workflows."""


@struct(frozen=True)
class Parsed:
    """A file as its dialect reads it: the core AST, and what only the dialect knows about the text."""

    workflow: Workflow
    language: Language = CORE
    surface: Shape | None = None
    """The file as written, where that is not the core AST. Checks of form look at it."""
    reports: tuple[Report, ...] = ()
    booleans: frozenset[int] = frozenset()
    """The positions of words that the dialect reads as true or false although YAML 1.2 does not, such as `no`."""
    graph: dict[str, Vertex] | None = None
    """The steps by name, in a language where dependencies give their order. Pictures show it."""
    outline: dict[str, dict[str, Any]] | None = None
    """The phases by name, each with its number, name and the steps of its agents. Pictures show it."""
    shadowing: tuple[Shadowing, ...] = ()
    mentioned: frozenset[str] = frozenset()
    """Inputs that the file reads, even where the translation does not: in a condition that is always true."""
