"""Ctrl-C where there is nothing to put in order."""

from __future__ import annotations

import os
import signal
from types import FrameType

INTERRUPTED = 130
"""What a shell says of a program that Ctrl-C has ended."""


def leave_on_interrupt() -> None:
    """From here on Ctrl-C ends the process at once and without a word, unless it is to be ignored altogether."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
