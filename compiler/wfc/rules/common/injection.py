"""Untrusted values in commands, and attempts of a template to reach Python."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from wfc.analysis.taint.analysis import taint_of
from wfc.analysis.taint.shell import HOLE, Spot, spots_of
from wfc.analysis.taint.values import Flow, Level
from wfc.analysis.types.environment import TIGHT, Change
from wfc.caching import cached_per_file, pattern
from wfc.findings import Edit, Fix, Severity
from wfc.language.steps.base import Step
from wfc.language.steps.shell import Shell
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.common.typed import edit_in
from wfc.struct import struct
from wfc.template import Template
from wfc.yaml import Span
from wfc_runtime.expr import FILTERS

_FLAGS = {
    "cat": "AbeEnstTuv", "cd": "LP", "chmod": "Rcfv", "chown": "RHLPcfhv", "cp": "HLPRafilnprsuvx",
    "diff": "abBiNqrsuw", "du": "abcDhkmsx", "egrep": "EFGHLRchilnoqrsvwxz", "fgrep": "EFGHLRchilnoqrsvwxz",
    "grep": "EFGHLPRchilnoqrsvwxz", "head": "qvz", "ln": "finrsv", "ls": "1AFGHLQRSXacdfghiklmnopqrstuvx",
    "mkdir": "pv", "mv": "finuv", "readlink": "efmnqsvz", "realpath": "ELPemqsz", "rm": "Rdfirv",
    "rmdir": "pv", "sort": "Vbcdfghimnrsuz", "stat": "Lft", "tail": "Ffqvz", "tee": "aip", "touch": "acfhm",
    "wc": "Lclmw",
}  # fmt: skip
"""Tools that take `--` before their arguments, each with its options that take no value."""
_SUBCOMMANDS = {
    "docker": "build exec images inspect kill logs pull push restart rm rmi run start stop tag",
    "git": "add branch clean clone fetch init mv pull push rm tag",
    "kubectl": "delete describe get logs",
    "npm": "add i install remove uninstall update",
    "pip": "download install uninstall",
    "podman": "build exec images inspect kill logs pull push restart rm rmi run start stop tag",
}
_LONG_FLAGS = frozenset(
    {
        "--all",
        "--archive",
        "--detach",
        "--force",
        "--no-verify",
        "--parents",
        "--quiet",
        "--recursive",
        "--rm",
    }
)
_FIRST_ONLY = frozenset({"run", "exec"})
"""Their first argument is followed by a command with its own options."""
_BEFORE_TOOL = pattern(r"sudo|command|time|nohup|[A-Za-z_]\w*=.*", re.DOTALL)
_REDIRECTION = pattern(r"\d*[<>&]+")


def may_be_option(spot: Spot) -> bool:
    """Whether a value that begins with a dash would be an option there, and `--` before it helps."""
    # Inside a word or a backtick, a leading dash does no harm.
    if spot.prefix or spot.quote not in ("", "'", '"') or _has_safe_start(spot):
        return False
    words = list(spot.words)
    while words and _BEFORE_TOOL.fullmatch(words[0]):
        words.pop(0)
    # After `--`, nothing is an option; after a redirection, the value is a file name.
    if not words or "--" in words or _REDIRECTION.fullmatch(words[-1]):
        return False
    tool, *rest = words
    tool = tool.rsplit("/", 1)[-1]
    if tool in _FLAGS:
        # The value may belong to the option before it.
        return not rest or not _wants_value(rest[-1], _FLAGS[tool])
    if tool not in _SUBCOMMANDS or not rest or rest[0] not in _SUBCOMMANDS[tool].split():
        return False
    # What follows the first argument is a command, in which `--` would mean something else.
    if rest[0] in _FIRST_ONLY and not all(word.startswith("-") for word in rest[1:]):
        return False
    return not any(_wants_value(word) for word in (rest[1:] if rest[0] in _FIRST_ONLY else rest[-1:]))


def _wants_value(word: str, flags: str = "") -> bool:
    """Whether a word may be an option whose value comes next."""
    if not word.startswith("-") or "=" in word or word in _LONG_FLAGS:
        return False
    # An unknown option may take a value, so nothing is reported.
    return HOLE in word or word.startswith("--") or not set(word[1:]) <= set(flags)


def _has_safe_start(spot: Spot) -> bool:
    """Whether the value begins with literal text other than a dash."""
    node: nodes.Node | None = spot.hole.node
    while isinstance(node, nodes.Filter):
        if node.name not in ("shquote", "string"):
            return False
        node = node.node
    # The first part of a concatenation decides how the value begins.
    while isinstance(node, nodes.Concat | nodes.Add):
        node = node.nodes[0] if isinstance(node, nodes.Concat) else node.left
    return isinstance(node, nodes.Const) and not str(node.value).startswith("-") and node.value != ""


@struct(frozen=True)
class CommandHole:
    """An untrusted value in a command: from outside, or an input of the run."""

    step: Step
    text: Text
    spot: Spot
    flow: Flow
    needs_dashes: bool
    """Whether it would be an option if it began with a dash, and no value before it would."""

    @property
    def is_quoted(self) -> bool:
        return self.spot.hole.quoted is not None

    @property
    def severity(self) -> Severity:
        return Severity.ERROR if self.flow.level is Level.OUTSIDE else Severity.WARNING

    @property
    def span(self) -> Span:
        return self.text.at(*self.place)

    @property
    def place(self) -> tuple[int, int]:
        return self.text.template.span(self.spot.hole.node)

    @property
    def shown(self) -> str:
        return self.text.quote(self.spot.hole.node)

    @property
    def braces(self) -> tuple[int, int]:
        """The place of the hole, including its braces."""
        text = self.text.template.text
        return text.rfind("{{", 0, self.place[0]), text.find("}}", self.place[1]) + 2

    @property
    def is_loose(self) -> bool:
        """Whether the expression needs parentheses before a filter."""
        return not isinstance(self.spot.hole.node, TIGHT) and not self._is_script

    @property
    def list_end(self) -> int | None:
        """The place of the bar before `join`, if the expression joins a list to words of the command.

        Quoted as a whole, all items would be one word; `map('shquote')` there keeps them apart. Between quotes, the
        author meant one word.
        """
        node = self.spot.hole.node
        if self.spot.quote or not isinstance(node, nodes.Filter) or node.name != "join":
            return None
        if node.node is None or node.kwargs:
            return None
        separator = node.args[0] if len(node.args) == 1 else None
        if not isinstance(separator, nodes.Const) or not str(separator.value).isspace():
            return None
        return self.text.template.text.find("|", self.text.template.span(node.node)[1])

    def quoted_whole(self) -> str:
        """The expression with `shquote`."""
        if self.list_end is not None:
            at = self.list_end - self.place[0]
            return f"{self.shown[:at]}| map('shquote') {self.shown[at:]}"
        return self.quoted(f"({self.shown})" if self.is_loose else self.shown)

    def quoted(self, shown: str) -> str:
        """An expression with `shquote`, as the language of the text writes it."""
        return f"shquote({shown})" if self._is_script else f"{shown} | shquote"

    @property
    def _is_script(self) -> bool:
        return self.text.template.language == "javascript"

    def quoting(self) -> list[Change]:
        """Adds `shquote`."""
        start, end = self.place
        if self.is_quoted:
            return []
        if self._is_script:
            return [Change(start, start, "shquote("), Change(end, end, ")")]
        if self.list_end is not None:
            return [Change(self.list_end, self.list_end, "| map('shquote') ")]
        if self.is_loose:
            return [Change(start, start, "("), Change(end, end, ") | shquote")]
        return [Change(end, end, " | shquote")]

    def dashes(self) -> list[Change]:
        """Adds `--`, before the loop or branch that the hole is in."""
        if not self.needs_dashes:
            return []
        at = self.braces[0]
        if self.spot.hole.within is not None:
            text, head = self.text.template.text, self.text.template.span(self.spot.hole.within)[0]
            at = text.rfind("{%", 0, head + 1)
        # `--` must precede the whole loop and not be repeated in it.
        return [Change(at, at, "-- ")]

    def fix(self, description: str, changes: list[Change]) -> Fix | None:
        """The changes of the template as a fix of the file, or None unless all of them can be made."""
        edits: list[Edit] = []
        for change in changes:
            edit = edit_in(self.text, change) if change.start >= 0 else None
            if edit is None:
                # Half a fix would leave the finding in place.
                return None
            edits.append(edit)
        return Fix(description, tuple(edits), safe=False)


@cached_per_file(8)
def command_holes(file: SourceFile) -> list[CommandHole]:
    """In source order."""
    taint = taint_of(file)
    found: list[CommandHole] = []
    for step in file.steps if taint else ():
        if taint is None or not isinstance(step, Shell) or step.command is None:
            continue
        text = step.command
        dashed: set[int] = set()
        for spot in spots_of(taint.pieces(step, text)) if text.template.ast is not None else ():
            node = spot.hole.node
            if isinstance(node, nodes.Filter) and node.name not in FILTERS:
                continue  # WF203 reports it. It may be a misspelt `shquote`.
            quoted = spot.hole.quoted
            flow = quoted.whole if quoted is not None else spot.hole.flow
            if flow is not None:
                # One `--` is enough for a command, so only its first value gets one.
                needs_dashes = spot.command not in dashed and may_be_option(spot)
                dashed |= {spot.command} if needs_dashes else set()
                found.append(CommandHole(step, text, spot, flow, needs_dashes))
    return found


_DUNDER = pattern(r"__\w+?__")
_FORMAT = pattern(r"\{[^{}]*__\w")
_WITH_ATTRIBUTE = frozenset(
    {"attr", "groupby", "join", "map", "max", "min", "rejectattr", "selectattr", "sort", "sum", "unique"}
)


@struct(frozen=True)
class Escape:
    name: str
    start: int
    end: int
    filter: tuple[int, int] | None = None
    """The place of the filter `attr`, if it is used."""


def escapes_in(template: Template) -> Iterator[Escape]:
    """Attempts to leave the sandbox. Other rules skip these places, so that each is reported once."""
    if template.language == "javascript":
        yield from (Escape(use.name, use.start, use.end) for use in template.forbidden)
        return
    # The usual text contains none.
    if "_" not in template.text:
        return
    error = template.error
    if error is not None:
        name = template.text[error.start : error.end]
        # The parser of templates refuses such names itself, with this message.
        if name.startswith("_") and "begins with an underscore" in error.message:
            yield Escape(name, error.start, error.end)
    elif template.ast is not None and "__" in template.text:
        yield from _in_tree(template, template.ast)


def _in_tree(template: Template, tree: nodes.Template) -> Iterator[Escape]:
    for item in tree.find_all(nodes.Getitem):
        yield from _constant(template, item.arg, _DUNDER)
    for used in tree.find_all(nodes.Filter):
        if used.name in _WITH_ATTRIBUTE:
            place = template.token_span(used) if used.name == "attr" else None
            for argument in (*used.args, *(word.value for word in used.kwargs)):
                yield from _constant(template, argument, _DUNDER, place)
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Getattr) and call.node.attr in ("format", "format_map"):
            yield from _constant(template, call.node.node, _FORMAT)


def _constant(
    template: Template, node: nodes.Node, form: re.Pattern[str], place: tuple[int, int] | None = None
) -> Iterator[Escape]:
    if isinstance(node, nodes.Const) and isinstance(node.value, str) and form.search(node.value):
        found = _DUNDER.search(node.value)
        yield Escape(found[0] if found else node.value, *template.token_span(node), place)
