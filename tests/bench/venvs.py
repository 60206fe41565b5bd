"""What is compared with wfc, installed apart from it: one venv for each, made once."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import rmtree

from tests.bench.seat import ROOT, quiet

VENVS = ROOT / ".venv-peers"
Progress = Callable[[str], None]


class CannotInstallError(Exception):
    """A peer that can't be had here."""


def python_with(name: str, packages: Sequence[str], progress: Progress, venvs: Path = VENVS) -> Path:
    """The interpreter of a venv that has these packages, which is made if it isn't there."""
    wanted = hashlib.sha256(" ".join((sys.version, *packages)).encode()).hexdigest()[:12]
    folder = venvs / f"{name}-{wanted}"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    ready = folder / "installed"
    if not ready.exists():
        progress(f"installing {', '.join(packages)} in {folder.name}")
        rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        install([*pip, "--disable-pip-version-check", *packages], packages, folder)
        ready.touch()
    return python


def install(command: Sequence[str | Path], packages: Sequence[str], folder: Path) -> None:
    """Have a package manager put packages into a folder, which goes if they can't be had."""
    try:
        run(command)
    except RuntimeError as error:
        rmtree(folder, ignore_errors=True)
        last = str(error).strip().splitlines()[-1]
        raise CannotInstallError(f"{', '.join(packages)} can't be installed: {last}") from None


def run(command: Sequence[str | Path]) -> None:
    done = subprocess.run(
        command, cwd=ROOT, env=quiet(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        shown = " ".join(map(str, command))
        raise RuntimeError(f"{shown} exited with {done.returncode}:\n{done.stdout}")
