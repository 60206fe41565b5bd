"""What a test file says, with places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wfc.answers import Script
from wfc.yaml import Span


@dataclass(frozen=True)
class Expected:
    """A value that something must be."""

    value: Any
    span: Span


@dataclass(frozen=True)
class ExpectedAction:
    """What one asked action must look like."""

    step: str
    span: Span
    value: Any = None
    """Text, a mapping, or None for anything."""


@dataclass(frozen=True)
class Expectation:
    result: Expected | None = None
    state: dict[str, Expected] = field(default_factory=dict)
    failure: Expected | None = None
    in_order: list[ExpectedAction] | None = None
    """All actions of the run."""
    by_step: dict[str, list[ExpectedAction] | ExpectedAction] = field(default_factory=dict)
    """A list: one per visit, and no other. One alone: every visit."""
    spans: dict[str, Span] = field(default_factory=dict)
    """Where the keys of `by_step`, and `actions` itself, stand."""


@dataclass(frozen=True)
class Case:
    name: str
    span: Span
    inputs: dict[str, Any]
    scripts: dict[str, Script]
    own: frozenset[str]
    """The keys of `scripts` that are the case's own: all of them must be used."""
    expect: Expectation
    now: float


@dataclass(frozen=True)
class TestFile:
    workflow: Expected | None
    """As the file names it; None: the one that the file is named after."""
    cases: list[Case]

    __test__ = False
    """For pytest, which takes everything called Test for one of its own."""
