"""Handling of Ctrl-C for programs that have nothing to clean up."""

from __future__ import annotations

import os
import signal
from types import FrameType

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C has ended, as a shell reports it."""


def leave_on_interrupt() -> None:
    """From now on Ctrl-C ends the process immediately and without a traceback, unless SIGINT is ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
