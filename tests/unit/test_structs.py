"""Structs are declared like data classes and behave like them, and each kind of value class has its place."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from tests.support import ROOT
from tests.unit.test_imports import CHECK, imported_by
from wfc.struct import replace, struct


@struct(frozen=True)
class Place:
    kind: ClassVar[str] = "place"
    line: int
    column: int = 1


@struct(eq=False, slots=True)
class Leaf:
    text: str
    notes: list[str] = field(default_factory=list)


@struct(eq=False, slots=True)
class Made(Leaf):
    origin: Leaf | None = None


@struct
class Open:
    """Equal to its like, and changed now and then."""

    items: list[int]

    def __repr__(self) -> str:
        return "Open"


@dataclass(frozen=True)
class Same:
    line: int
    column: int = 1


@pytest.mark.parametrize("given", [(1,), (1, 2)])
def test_an_object_is_made_as_of_a_data_class(given: tuple[int, ...]) -> None:
    made, same = Place(*given), Same(*given)
    assert vars(made) == vars(same)
    assert repr(made) == repr(same).replace("Same", "Place")
    assert Place(line=3) == Place(3)


@pytest.mark.parametrize("given", [(), (1, 2, 3)])
def test_too_few_and_too_many_values_are_refused(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        Place(*given)


def test_those_of_one_class_with_the_same_values_are_equal() -> None:
    assert Place(1, 2) == Place(1, 2) != Place(1, 3)
    assert Place(1) != Same(1)
    assert len({Place(1), Place(1, 1), Place(2)}) == 2
    assert Open([1]) == Open([1])
    assert Leaf("a") != Leaf("a")
    with pytest.raises(TypeError):
        hash(Open([1]))


def test_what_is_made_for_one_object_is_not_shared() -> None:
    one, other = Leaf("a"), Leaf("b")
    one.notes.append("mine")
    assert other.notes == []


def test_one_with_slots_has_nothing_else() -> None:
    with pytest.raises(AttributeError):
        Leaf("a").other = 1  # type: ignore[attr-defined]
    assert not hasattr(Made("a"), "__dict__")


def test_a_class_has_the_fields_of_its_base_first() -> None:
    made = Made("a", ["b"], Leaf("c"))
    assert (made.text, made.notes, made.origin and made.origin.text) == ("a", ["b"], "c")
    assert Made.__match_args__ == ("text", "notes", "origin")


def test_its_own_words_and_its_fields_in_a_pattern_are_kept() -> None:
    assert repr(Open([])) == "Open"
    match Place(3, 4):
        case Place(line, column):
            assert (line, column) == (3, 4)


def test_one_can_be_had_with_other_values() -> None:
    assert replace(Place(1, 2), line=3) == Place(3, 2)
    leaf = Leaf("a", ["b"])
    assert replace(leaf, text="c").notes is leaf.notes


def test_one_goes_from_process_to_process() -> None:
    assert pickle.loads(pickle.dumps(Place(1, 2))) == Place(1, 2)
    assert pickle.loads(pickle.dumps(Made("a", ["b"]))).notes == ["b"]


# Which kind of class holds values: the docstring of `wfc.struct` says it.

COMPILER = ROOT / "compiler" / "wfc"


def value_classes() -> Iterator[tuple[str, str, str]]:
    """Each value class of the compiler: its module, its name, and how it is declared."""
    for path in sorted(COMPILER.rglob("*.py")):
        module = ".".join(("wfc", *path.relative_to(COMPILER).with_suffix("").parts)).removesuffix(
            ".__init__"
        )
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                said = [ast.unparse(one) for one in (*node.decorator_list, *node.bases)]
                yield from (
                    (module, node.name, one)
                    for one in said
                    if one.startswith(("struct", "dataclass")) or one == "NamedTuple"
                )


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules that are imported by a check of files in every dialect, with nothing in the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return imported_by(CHECK, "check", "workflows", cwd=ROOT)


def test_modules_that_a_check_imports_have_structs_and_others_data_classes(checked: set[str]) -> None:
    wrong = [
        (module, name, declared)
        for module, name, declared in value_classes()
        if declared.startswith("dataclass" if module in checked else "struct")
    ]
    assert wrong == []


def test_frozen_data_classes_have_slots_unless_they_cache_a_property() -> None:
    found = [
        (module, name) for module, name, declared in value_classes() if declared == "dataclass(frozen=True)"
    ]
    assert found == []


def test_no_value_class_is_a_tuple() -> None:
    assert [(module, name) for module, name, declared in value_classes() if declared == "NamedTuple"] == []


def test_caches_come_from_one_module() -> None:
    found = [
        (path.relative_to(COMPILER).as_posix(), name.name)
        for path in COMPILER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "functools"
        for name in node.names
        if "cache" in name.name
    ]
    assert {path for path, _ in found} == {"caching.py"}
