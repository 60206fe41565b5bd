"""Types as annotations, and the records that they need."""

from __future__ import annotations

import pytest

from wfc.emit.models import Annotations
from wfc.language import types
from wfc.language.types import Choice, ListType, MapType, Property, Record, Type


@pytest.mark.parametrize(
    ("kind", "annotation"),
    [
        (types.TEXT, "str"),
        (types.INT, "int"),
        (types.NUMBER, "int | float"),
        (types.BOOL, "bool"),
        (types.NULL, "None"),
        (types.ANY, "Any"),
        (types.LIST, "list[Any]"),
        (types.OBJECT, "dict[str, Any]"),
        (ListType(types.TEXT), "list[str]"),
        (MapType(types.INT), "dict[str, int]"),
        (types.union(types.NULL, types.TEXT), "str | None"),
        (types.union(types.TEXT, types.INT, types.NULL), "str | int | None"),
        (Choice(("a", "b")), 'Literal["a", "b"]'),
        (Record("ShellResult", ()), "ShellResult"),
    ],
)
def test_a_type_without_properties_of_its_own(kind: Type, annotation: str) -> None:
    assert Annotations(set()).of(kind, "hint") == annotation


def test_any_and_literal_are_imported_where_they_are_used() -> None:
    annotations = Annotations(set())
    annotations.of(ListType(types.ANY), "x")
    annotations.of(Choice(("a",)), "x")
    assert annotations.imports == {"Any", "Literal"}


def test_a_record_becomes_a_typed_dict_named_after_its_place() -> None:
    annotations = Annotations(set())
    kind = Record("", (Property("file", types.TEXT), Property("line", types.INT, required=False)))
    assert annotations.of(ListType(kind), "found_things") == "list[FoundThingsItem]"
    assert annotations.records == [
        "class FoundThingsItem(TypedDict):\n    file: str\n    line: NotRequired[int]"
    ]
    assert annotations.contract == {"TypedDict", "NotRequired"}


def test_the_same_record_is_written_once_and_another_gets_another_name() -> None:
    annotations = Annotations({"Plan"})
    one, other = Record("", (Property("a", types.TEXT),)), Record("", (Property("b", types.TEXT),))
    assert annotations.of(one, "plan") == "Plan2"
    assert annotations.of(one, "draft") == "Plan2"
    assert annotations.of(other, "plan") == "Plan3"
    assert len(annotations.records) == 2


def test_an_inner_record_stands_before_the_one_that_uses_it() -> None:
    annotations = Annotations(set())
    inner = Record("", (Property("x", types.INT),))
    annotations.of(Record("", (Property("point", inner),)), "shape")
    assert [text.split("(")[0] for text in annotations.records] == ["class ShapePoint", "class Shape"]


def test_keys_that_are_no_names_make_a_plain_dict() -> None:
    annotations = Annotations(set())
    assert annotations.of(Record("", (Property("content-type", types.TEXT),)), "x") == "dict[str, Any]"
    assert annotations.of(Record("", (Property("class", types.TEXT),)), "x") == "dict[str, Any]"


def test_a_long_choice_gets_a_name() -> None:
    annotations = Annotations(set())
    kind = Choice(tuple(f"option number {number}" for number in range(5)))
    assert annotations.of(kind, "way_on") == "WayOn"
    assert annotations.choices[0].startswith('WayOn = Literal[\n    "option number 0",\n')
