"""Right workflows made wrong in the ways that editing, merging and misunderstanding do."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.support import ROOT, check
from wfc.checker import has_errors
from wfc.language.steps import STEP_TYPES

_CHARACTERS = "\t\n :-#'\"[]{}&*!|>%@`,?~\\\0\x85\u2028\ufeff\ud7ff日🚀é09aZ_."
_PIECES = (
    "{{", "}}", "{%", "{{ state.x }}", "{{ (", "- ", ": ", "? ", "<<: ", "&a ", "*a", "!!str ", "---\n", "...\n",
    "id: ", "type: ", "steps:\n", "on: ", "null", "[", "{", "'", '"', "# wfc: ignore[WF301]", "|\n", ">-\n", "  ",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 2.5, 10**400, float("nan"), float("inf"), "", " ", "x", "{{ state.gone }}", "{{ item }}", "{{",
    "{{ 1 / 0 }}", "日本", "a\nb", "x" * 5000, [], {}, [[]], [None], [{}], {"": None}, {"goto": "nowhere"},
    {"a": {"b": []}}, "@task", "build", "../x", ["a", "a"], {"type": "shell"},
    [{"id": "a", "type": "shell", "command": "x"}],
)  # fmt: skip
_FIELDS = dict.fromkeys(name for kind in STEP_TYPES.values() for name in kind.FIELDS)
_OTHERS = (
    "tasks",
    "inputs",
    "initial_state",
    "version",
    "properties",
    "enum",
    "required_keys",
    "goto",
    "",
    "0",
    "<<",
)
_KEYS = (*_FIELDS, *_OTHERS)


@cache
def originals() -> list[str]:
    """Every workflow of this repository: shipped ones, goldens, and the cases of the checks."""
    paths = [
        *(ROOT / "workflows").glob("*.yaml"),
        *(ROOT / "tests" / "golden").rglob("*.yaml"),
        *(ROOT / "tests" / "errors").rglob("*.yaml"),
    ]
    return [
        text
        for path in sorted(paths)
        if (text := path.read_bytes().decode("utf-8", "ignore")) and len(text) < 20_000
    ]


@st.composite
def mutated_texts(draw: st.DrawFn) -> str:
    """A workflow with a few edits of its characters and lines."""
    text = draw(st.sampled_from(originals()))
    for _ in range(draw(st.integers(1, 4))):
        text = _edit(draw, text)
    return text


def _edit(draw: st.DrawFn, text: str) -> str:
    lines = text.split("\n")
    number = draw(st.integers(0, len(lines) - 1))
    other = draw(st.integers(0, len(lines) - 1))
    at = draw(st.integers(0, max(0, len(text) - 1)))
    match draw(
        st.sampled_from(
            ["delete", "double", "swap", "char", "drop", "piece", "indent", "dedent", "cut", "graft"]
        )
    ):
        case "delete":
            del lines[number]
        case "double":
            lines.insert(other, lines[number])
        case "swap":
            lines[number], lines[other] = lines[other], lines[number]
        case "char":
            return text[:at] + draw(st.sampled_from(_CHARACTERS)) + text[at + 1 :]
        case "drop":
            return text[:at] + text[at + draw(st.integers(1, 20)) :]
        case "piece":
            return text[:at] + draw(st.sampled_from(_PIECES)) + text[at:]
        case "indent":
            lines[number] = " " * draw(st.integers(1, 4)) + lines[number]
        case "dedent":
            lines[number] = lines[number][draw(st.integers(1, 4)) :]
        case "cut":
            return text[:at]
        case "graft":
            return text[:at] + draw(st.sampled_from(originals()))[at:]
    return "\n".join(lines)


@st.composite
def mutated_trees(draw: st.DrawFn) -> str:
    """A workflow with a few edits of its tree, and so still YAML."""
    tree = copy.deepcopy(draw(st.sampled_from(_trees())))
    for _ in range(draw(st.integers(1, 4))):
        places = list(_places(tree))
        if places:
            _change(draw, *draw(st.sampled_from(places)), places)
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


@cache
def _trees() -> list[Any]:
    found = []
    for text in originals():
        try:
            found.append(yaml.load(text, yaml.CSafeLoader))
        except (yaml.YAMLError, ValueError):
            continue
    return [tree for tree in found if isinstance(tree, dict)]


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with each of its keys."""
    for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield node, key
        yield from _places(node[key])


def _change(draw: st.DrawFn, container: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    match draw(st.sampled_from(["drop", "rename", "retype", "graft", "double", "wrap"])):
        case "drop":
            del container[key]
        case "rename" if isinstance(container, dict):
            container[draw(st.sampled_from(_KEYS))] = container.pop(key)
        case "graft":
            other, place = draw(st.sampled_from(places))
            container[key] = copy.deepcopy(other[place])
        case "double" if isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
        case "wrap":
            container[key] = [container[key]]
        case _:
            container[key] = copy.deepcopy(draw(st.sampled_from(_VALUES)))


_TYPING = ("initial_state", "inputs", "updates", "result_schema", "outputs", "value", "output_to")
"""Keys below which stands what the types of a module are made of."""
_TYPED_VALUES: tuple[Any, ...] = (
    None, True, 0, 2.5, "", "x", "1", [], {}, [[]], [None], [{}], [1, "a"], ["a"], {"a": 1}, {"a": {"b": []}},
    "{{ [] }}", "{{ {} }}", "{{ 1 }}", "{{ none }}", "{{ {'a': 1} }}", "{{ [1, 'a'] }}", "{{ now() }}", "a {{ 1 }}",
    {"type": "object"}, {"type": "array"}, {"type": ["string", "null"]}, {"type": "integer"}, {"enum": ["a", "b"]},
    {"type": "object", "properties": {"class": {"type": "string"}, "a-b": {"type": "integer"}}, "required": ["class"]},
    {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "number"}}}},
    "string", "integer", "number", "boolean", "array", "object", "str", "int", "bool", "list", "dict", "json",
)  # fmt: skip


@st.composite
def retyped_trees(draw: st.DrawFn, language: str) -> str:
    """A right workflow of a language (the key of its steps) with other values where types come from."""
    tree = copy.deepcopy(draw(st.sampled_from([tree for tree in _right_trees() if language in tree])))
    for _ in range(draw(st.integers(1, 3))):
        places = list(_typing_places(tree))
        if places:
            container, key = draw(st.sampled_from(places))
            container[key] = copy.deepcopy(draw(st.sampled_from(_TYPED_VALUES)))
    return yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


@cache
def _right_trees() -> list[Any]:
    """The trees of the originals without an error."""
    found = [yaml.load(text, yaml.CSafeLoader) for text in originals() if not has_errors(check(text))]
    return [tree for tree in found if isinstance(tree, dict)]


def _typing_places(node: Any, inside: bool = False) -> Iterator[tuple[Any, Any]]:
    for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        typed = inside or key in _TYPING
        if inside:
            yield node, key
        yield from _typing_places(node[key], typed)
