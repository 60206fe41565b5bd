"""Parse YAML text into nodes: one event at a time, without recursion, counting aliases as what they expand to.

Input is untrusted, so depth and size are limited while the tree is built: deep nesting would overflow the stack, and a
few nested aliases expand to billions of nodes ("billion laughs").
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import Any

from yaml import YAMLError, events
from yaml.events import Event, ScalarEvent
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from wfc.struct import struct
from wfc.yaml.explain import (
    BareTemplateError,
    Failure,
    excerpt,
    explain,
    find_bare_template,
    mask,
    span_of,
    to_problem,
)
from wfc.yaml.nodes import (
    MAX_DIGITS,
    Document,
    Entry,
    Mapping,
    Node,
    Problem,
    Scalar,
    ScalarValue,
    Sequence,
    is_overlong_integer,
    resolve_plain,
)
from wfc.yaml.reader import find_forbidden_characters
from wfc.yaml.source import (
    MAX_PROBLEMS,
    Source,
    Span,
    YamlLimits,
    end_of_block,
    extent_of,
    find_tag,
    place_of_nothing,
    skip_properties,
)

# Only the event stream is used. Composing in C crashes on deep nesting, and resolves scalars as YAML 1.1.

EventStream = Callable[[], Event | None]
"""Returns the next event, or None after the last one."""


class PythonParser(Reader, Scanner, Parser):
    """PyYAML's parser without a resolver or constructor."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


def open_with_python(text: str) -> EventStream:
    """PyYAML's parser, as strict about escapes as libyaml: half of a surrogate pair is not a character."""
    stream: EventStream = PythonParser(text).get_event

    def next_event() -> Event | None:
        event = stream()
        if isinstance(event, ScalarEvent):
            # Raises for half of a surrogate pair, as libyaml does.
            event.value.encode("utf-8")
        return event

    return next_event


try:
    from yaml.cyaml import CBaseLoader
except ImportError:
    # PyYAML without its C part is several times slower, but reads the same; `wfc doctor` reports it.
    open_events = open_with_python
else:

    def open_events(text: str) -> EventStream:
        return CBaseLoader(text).get_event


# State of open collections and of anchors.


class Frame:
    """A list or mapping that is still open."""

    __slots__ = ("anchor", "before", "height", "in_brackets", "is_mapping", "items", "start")

    def __init__(
        self, start: int, anchor: str | None, in_brackets: bool, is_mapping: bool, before: int
    ) -> None:
        self.start = start
        self.anchor = anchor
        self.in_brackets = in_brackets
        self.is_mapping = is_mapping
        self.before = before
        """The number of nodes when it was opened."""
        self.height = 0
        """The number of levels of lists and mappings below it."""
        self.items: list[Node] = []
        """Its children; in a mapping, keys and values alternate."""

    @property
    def expects_key(self) -> bool:
        return self.is_mapping and len(self.items) % 2 == 0

    @property
    def is_merging(self) -> bool:
        """Whether the next child is the value of a `<<`."""
        if not self.is_mapping or len(self.items) % 2 == 0:
            return False
        key = self.items[-1]
        # A quoted "<<" is an ordinary key.
        return isinstance(key, Scalar) and key.text == "<<" and not key.style

    def add_height(self, child: Node, height: int) -> int:
        """Count the levels of a child before it is added. Levels that a merge dissolves do not count."""
        if height and self.is_merging:
            # The merged mapping dissolves into this one; a list of mappings is one level more.
            height -= 1 if isinstance(child, Mapping) else 2
        self.height = max(self.height, height)
        return height


@struct(frozen=True)
class Anchored:
    node: Node
    size: int
    """The number of nodes in it, with aliases expanded."""
    height: int


# Mapping keys: they must be text, and `<<` adds the entries of other mappings.


def lost_alias(name: str, span: Span) -> Scalar:
    """The placeholder for an undefined alias, which has been reported."""
    return Scalar(span, "*" + name, None, "")


def to_entries(items: list[Node], problems: list[Problem]) -> list[Entry]:
    """Explicit entries in source order, then the merged ones whose keys are not among them."""
    entries: list[Entry] = []
    merged: list[Node] = []
    for key, value in zip(items[::2], items[1::2], strict=True):
        # `type` and not `isinstance`: this runs for every key.
        if type(key) is not Scalar or key.value is None:
            problems.extend(_refuse_key(key))
        elif key.text == "<<" and not key.style:
            merged.append(value)
        else:
            entries.append(Entry(key, value))
    if merged:
        _merge(entries, merged, problems)
    return entries


