"""Where the program begins: small, so that Ctrl-C is heard before the rest is there."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress

from wfc_runtime.interrupt import INTERRUPTED, leave_on_interrupt

GARBAGE = 1_000_000
"""A run is short and keeps nearly all that it makes: looking for garbage often is a tenth of it."""


def main() -> None:
    gc.set_threshold(GARBAGE)
    usual = signal.getsignal(signal.SIGINT)
    leave_on_interrupt()
    from wfc.cli.main import main as command_line

    status: object = INTERRUPTED
    try:
        signal.signal(signal.SIGINT, usual)
        command_line()
    except SystemExit as stop:
        status = stop.code
    except KeyboardInterrupt:
        pass
    leave_on_interrupt()
    if "temporalio" in sys.modules and isinstance(status, int):
        # Its native threads may still be ending, and abort the process when they meet a Python that is gone.
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
    raise SystemExit(status)


if __name__ == "__main__":
    main()
