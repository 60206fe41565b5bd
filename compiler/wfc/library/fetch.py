"""Finds the pack that a user names: the shipped workflows, a folder, or a git repository.

SECURITY. Git talks to https and ssh addresses and to local repositories only. No hook, submodule, template or external
protocol handler is used, and links in the repository are checked out as text.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wfc.library.pack import MANIFEST, Pack, PackError, shipped_pack

SHIPPED = "wfc"
_ADDRESS = re.compile(
    r"https://[A-Za-z0-9][^\s@]*"
    r"|ssh://(?:[A-Za-z0-9._][A-Za-z0-9._-]*@)?[A-Za-z0-9][^\s@]*"
    r"|[A-Za-z0-9._][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[^\s-][^\s]*"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://|:)")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")
_SECONDS = 300
_SAFE = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false", "-c", "core.fsmonitor=false"),
    *("-c", "protocol.allow=never", "-c", "protocol.https.allow=always", "-c", "protocol.ssh.allow=always"),
    *("-c", "protocol.file.allow=always", "-c", "submodule.recurse=false", "-c", "core.autocrlf=false"),
)


@contextmanager
def opened_pack(origin: str, revision: str = "") -> Iterator[Pack]:
    """The pack, for as long as its files are needed."""
    if origin == SHIPPED:
        yield shipped_pack()
        return
    if _ADDRESS.fullmatch(origin) or _is_repository(origin, revision):
        with tempfile.TemporaryDirectory(prefix="wfc-pack-") as folder:
            place = Path(folder) / "pack"
            yield Pack.in_folder(place, origin, _clone(origin, revision, place))
        return
    if _SCHEME.match(origin):
        raise PackError(f"`{origin}` is not an https or ssh address, or a local path")
    if not Path(origin).is_dir():
        raise PackError(f"there is no folder `{origin}`")
    if revision:
        raise PackError("--revision is for git repositories; this is a folder")
    yield Pack.in_folder(Path(origin), origin)


def is_origin(text: str) -> bool:
    """Whether a text names a pack, and not a workflow of the library."""
    return bool(_ADDRESS.fullmatch(text) or _SCHEME.match(text)) or any(
        one in text for one in ("/", "\\", ".git")
    )


def _is_repository(origin: str, revision: str) -> bool:
    """Whether a local path is a bare repository. A working tree is used as the folder that it is, unless a revision of
    it is asked for."""
    folder = Path(origin)
    if revision and (folder / ".git").exists():
        return True
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and not (folder / MANIFEST).exists()


def _clone(origin: str, revision: str, place: Path) -> str:
    if revision and not _REVISION.fullmatch(revision):
        raise PackError(f"`{revision[:80]}` is not the name of a revision")
    # Without a revision, the newest commit is enough.
    extent = ("--tags",) if revision else ("--no-tags", "--depth", "1")
    source = origin if _ADDRESS.fullmatch(origin) else Path(origin).resolve().as_uri()
    _git("clone", "--quiet", "--no-checkout", "--template=", *extent, "--", source, str(place))
    _git("checkout", "--quiet", "--detach", revision or "HEAD", folder=place)
    return _git("rev-parse", "HEAD", folder=place).strip()


def _git(*words: str, folder: Path | None = None) -> str:
    hidden = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_TEMPLATE_DIR", "GIT_EXTERNAL_DIFF")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    # A password prompt would wait forever where nobody sees it.
    env |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "https:ssh:file", "GIT_LFS_SKIP_SMUDGE": "1"}
    try:
        done = subprocess.run(
            ["git", *_SAFE, *words],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except OSError as error:
        raise PackError(f"can't run git: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise PackError(f"git did not answer within {_SECONDS} seconds") from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["git failed"])[-1]
        raise PackError(f"git {words[0]}: {said}")
    return done.stdout
