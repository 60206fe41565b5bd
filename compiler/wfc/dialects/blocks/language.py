"""The words of the blocks language: severities, advice and names that differ from the core's."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wfc.caching import pattern
from wfc.dialects.blocks.environment import by_environment
from wfc.dialects.blocks.file import BlocksFile
from wfc.dialects.blocks.notation import DOLLAR, Notation
from wfc.findings import Fix, Severity
from wfc.language.dialect import InCommand, Language

_MILD = frozenset({"WF002", "WF011", "WF501", "WF502", "WF509"})
"""Errors of the core that are warnings here. The last of two equal keys counts (WF002), defaults are used as they are
(WF011), and the language cannot quote or restrict a value (WF501, WF502, WF509)."""

_SILENT = frozenset({"WF211", "WF304", "WF305", "WF306", "WF412", "WF602"})
"""Rules that do not apply: a read of a block that may not have run has a default (WF211, WF304, WF305), and every
block keeps its result, whether it is read or not (WF306). A block decides what it retries (WF412), and a `for_each` has
no limit of items (WF602)."""

_BY_ENVIRONMENT = 'pass it in `env`, and write "$NAME" in the command'
_ADVICE = {
    "WF108": "move what both need into a workflow that calls neither",
    "WF207": "what a command prints is text, and so is a reference within text; a file among `outputs` has a type",
    "WF224": "skip the block with a `condition` that looks at the list, or let the command read the whole list",
    "WF406": "look at `succeeded` or `exit_code` of it, or require it in `depends_on`",
    "WF411": "read its answer in the `condition` of the blocks that it decides about",
    "WF501": _BY_ENVIRONMENT,
    "WF502": _BY_ENVIRONMENT,
    "WF503": _BY_ENVIRONMENT + " behind `--`",
    "WF509": "use a fixed path, a number, or a value that the block's `condition` compares with fixed texts "
    "(`${inputs.env} == 'prod'`); or let a command write the file and check the value there",
}
"""Help for findings that the core would have fixed with filters, which this language does not have."""
_ADVICE_WITHOUT_FILTERS = {
    "WF217": "test it first, in the `condition` of the block (`${...} != null and ...`), or give the input a `default`",
}
"""The same, where only the notation without braces has no filters."""

_KEYS = {"with": "inputs", "when": "condition"}


_REFERENCE = pattern(r"(?:\$\{|(?<!\$)\{\{-?)\s*(?:inputs|blocks|metadata|secrets|each|tmp)\b")


_WRITTEN = {"": '"${%s}"', '"': "${%s}", "'": "'\"${%s}\"'"}
"""How a command writes a variable of its environment, by the quotes around it."""


class BlocksLanguage(Language):
    step = "block"
    calls_elsewhere = True
    roots = MappingProxyType(
        {
            "inputs": "the inputs of the run",
            "blocks": "what blocks gave back, and how they ended",
            "metadata": "the run itself",
        }
    )
    on_failure = "A block that crashes fails the run; `retry` on it says how often it is tried."

    def __init__(self, blocks: Mapping[str, str], notation: Notation, file: BlocksFile) -> None:
        """`blocks` has the id of each block by the state field that keeps its result."""
        self._blocks = blocks
        self._notation = notation
        self._file = file

    def severity(self, code: str, default: Severity) -> Severity | None:
        if code in _SILENT:
            return None
        return Severity.WARNING if code in _MILD else default

    def advice(self, code: str, help: str) -> str:
        # A finding that explains itself has no help in any language.
        if not help:
            return ""
        own = _ADVICE | _ADVICE_WITHOUT_FILTERS if self._notation is DOLLAR else _ADVICE
        return own.get(code, help).replace("${inputs.env}", self._notation.written("inputs.env"))

    def fix_in_command(self, found: InCommand) -> Fix | None:
        if self._notation is not DOLLAR or found.quotes not in _WRITTEN:
            return None
        return by_environment(self._file, found.step or "", found.span, _WRITTEN[found.quotes])

    def is_template(self, text: str) -> bool:
        return bool(_REFERENCE.search(text))

    def name_of(self, *path: object) -> str:
        match path:
            case ["state", field, *rest]:
                # An id may have hyphens, which the name of a field can't have.
                return super().name_of("blocks", self._blocks.get(str(field), field), *rest)
        return super().name_of(*path)

    def hole(self, expression: str) -> str:
        return self._notation.written(expression)

    def key(self, name: str) -> str:
        return _KEYS.get(name, name)
