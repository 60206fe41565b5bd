"""A pytest plugin that registers a rule which reports every step of every workflow.

`tests/unit/test_rules_apart.py` runs the tests of the other rules with it: none of them may notice.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest

CODE = "WF888"
_MODULE = "wfc.rules.every_step"


class _Finder:
    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        rule = Path(__file__).with_name("every_step_rule.py")
        return spec_from_file_location(name, rule) if name == _MODULE else None


assert "wfc.rules" not in sys.modules, "the rules have been collected already"
sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]

from wfc.codes import CODES  # noqa: E402

CODES[CODE] = _MODULE.rpartition(".")[2]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The files of the rule itself, which its author would add, are not there."""
    own = [item for item in items if CODE in item.nodeid]
    config.hook.pytest_deselected(items=own)
    items[:] = [item for item in items if CODE not in item.nodeid]
