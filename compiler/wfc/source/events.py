"""The stream of YAML events: libyaml's where it is installed, PyYAML's own parser elsewhere.

Only the event stream is used. Composing in C crashes on deep nesting, and resolves scalars as YAML 1.1.
"""

from __future__ import annotations

from collections.abc import Callable

from yaml.events import Event, ScalarEvent
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

EventStream = Callable[[], Event | None]
"""Gives the next event, or None after the last."""


class PythonParser(Reader, Scanner, Parser):
    """PyYAML's parser without a resolver or constructor."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


def open_with_python(text: str) -> EventStream:
    """PyYAML's parser, made as strict as libyaml about escapes: half of a surrogate pair is no character."""
    stream: EventStream = PythonParser(text).get_event

    def next_event() -> Event | None:
        event = stream()
        if isinstance(event, ScalarEvent):
            event.value.encode("utf-8")
        return event

    return next_event


try:
    from yaml.cyaml import CBaseLoader
except ImportError:
    open_events = open_with_python
else:

    def open_events(text: str) -> EventStream:
        return CBaseLoader(text).get_event
