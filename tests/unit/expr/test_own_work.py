"""The limit of an expression counts its own work: it ends the same way on every machine, however slow or busy."""

import time
from collections.abc import Callable
from itertools import count

import pytest

from wfc_runtime.expr import ExpressionError, ExprLimits
from wfc_runtime.expr.filters import patterns
from wfc_runtime.expr.run import Meter
from wfc_runtime.results import problems

from .support import ev, failure

LOG = "2025-01-01 error: code 17\n" * 2_000
WORK = [
    "{% for a in range(9000) %}{{ a }}{% endfor %}",
    "{{ log | regex_findall('code (\\\\d+)') | length }}",
    "{{ log | regex_replace('error|code', 'x') | length }}",
    "{{ range(9000) | map('string') | sort | join | length }}",
    "{{ (log.split('\n') | tojson | parse_json) | length }}",
    "{{ log | wordcount }}",
]
TOO_MUCH = [
    "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "{{ (log | replace('\n', ' ')) | regex_findall('(2.*y)|2') }}",
    "{{ (log * 20) | regex_findall('(?s)(2.*y)|2') }}",
]


@pytest.fixture
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours pass between any two looks at a clock of the machine; the thread itself hardly works."""
    for name in ("time", "monotonic", "perf_counter"):
        hours = count(0, 3600)
        monkeypatch.setattr(time, name, lambda hours=hours: float(next(hours)))


def fuel_of(work: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    spent = 0
    spend = Meter.spend

    def counted(self: Meter, units: int) -> None:
        nonlocal spent
        spent += units
        spend(self, units)

    with monkeypatch.context() as patch:
        patch.setattr(Meter, "spend", counted)
        work()
    return spent


@pytest.mark.usefixtures("slow_machine")
@pytest.mark.parametrize("text", WORK)
def test_an_expression_does_not_fail_because_the_machine_is_slow(text: str) -> None:
    ev(text, log=LOG)


@pytest.mark.usefixtures("slow_machine")
@pytest.mark.parametrize("text", TOO_MUCH)
def test_an_expression_that_is_too_much_fails_by_its_work(text: str) -> None:
    assert failure(text, log=LOG).message.startswith("takes too much work")


@pytest.mark.usefixtures("slow_machine")
def test_a_result_does_not_misfit_its_schema_because_the_machine_is_slow() -> None:
    schema = {"type": "array", "items": {"type": "string", "pattern": "^(a|b)+$"}, "uniqueItems": True}
    value = [f"{number:012b}".replace("0", "a").replace("1", "b") for number in range(2000)]
    assert problems(value, schema) == []


@pytest.mark.parametrize("text", WORK)
def test_the_fuel_of_an_expression_is_the_same_each_time(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a pattern was compiled before."""
    patterns._compile.cache_clear()
    first = fuel_of(lambda: ev(text, log=LOG), monkeypatch)
    assert first > 0
    assert fuel_of(lambda: ev(text, log=LOG), monkeypatch) == first


@pytest.mark.parametrize("text", WORK)
def test_the_verdict_turns_at_the_same_unit_of_fuel_each_time(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    enough = fuel_of(lambda: ev(text, log=LOG), monkeypatch)
    for _ in range(2):
        ev(text, ExprLimits(fuel=enough), log=LOG)
        with pytest.raises(ExpressionError, match="takes too much work"):
            ev(text, ExprLimits(fuel=enough // 2), log=LOG)
