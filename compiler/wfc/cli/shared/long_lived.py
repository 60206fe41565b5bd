"""Commands that go on until they are told to stop."""

from __future__ import annotations

import gc

_PORTION = 5_000
"""So many new objects are looked through for garbage at a time, which takes a few milliseconds. What suits a command
that ends at once would make a server halt for a second now and then."""


def collect_in_portions() -> None:
    """What has been made so far, by imports above all, is there to stay and is never looked through."""
    gc.freeze()
    gc.set_threshold(_PORTION)
    gc.enable()
