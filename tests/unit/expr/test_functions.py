from datetime import datetime
from typing import Any

import pytest

from wfc_runtime.expr import evaluate

from .support import NOW, ev, failure, value


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("now().isoformat()", "2025-08-19T14:30:00+00:00"),
        ("now().strftime('%Y%m%d-%H%M%S')", "20250819-143000"),
        ("now().strftime('%F %T %-m %j %a 100%%')", "2025-08-19 14:30:00 8 231 Tue 100%"),
        ("now().strftime('%s')", "1755613800"),
        ("now().timestamp()", 1755613800.0),
        ("now().date() | string", "2025-08-19"),
        ("now().date().isoformat()", "2025-08-19"),
        ("now().year + now().minute", 2055),
        ("now().weekday()", 1),
        ("now() > now()", False),
        ("now() == now()", True),
        ("range(3)", [0, 1, 2]),
        ("range(1, 6, 2)", [1, 3, 5]),
        ("range(3, 0, -1)", [3, 2, 1]),
        ("range(0)", []),
        ("dict(a=1, b=[])", {"a": 1, "b": []}),
        ("dict({'a': 1}, b=2)", {"a": 1, "b": 2}),
        ("dict({'a': 1, 'b': 1}, {'a': 2}, c=3)", {"a": 2, "b": 1, "c": 3}),
    ],
)
def test_a_function_gives_its_result(expression: str, result: Any) -> None:
    assert value(expression) == result


def test_a_time_without_a_zone_counts_as_utc() -> None:
    naive = NOW.replace(tzinfo=None)
    assert evaluate("{{ now().timestamp() }}", {}, now=naive, uuid_seed="s") == NOW.timestamp()
    assert evaluate("{{ now() }}", {}, now=naive, uuid_seed="s") == "2025-08-19T14:30:00"


def test_ids_come_from_the_seed() -> None:
    first, second = ev("{{ uuid() }} {{ uuid() }}").split()
    assert first != second
    assert [first, second] == ev("{{ [uuid(), uuid()] }}")
    other = evaluate("{{ uuid() }}", {}, now=datetime(2030, 1, 1), uuid_seed="other")
    assert other not in (first, second)
    assert len(first) == 36
    assert first[14] == "4"


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("nope()", "there is no function 'nope'"),
        ("uid()", "there is no function 'uid': did you mean 'uuid'?"),
        ("range()", "range expected at least 1 argument"),
        ("range('a')", "range takes whole numbers, not text"),
        ("range(1, 2, 0)", "steps of 0"),
        ("now(1)", "wrong arguments: it is now()"),
        ("dict(1)", "dict takes objects"),
        ("now().strftime('%Q')", "strftime has no '%Q'"),
        ("now().strftime('%1000Y')", "strftime has no '%1'"),
        ("now().tzinfo", "it has no 'tzinfo'"),
        ("now().replace(year=1)", "a date has no method 'replace'"),
        ("state.x()", "an object has no method 'x'"),
    ],
)
def test_wrong_calls_say_what_is_wrong(expression: str, says: str) -> None:
    assert says in failure("{{ " + expression + " }}", state={"x": 1}).message
