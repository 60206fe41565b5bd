"""The same template, context and event give the same bytes, in any process."""

import os
import subprocess
import sys

PROGRAM = """
from datetime import UTC, datetime
from wfc_runtime.expr import ExpressionError, evaluate
context = {"state": {"b": 1, "a": {"z": [3, 1, 2], "y": "text"}, "c": None}, "item": "x"}
for text in [
    "{{ state }}", "{{ state | tojson }}", "{{ state | hash }}", "{{ state.a.z | sort | join }}",
    "{{ uuid() }} {{ uuid() }}", "{{ range(1000) | random }} {{ 'abc' | random }}",
    "{{ now() }}", "{{ ['b', 'a', 'b'] | unique }}", "{{ state.zz }}",
    "{{ [state, state] | unique | list }}", "{{ ['x', 'y'] | groupby('0') }}", "{{ zz }}", "{{ 1 | zz }}",
]:
    try:
        print(evaluate(text, context, now=datetime(2025, 1, 2, tzinfo=UTC), uuid_seed="s"))
    except ExpressionError as error:
        print(error)
"""


def test_results_and_messages_do_not_depend_on_the_hash_seed_or_the_zone() -> None:
    def run(seed: str, zone: str) -> str:
        environ = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone}
        found = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True)
        assert found.returncode == 0, found.stderr
        return found.stdout

    assert run("1", "UTC") == run("2", "Asia/Tokyo")
