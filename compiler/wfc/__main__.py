"""The entry point. It imports little, so that Ctrl-C is handled before the rest is loaded."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress

from wfc_runtime.interrupt import INTERRUPTED, leave_on_interrupt

GARBAGE = 1_000_000
"""The threshold of the garbage collector. A check keeps nearly all objects until it ends, and with Python's default a
tenth of its time goes into collections that find nothing."""
_ENDS_AT_ONCE = frozenset({"check", "compile"})
"""Commands that leave nothing to clean up. Freeing the objects of 100 workflows one by one takes 5 % of a check."""


def main() -> None:
    gc.set_threshold(GARBAGE)
    usual = signal.getsignal(signal.SIGINT)
    leave_on_interrupt()
    _leave_folder_out_of_imports()
    if _is_front():
        from wfc_runtime.server.front import hold

        hold(sys.argv[2:])
    if len(sys.argv) == 3 and sys.argv[1] == "hook":
        from wfc.hooks import HOOKS, run

        # Every turn of a client waits for its hooks: importing click alone would double the time.
        if sys.argv[2] in HOOKS:
            raise SystemExit(run(sys.argv[2]))
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
    # The native threads of temporalio may still be ending, and abort the process if Python is finalized first.
    at_once = "temporalio" in sys.modules or not _ENDS_AT_ONCE.isdisjoint(sys.argv[1:2])
    if at_once and isinstance(status, int):
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
    raise SystemExit(status)


def _is_front() -> bool:
    """Whether this is `wfc serve` for a client on pipes.

    `wfc_runtime.server.front` then holds the pipes and imports only what it needs to answer; its worker reads the
    options.
    """
    if os.name != "posix" or sys.argv[1:2] != ["serve"] or {"--http", "--help", "-h"} & {*sys.argv[2:]}:
        return False
    return sys.stdin is not None and sys.stdout is not None and not sys.stdin.isatty()


def _leave_folder_out_of_imports() -> None:
    """Remove the first entry of `sys.path`: the working folder (`python -m wfc`) or the folder of the script (`wfc`).

    Many modules are imported late, so a server would execute a file of the same name that was written there meanwhile.
    """
    first = sys.path[0] if sys.path and not sys.flags.safe_path else None
    if first is not None and os.path.isdir(first or ".") and not os.path.isdir(os.path.join(first, "wfc")):
        del sys.path[0]


if __name__ == "__main__":
    main()
