"""Read small YAML files (answers, tests, inputs), with every mistake reported at its position."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wfc.config import CompileLimits
from wfc.findings import Diagnostic, Severity, tidy
from wfc.language.values import plain
from wfc.suggest import did_you_mean
from wfc.yaml import Mapping, Node, Scalar, Sequence, Span, YamlLimits, parse_document, read_source

_CODES = {"syntax": ("WF001", "yaml-syntax"), "limit": ("WF010", "limit-exceeded")}


def mistake(span: Span, message: str, help: str = "", code: str = "", name: str = "") -> Diagnostic:
    return Diagnostic(code, name, Severity.ERROR, tidy(message), span, help=help)


class Reader:
    """One file. What is wrong with it is collected in `found`."""

    def __init__(self, path: str, data: bytes, limits: CompileLimits) -> None:
        self.found: list[Diagnostic] = []
        self.source, problems = read_source(data, path, limits.source_bytes)
        self.root: Node | None = None
        if not problems:
            document = parse_document(self.source, YamlLimits(limits.yaml_depth, limits.yaml_nodes))
            self.root, problems = document.root, document.problems
        for problem in problems:
            code, name = _CODES[problem.kind]
            self.found.append(mistake(problem.span, problem.message, problem.help, code, name))

    def wrong(self, span: Span, message: str, help: str = "") -> None:
        self.found.append(mistake(span, message, help))

    def mapping(
        self, node: Node | None, what: str, known: Iterable[str], required: Iterable[str] = ()
    ) -> dict[str, Node]:
        """The values of a mapping that has these keys and no others."""
        entries = self.entries(node, what)
        for key, (span, _) in entries.items():
            if key not in known:
                self.wrong(span, f"{what} has no key `{key}`", did_you_mean(key, known))
        for key in required:
            if key not in entries and isinstance(node, Mapping):
                self.wrong(node.span, f"{what} needs the key `{key}`")
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
                self.wrong(entry.key.span, f"the key `{entry.key.text}` stands here twice")
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
        """Any value, with keys that stand twice reported."""
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
