"""Events to nodes, one event at a time and without recursion, counting what aliases would expand to."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from yaml import events

from wfc.source.core_schema import MAX_DIGITS, is_overlong_integer, resolve
from wfc.source.extents import end_of_block, extent_of, find_tag, place_of_nothing, skip_properties
from wfc.source.frames import Anchored, Frame
from wfc.source.limits import MAX_PROBLEMS, YamlLimits
from wfc.source.merge import lost_alias, to_entries
from wfc.source.nodes import Mapping, Node, Problem, Scalar, ScalarValue, Sequence
from wfc.source.templates import BareTemplateError
from wfc.source.text import Source, Span
from wfc.source.wording import excerpt


class ReadingEndedError(Exception):
    """Reading ends here; the last problem says why."""


class TreeBuilder:
    """Give every event to its handler in `handlers`; then `root` and `problems` are the result."""

    def __init__(self, source: Source, limits: YamlLimits, templates: list[int]) -> None:
        self.problems: list[Problem] = []
        self.failed = False
        self.end = 0
        """Where the last content ended."""
        self.last: Scalar | None = None
        self.source = source
        self._text = source.text
        self._limits = limits
        self._most = limits.max_nodes
        self._templates = templates
        self._count = 0
        self._documents = 0
        self._frame = Frame(0, None, False, False, 0)
        self._frames = [self._frame]
        self._anchors: dict[str, Anchored | Frame] = {}
        # Any: the handler of a type takes exactly that type, which a dict cannot say.
        self.handlers: dict[type[events.Event], Callable[[Any], None]] = {
            events.ScalarEvent: self._scalar,
            events.AliasEvent: self._alias,
            events.SequenceStartEvent: self._start,
            events.MappingStartEvent: self._start,
            events.SequenceEndEvent: self._close,
            events.MappingEndEvent: self._close,
            events.DocumentStartEvent: self._document,
            events.DocumentEndEvent: _ignore,
            events.StreamStartEvent: _ignore,
            events.StreamEndEvent: _ignore,
        }

    @property
    def root(self) -> Node | None:
        items = self._frames[0].items
        return items[0] if items and not self.failed else None

    @property
    def bracket(self) -> int | None:
        """Where the innermost open bracket is."""
        return next((frame.start for frame in reversed(self._frames) if frame.in_brackets), None)

    def _document(self, event: events.DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            start, end = extent_of(event)
            message = "a second document starts here, and a file holds one workflow"
            self._report("syntax", message, start, end, help="move what follows to a file of its own")
            raise ReadingEndedError

    def _scalar(self, event: events.ScalarEvent) -> None:
        start, end = extent_of(event)
        text = event.value
        style = event.style or ""
        anchor = event.anchor
        if anchor is not None or event.tag is not None:
            start = self._skip_properties(event, start, end)
        elif start == end:
            start = end = place_of_nothing(self._text, start, self.end)
        value: ScalarValue = text
        if not style:
            value = resolve(text)
            if len(text) > MAX_DIGITS:
                self._check_number(text, start, end)
            if self._templates and self._holds_template(start, end):
                value = text = self._text[start:end]
        elif style in "|>":
            end = end_of_block(self._text, start, end)
        node = self.last = Scalar(Span(self.source, start, end), text, value, style)
        # What `_add` does, without a call: two thirds of all nodes come here.
        self._count += 1
        if self._count > self._most:
            self._refuse_more(1, start, end)
        self._frame.items.append(node)
        self.end = end
        if anchor is not None:
            self._anchors[anchor] = Anchored(node, 1, 0)

    def _alias(self, event: events.AliasEvent) -> None:
        start, end = extent_of(event)
        name = event.anchor or ""
        target = self._anchors.get(name)
        if not isinstance(target, Anchored):
            return self._refuse_alias(name, target, start, end)
        node, frame = target.node, self._frame
        height = frame.add_height(node, target.height)
        self._check_depth(len(self._frames) - 1 + height, start, end)
        if frame.expects_key and not isinstance(node, Scalar):
            # It will be refused as a key: here, rather than where its anchor is.
            node = Sequence(Span(self.source, start, end))
        return self._add(node, target.size, start, end)

    def _refuse_alias(self, name: str, target: Frame | None, start: int, end: int) -> None:
        if target is None:
            message = f"there is no anchor '&{excerpt(name)}' before this alias"
            help = "quote the value if the '*' is part of a text"
        else:
            message = f"the alias '*{excerpt(name)}' stands inside what it refers to"
            help = "remove it: a value cannot contain itself"
        self._report("syntax", message, start, end, help)
        self._add(lost_alias(name, self.source.span(start, end)), 1, start, end)

    def _start(self, event: events.CollectionStartEvent) -> None:
        start, end = extent_of(event)
        if event.anchor is not None or event.tag is not None:
            start = self._skip_properties(event, start, end)
        if self._text.startswith("{{", start) and start not in self._templates:
            raise BareTemplateError(start, self.bracket is not None)
        self._check_depth(len(self._frames), start, start + 1)
        is_mapping = type(event) is events.MappingStartEvent
        in_brackets = self._text.startswith(("[", "{"), start) and event.flow_style is True
        frame = Frame(start, event.anchor, in_brackets, is_mapping, self._count)
        if event.anchor is not None:
            self._anchors[event.anchor] = frame
        self._frames.append(frame)
        self._frame = frame
        self.end = start

    def _close(self, event: events.CollectionEndEvent) -> None:
        frame = self._frames.pop()
        start, end = extent_of(event)
        if start == end:  # no bracket: a block ends where its content does, not where the next line begins
            end = self.end
        span = Span(self.source, frame.start, end)
        node: Node
        if frame.is_mapping:
            node = Mapping(span, to_entries(frame.items, self.problems))
        else:
            node = Sequence(span, frame.items)
        height = frame.height + 1
        self._frame = self._frames[-1]
        self._frame.add_height(node, height)
        self._add(node, 1, frame.start, end)
        if frame.anchor is not None and self._anchors[frame.anchor] is frame:
            self._anchors[frame.anchor] = Anchored(node, self._count - frame.before, height)

    def _add(self, node: Node, size: int, start: int, end: int) -> None:
        self._count += size
        if self._count > self._most:
            self._refuse_more(size, start, end)
        self._frame.items.append(node)
        self.end = end

    def _refuse_more(self, size: int, start: int, end: int) -> None:
        message = f"more than {self._most:,} values in one file"
        if size > 1:
            message += ", aliases expanded"
        self._fail(message, start, end, "split the file, or use fewer aliases", "yaml_nodes")

    def _check_depth(self, depth: int, start: int, end: int) -> None:
        if depth > self._limits.max_depth:
            message = f"lists and mappings are nested more than {self._limits.max_depth} levels deep"
            self._fail(message, start, end, "move the inner parts to tasks of their own", "yaml_depth")

    def _holds_template(self, start: int, end: int) -> bool:
        number = bisect_left(self._templates, start)
        return number < len(self._templates) and self._templates[number] < end

    def _check_number(self, text: str, start: int, end: int) -> None:
        if is_overlong_integer(text):
            message = f"a number of {len(text):,} digits is too long: at most {MAX_DIGITS:,} are allowed"
            self._report("limit", message, start, end, help="quote it if it is a text")

    def _skip_properties(self, event: Any, start: int, end: int) -> int:
        if event.tag is not None:
            tag_start, tag_end = find_tag(self._text, start, end)
            message = f"tags are not supported: '{excerpt(self._text[tag_start:tag_end])}'"
            self._report(
                "syntax", message, tag_start, tag_end, help="remove it; quote a value to make it text"
            )
        return skip_properties(self._text, start, end)

    def _report(self, kind: str, message: str, start: int, end: int, help: str, setting: str = "") -> None:
        self.problems.append(Problem(kind, message, self.source.span(start, end), help, setting=setting))
        if len(self.problems) >= MAX_PROBLEMS:
            self.failed = True
            raise ReadingEndedError

    def _fail(self, message: str, start: int, end: int, help: str, setting: str) -> None:
        self.failed = True
        self._report("limit", message, start, end, help, setting)
        raise ReadingEndedError


def _ignore(event: events.Event) -> None:
    pass
