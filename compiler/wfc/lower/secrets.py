"""Which state fields are secrets: those that are marked, and those computed from a secret."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.ast import Scope
from wfc.language.shape import InputDecl
from wfc.language.steps.base import Keeping
from wfc.language.steps.set_state import SetState
from wfc.language.values import Text
from wfc.template import Read


def secret_fields(scope: Scope) -> tuple[str, ...]:
    """In the order in which they were found out."""
    inputs = {name: decl for name, decl in scope.declared_inputs.items() if decl.holds_secret()}
    found: dict[str, None] = {}
    for step in scope.walk():
        if isinstance(step, Keeping) and step.secret and step.secret.value:
            found.update(dict.fromkeys(step.writes()))
    if not inputs and not found:
        return ()
    updates = [update for step in scope.walk() if isinstance(step, SetState) for update in _updates(step)]
    # A field may be computed from one that is computed further down, and so on: until nothing is new.
    while new := [name for name, texts in updates if name not in found and _reads(texts, inputs, found)]:
        found.update(dict.fromkeys(new))
    return tuple(found)


def _updates(step: SetState) -> Iterator[tuple[str, list[Text]]]:
    """What a step writes, each with what it is computed from."""
    everything: list[Text] = []
    for name, tree in (step.updates or {}).items():
        everything += tree.texts
        yield name, tree.texts
    if step.output_to:
        yield step.output_to.text, everything


def _reads(texts: list[Text], inputs: dict[str, InputDecl], fields: dict[str, None]) -> bool:
    return any(_is_secret(read, inputs, fields) for text in texts for read in text.template.reads)


def _is_secret(read: Read, inputs: dict[str, InputDecl], fields: dict[str, None]) -> bool:
    first, *rest = [part.name for part in read.path] or [None]
    if read.root not in ("inputs", "state"):
        # A bare name is an earlier key of the same updates.
        return read.root in fields
    known = inputs if read.root == "inputs" else fields
    if not isinstance(first, str):
        return bool(known)
    return first in known and (read.root == "state" or inputs[first].holds_secret(*rest))
