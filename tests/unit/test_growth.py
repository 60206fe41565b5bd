"""Work grows with its input as it may, and no faster."""

from __future__ import annotations

import pytest

from tests.counting import calls_of
from tests.growth import GROWTH


@pytest.mark.parametrize("what", GROWTH)
def test_work_grows_no_faster_than_its_input(what: str) -> None:
    growth = GROWTH[what]
    growth.make(growth.small)()  # What is imported or remembered the first time does not count.
    small, large = (calls_of(growth.make(size)) for size in (growth.small, growth.large))
    assert small > 100, "too little to tell"
    assert large < growth.most * small