def _merge(entries: list[Entry], values: list[Node], problems: list[Problem]) -> None:
    present = {entry.key.text for entry in entries}
    for value in values:
        for mapping in value.items if isinstance(value, Sequence) else [value]:
            # Earlier mappings win over later ones, and explicit entries over both.
            if not isinstance(mapping, Mapping):
                problems.extend(_refuse_merge(mapping))
                continue
            for entry in mapping.entries:
                if entry.key.text not in present:
                    present.add(entry.key.text)
                    entries.append(entry)


def _refuse_key(key: Node) -> list[Problem]:
    if _is_lost_alias(key):
        return []
    if isinstance(key, Scalar):
        message = "a key cannot be empty or null"
        return [
            Problem(
                "syntax", message, key.span, help="write the name before the ':', in quotes if it is null"
            )
        ]
    kind = "mapping" if isinstance(key, Mapping) else "list"
    return [Problem("syntax", f"a key must be text, not a {kind}", key.span, help="put the key in quotes")]


def _refuse_merge(value: Node) -> list[Problem]:
    if _is_lost_alias(value):
        # An undefined alias has already been reported at its position.
        return []
    message = "'<<' merges a mapping or a list of mappings, and this is neither"
    return [Problem("syntax", message, value.span, help="name the anchor of a mapping: '<<: *defaults'")]


