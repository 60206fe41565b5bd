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
    _leave_folder_out_of_imports()
    if _is_front():
        from wfc_runtime.server.front import hold

        hold(sys.argv[2:])
    if sys.argv[1:2] == ["serve-worker"]:
        sys.argv[1:2] = ["serve", "--behind-front"]
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


def _is_front() -> bool:
    """Whether this is `wfc serve` for a client on pipes: see `wfc_runtime.server.front`, which imports no more than it
    needs to answer. Its worker reads the options."""
    if os.name != "posix" or sys.argv[1:2] != ["serve"] or {"--http", "--help", "-h"} & {*sys.argv[2:]}:
        return False
    return sys.stdin is not None and sys.stdout is not None and not sys.stdin.isatty()


def _leave_folder_out_of_imports() -> None:
    """Python looks for modules first in the folder of the project (`python -m wfc`) or of the script (`wfc`). Much is
    imported late, so that a file written there meanwhile would be executed by a server."""
    first = sys.path[0] if sys.path and not sys.flags.safe_path else None
    if first is not None and os.path.isdir(first or ".") and not os.path.isdir(os.path.join(first, "wfc")):
        del sys.path[0]


if __name__ == "__main__":
    main()
