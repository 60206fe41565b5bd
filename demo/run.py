"""`make demo`: what wfc does, in one screen or two."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from page import work_gate
from serving import drive

ROOT = Path(__file__).parents[1]


def title(text: str) -> None:
    print(f"\n\x1b[1m# {text}\x1b[0m" if sys.stdout.isatty() else f"\n# {text}", flush=True)


def show(about: str, *arguments: str, expect: int = 0, most: int | None = None) -> None:
    """Run wfc as a user would, show the command and what it prints."""
    title(about)
    print(f"$ wfc {' '.join(arguments)}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "wfc", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    lines = (done.stdout + done.stderr).splitlines()
    print("\n".join(lines[:most]))
    if most is not None and len(lines) > most:
        print(f"... ({len(lines) - most} more lines)")
    if done.returncode != expect:
        raise SystemExit(f"expected exit code {expect}, got {done.returncode}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        show("Compile every workflow into a typed statechart module", "compile", "workflows", "-o", folder)
    show("The committed modules are what the YAML says", "compile", "--check")
    show("One workflow as a chart", "graph", "raise-coverage")
    show(
        "A workflow with five mistakes: all found at once, each with the way out",
        "check",
        "demo/wrong.yaml",
        expect=1,
    )
    title("Serve them over MCP: an agent works one to its end, the server is killed in the middle")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(drive(Path(folder)))
    title("See it in a browser: a run that another process started asks, and is answered on the page")
    with tempfile.TemporaryDirectory() as folder:
        work_gate(Path(folder))
    print("\nThe modules are in generated/: start with generated/interactive_planning.py.")


if __name__ == "__main__":
    main()
