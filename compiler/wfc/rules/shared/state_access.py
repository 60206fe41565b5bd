"""Which state fields each step lists and reads, and what is wrong with that, told apart once for all rules.

One mistake is to be one finding. A field that is there can be missing from the list (WF301) or not read
(WF302). A name that the scope has no field for belongs to another scope (WF312) or to none (WF303), and
explains what is missing or not read on account of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from wfc.caching import cached_per_file
from wfc.language.steps.base import Step, UnknownStep
from wfc.language.values import Text, Word, state_use
from wfc.project import SourceFile
from wfc.rules.shared.scope_fields import ScopeFields
from wfc.struct import struct
from wfc.template import Read
from wfc.yaml import Sequence, Span


@struct(frozen=True)
class FieldRead:
    """A place in a template that reads a field."""

    text: Text
    read: Read

    @property
    def span(self) -> Span:
        """The field's name."""
        return self.text.at(self.read.path[0].start, self.read.path[0].end)


@struct(frozen=True)
class Stranger:
    """A name that is no field of the step's scope, with every place where the step uses it."""

    name: str
    listed: list[Word]
    reads: list[FieldRead]
    owner: ScopeFields | None
    """Another scope that has such a field."""
    meant: str | None
    """The field of this scope that it is most like."""

    @property
    def span(self) -> Span:
        return (self.listed or self.reads)[0].span


@struct
class StepAccess:
    """What one step gets wrong."""

    step: Step
    fields: ScopeFields
    missing: dict[str, FieldRead] = field(default_factory=dict)
    """Fields that are read and not listed, each where it is read first."""
    unused: list[Word] = field(default_factory=list)
    """Entries of `needs_state` that no template of the step reads."""
    repeated: list[Word] = field(default_factory=list)
    """Entries of `needs_state` that stand in it already."""
    strangers: list[Stranger] = field(default_factory=list)


@cached_per_file(8)
def state_access(unit: SourceFile) -> list[StepAccess]:
    """How every step of a file treats the state, in source order."""
    scopes = [ScopeFields(scope) for scope in unit.scopes]
    steps = [(step, fields) for fields in scopes for step in fields.scope.walk()]
    return [_judge(step, fields, scopes) for step, fields in steps if not isinstance(step, UnknownStep)]


def _judge(step: Step, fields: ScopeFields, scopes: list[ScopeFields]) -> StepAccess:
    reads: dict[str, list[FieldRead]] = {}
    for found in _reads(step):
        reads.setdefault(str(found.read.path[0].name), []).append(found)
    listed: dict[str, list[Word]] = {}
    for word in step.declared:
        listed.setdefault(word.text, []).append(word)
    access = StepAccess(step, fields)
    strange = [name for name in {**listed, **reads} if name not in fields] if fields.is_complete else []
    for name in strange:
        owner = next((other for other in scopes if name in other), None)
        is_elsewhere = owner is not None or name in fields.scope.declared_inputs
        meant = None if is_elsewhere else fields.nearest.to(name)
        access.strangers.append(Stranger(name, listed.get(name, []), reads.get(name, []), owner, meant))
    explained = {*strange, *(stranger.meant for stranger in access.strangers)}
    # A list that is not one is WF006's: until it is mended, nothing can be missing from it.
    if "needs_state" in step.values or isinstance(step.node.get("needs_state"), Sequence | None):
        known = {*listed, *explained}
        access.missing = {name: found[0] for name, found in reads.items() if name not in known}
    if listed:
        _sort_out(access, listed, used={*listed} if _sees_all(step) else {*reads, *explained})
    return access


def _sort_out(access: StepAccess, listed: dict[str, list[Word]], used: set[str | None]) -> None:
    for name, words in listed.items():
        if name in used:
            access.repeated += words[1:]
        else:
            access.unused += words


def _reads(step: Step) -> Iterator[FieldRead]:
    for text in step.texts():
        if not text.template.is_literal:
            for reads in state_use(text.template).fields.values():
                yield from (FieldRead(text, read) for read in reads)


def _sees_all(step: Step) -> bool:
    """Whether some template may look at any field: at the whole state, or in a way that can't be made out."""
    templates = [text.template for text in step.texts()]
    return any(template.error is not None or state_use(template).whole for template in templates)