def _is_lost_alias(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None and node.text.startswith("*")


class ReadingEndedError(Exception):
    """Parsing can't continue. The last problem says why."""


class TreeBuilder:
    """Builds the tree. Pass each event to its handler in `handlers`; `root` and `problems` are the result."""

    def __init__(self, source: Source, limits: YamlLimits, templates: list[int]) -> None:
        self.problems: list[Problem] = []
        self.failed = False
        self.end = 0
        """The offset at which the last content ended."""
        self.last: Scalar | None = None
        self.source = source
        self._text = source.text
        self._limits = limits
        # In a local, because it is compared for every node.
        self._most = limits.max_nodes
        self._templates = templates
        self._count = 0
        self._documents = 0
        # The outermost frame stands for the file and is never closed, so that `_add` needs no special case.
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
        """The offset of the innermost open bracket."""
        return next((frame.start for frame in reversed(self._frames) if frame.in_brackets), None)

    def _document(self, event: events.DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            start, end = extent_of(event)
            message = "a second document starts here, and a file holds one workflow"
            self._report("syntax", message, start, end, help="move what follows to its own file")
            raise ReadingEndedError

    def _scalar(self, event: events.ScalarEvent) -> None:
        start, end = extent_of(event)
        text = event.value
        style = event.style or ""
        anchor = event.anchor
        if anchor is not None or event.tag is not None:
            start = self._skip_properties(event, start, end)
        elif start == end:
            # An omitted value has no characters of its own, and needs a place for messages.
            start = end = place_of_nothing(self._text, start, self.end)
        value: ScalarValue = text
        if not style:
            value = resolve_plain(text)
            # Most scalars are short, so the pattern is rarely applied.
            if len(text) > MAX_DIGITS:
                self._check_number(text, start, end)
            if self._templates and self._holds_template(start, end):
                # The placeholder was parsed; the author's own text is put back.
                value = text = self._text[start:end]
        elif style in "|>":
            end = end_of_block(self._text, start, end)
        node = self.last = Scalar(Span(self.source, start, end), text, value, style)
        # The body of `_add` inlined: two thirds of all nodes are scalars.
        self._count += 1
        if self._count > self._most:
            self._refuse_more(1, start, end)
        self._frame.items.append(node)
        self.end = end
        # A scalar has the size of one node and no depth.
        if anchor is not None:
            self._anchors[anchor] = Anchored(node, 1, 0)

    def _alias(self, event: events.AliasEvent) -> None:
        start, end = extent_of(event)
        name = event.anchor or ""
        target = self._anchors.get(name)
        # A frame instead of a node: the anchored collection is still open, and the alias is inside it.
        if not isinstance(target, Anchored):
            return self._refuse_alias(name, target, start, end)
        node, frame = target.node, self._frame
        # The expanded depth counts: later passes walk an alias like a copy.
        height = frame.add_height(node, target.height)
        self._check_depth(len(self._frames) - 1 + height, start, end)
        if frame.expects_key and not isinstance(node, Scalar):
            # It will be rejected as a key, and the error should point here rather than at its anchor.
            node = Sequence(Span(self.source, start, end))
        return self._add(node, target.size, start, end)

    def _refuse_alias(self, name: str, target: Frame | None, start: int, end: int) -> None:
        if target is None:
            message = f"there is no anchor '&{excerpt(name)}' before this alias"
            help = "quote the value if the '*' is part of a text"
        else:
            message = f"the alias '*{excerpt(name)}' is inside the value that it refers to"
            help = "remove it: a value cannot contain itself"
        self._report("syntax", message, start, end, help)
        self._add(lost_alias(name, self.source.span(start, end)), 1, start, end)

    def _start(self, event: events.CollectionStartEvent) -> None:
        start, end = extent_of(event)
        if event.anchor is not None or event.tag is not None:
            start = self._skip_properties(event, start, end)
        # YAML takes an unquoted `{{ x }}` for a mapping in a mapping. No workflow means that.
        if self._text.startswith("{{", start) and start not in self._templates:
            # Reported as what it is; a mapping as a key would be reported as something else.
            raise BareTemplateError(start, self.bracket is not None)
        self._check_depth(len(self._frames), start, start + 1)
        is_mapping = type(event) is events.MappingStartEvent
        in_brackets = self._text.startswith(("[", "{"), start) and event.flow_style is True
        frame = Frame(start, event.anchor, in_brackets, is_mapping, self._count)
        if event.anchor is not None:
            self._anchors[event.anchor] = frame
        self._frames.append(frame)
        self._frame = frame
        # What follows an opening bracket begins there, for messages about what is missing.
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
        # A later anchor of the same name, inside the collection, replaces this one.
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
        # Further problems would mostly be consequences of the first ones.
        if len(self.problems) >= MAX_PROBLEMS:
            self.failed = True
            raise ReadingEndedError

    def _fail(self, message: str, start: int, end: int, help: str, setting: str) -> None:
        self.failed = True
        self._report("limit", message, start, end, help, setting)
        raise ReadingEndedError


def _ignore(event: events.Event) -> None:
    pass


_REREADING_BUDGET = 1_000_000
"""The number of characters that may be parsed again. Each unquoted template costs one more pass."""


def parse_document(source: Source, limits: YamlLimits) -> Document:
    """The tree of a file. It has no root if the file is empty or has an error that makes the tree unreliable."""
    problems = find_forbidden_characters(source)
    if problems:
        return Document(None, problems)
    text = source.text
    # Offsets of templates that were masked in an earlier pass.
    templates: list[int] = []
    budget = _REREADING_BUDGET
    while budget > 0:
        builder = TreeBuilder(source, limits, templates)
        try:
            _read(text, builder)
        except ReadingEndedError:
            pass
        except BareTemplateError as template:
            span = span_of(source, template)
            problems.append(to_problem(span))
            insort(templates, span.start)
            text = mask(text, span)
            # A file of thousands of unquoted templates must not take quadratic time.
            budget -= span.end + len(text) // 10  # copying the rest costs a tenth of reading it
            continue
        return Document(builder.root, _in_order(problems + builder.problems))
    # The budget is used up: the problems found so far are reported.
    return Document(None, _in_order(problems))


def _read(text: str, builder: TreeBuilder) -> None:
    next_event = open_events(text)
    handlers = builder.handlers
    while True:
        try:
            event = next_event()
        except (YAMLError, ValueError, OverflowError) as error:
            # The last two: escapes that are not characters, in tags (libyaml) or quotes (PyYAML's own parser)
            _give_up(error, text, builder)
            return
        if event is None:
            return
        handlers[type(event)](event)


def _give_up(error: Exception, text: str, builder: TreeBuilder) -> None:
    failure = Failure.of(error, builder.source, builder.end, builder.last, builder.bracket)
    template = find_bare_template(text, builder.end, failure.at, failure.bracket is not None)
    # The usual cause of a syntax error in a workflow, whatever the parser calls it.
    if template is not None:
        raise template
    builder.failed = True
    builder.problems.append(explain(failure))


def _in_order(problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: problem.span.start)[:MAX_PROBLEMS]
