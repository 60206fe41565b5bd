"""Read small YAML files (answers, tests, inputs), with every mistake reported at its position.

The codes are those of the checks that report the same mistakes in workflows: WF002 for a repeated key, WF004 for an
unknown one, WF005 for a missing one, WF006 for a value of the wrong kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wfc.codes import CODES
from wfc.config import CompileLimits
from wfc.findings import Diagnostic, Severity, tidy
from wfc.language.dialect import Report
from wfc.language.values import plain
from wfc.suggest import did_you_mean, nearest
from wfc.yaml import Mapping, Node, Scalar, Sequence, Source, Span, YamlLimits, parse_document, read_source

_CODES = {"syntax": "WF001", "limit": "WF010"}


def to_diagnostic(report: Report) -> Diagnostic:
    """A report as an error, for commands whose files are not checked. Only checks of YAML itself have a code there."""
    is_check = report.code in _CODES.values()
    return Diagnostic(
        report.code if is_check else "",
        CODES[report.code].replace("_", "-") if is_check else "",
        Severity.ERROR,
        tidy(report.message),
        report.span,
        report.notes,
        tidy(report.help),
    )


class Reader:
    """One file. Its mistakes are collected in `reports`."""

    def __init__(self, source: Source, root: Node | None) -> None:
        self.reports: list[Report] = []
        self.source = source
        self.root = root

    @classmethod
    def of(cls, path: str, data: bytes, limits: CompileLimits) -> Reader:
        """The limits for a file that is not part of a project."""
        source, problems = read_source(data, path, limits.source_bytes)
        root: Node | None = None
        if not problems:
            document = parse_document(source, YamlLimits(limits.yaml_depth, limits.yaml_nodes))
            root, problems = document.root, document.problems
        reader = cls(source, root)
        for problem in problems:
            reader.wrong(problem.span, problem.message, problem.help, _CODES[problem.kind])
        return reader

    @property
    def found(self) -> list[Diagnostic]:
        return [to_diagnostic(report) for report in self.reports]

    def wrong(self, span: Span, message: str, help: str = "", code: str = "WF006") -> None:
        self.reports.append(Report(code, span, message, help))

    def mapping(
        self, node: Node | None, what: str, known: Iterable[str], required: Iterable[str] = ()
    ) -> dict[str, Node]:
        """The values of a mapping that has these keys and no others."""
        entries = self.entries(node, what)
        missing = [key for key in required if key not in entries and isinstance(node, Mapping)]
        for key, (span, _) in entries.items():
            if key not in known:
                free = [name for name in known if name not in entries]
                self.wrong(span, f"{what} has no key `{key}`", did_you_mean(key, free), "WF004")
                # A misspelt key is reported once, not as missing as well.
                missing = [name for name in missing if name != nearest(key, free)]
        for key in missing:
            assert node is not None
            self.wrong(node.span, f"{what} needs the key `{key}`", code="WF005")
        return {key: value for key, (_, value) in entries.items()}

    def entries(self, node: Node | None, what: str) -> dict[str, tuple[Span, Node]]:
        """Keys with their places and values."""
        if node is None:
            return {}
        if not isinstance(node, Mapping):
            self.wrong(node.span, f"{what} must be a mapping")
            return {}
        found: dict[str, tuple[Span, Node]] = {}
        for entry in node.entries:
            if entry.key.text in found:
                message = f"duplicate key `{entry.key.text}` in one mapping"
                self.wrong(entry.key.span, message, "remove one of them", "WF002")
            found[entry.key.text] = (entry.key.span, entry.value)
        return found

    def items(self, node: Node | None, what: str) -> list[Node]:
        if node is None:
            return []
        if not isinstance(node, Sequence):
            self.wrong(node.span, f"{what} must be a list")
            return []
        return node.items

    def text(self, node: Node | None, what: str) -> str:
        if node is None:
            return ""
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            self.wrong(node.span, f"{what} must be text")
            return ""
        return node.value

    def data(self, node: Node) -> Any:
        """Any value. Duplicate keys are reported."""
        self._look_for_twins(node)
        return plain(node)

    def _look_for_twins(self, node: Node) -> None:
        todo: list[Node] = [node]
        while todo:
            one = todo.pop()
            if isinstance(one, Mapping):
                todo += [value for _, value in self.entries(one, "").values()]
            elif isinstance(one, Sequence):
                todo += one.items

    @property
    def start(self) -> Span:
        return self.source.start
