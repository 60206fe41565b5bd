"""Taints as values: parts, joins and the way that a flow remembers."""

from __future__ import annotations

from wfc.analysis.taint.values import CLEAN, Flow, Level, Taint, join, listed, only, record
from wfc.yaml import Source

SPAN = Source("w.yaml", "text").start
INPUT = Flow(Level.INPUT, "an input", "given", SPAN)
OUTSIDE = Flow(Level.OUTSIDE, "an answer", "typed", SPAN)


def test_a_part_that_is_clean_stays_clean_beside_one_that_is_not() -> None:
    value = record({"name": only(OUTSIDE), "number": CLEAN})
    assert value.get("name").whole is OUTSIDE
    assert value.get("number").is_clean


def test_a_part_that_nobody_named_is_as_bad_as_the_rest() -> None:
    value = record({"number": CLEAN}, OUTSIDE)
    assert value.get("number").is_clean
    assert value.get("title").whole is OUTSIDE
    assert value.get(None).whole is OUTSIDE


def test_a_record_of_clean_parts_is_clean() -> None:
    assert record({"a": CLEAN, "b": CLEAN}).is_clean


def test_the_worse_of_two_flows_wins() -> None:
    assert join(only(INPUT), only(OUTSIDE)).flow is OUTSIDE
    assert join(only(OUTSIDE), only(INPUT)).flow is OUTSIDE


def test_joining_what_is_known_already_changes_nothing() -> None:
    value = join(record({"a": only(OUTSIDE)}), record({"b": only(INPUT)}))
    assert join(value, record({"a": only(INPUT)})) is value
    assert join(value, CLEAN) is value
    assert join(value, value) is value


def test_joining_text_with_a_record_makes_each_part_of_it_doubtful() -> None:
    value = join(record({"a": only(INPUT)}), only(OUTSIDE))
    assert value.get("a").whole is OUTSIDE


def test_the_length_of_a_list_is_a_matter_of_its_own() -> None:
    assert listed(CLEAN, OUTSIDE).item.is_clean
    assert listed(CLEAN, OUTSIDE).flow is OUTSIDE
    assert listed(only(OUTSIDE)).flow is None
    assert listed(only(OUTSIDE)).get(0).whole is OUTSIDE


def test_a_list_is_short_only_if_it_is_on_every_way() -> None:
    short, long = only(OUTSIDE).as_list().short(), only(OUTSIDE).as_list()
    assert join(short, short).bounded
    assert not join(short, long).bounded
    assert not join(long, short).bounded


def test_nesting_has_an_end_and_nothing_is_lost_there() -> None:
    value = only(OUTSIDE)
    for _ in range(50):
        value = record({"a": value})
    depth, part = 0, value
    while part.parts:
        depth, part = depth + 1, part.get("a")
    assert depth < 10
    assert part.whole is OUTSIDE


def test_a_record_with_very_many_parts_becomes_one_flow() -> None:
    value = record({f"f{number}": only(OUTSIDE) for number in range(500)})
    assert value.parts == {}
    assert value.flow is OUTSIDE


def test_hops_are_told_from_the_source_on() -> None:
    flow = Taint(OUTSIDE).then("kept", SPAN).then("passed on", SPAN).whole
    assert flow is not None
    assert [note.message for note in flow.notes()] == ["typed", "kept", "passed on"]


def test_of_a_very_long_way_the_middle_is_left_out() -> None:
    flow = OUTSIDE
    for number in range(100):
        flow = flow.then(f"hop {number}", SPAN)
    told = [note.message for note in flow.notes()]
    assert told[0] == "typed"
    assert told[-1] == "hop 99"
    assert len(told) == 8
