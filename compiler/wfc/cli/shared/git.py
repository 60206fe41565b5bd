"""What git keeps of a project's files, read by the git command."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click


def git(*arguments: str, folder: Path) -> bytes | None:
    """What a git command prints; None where it fails."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL
        )
    except OSError as error:
        raise click.ClickException(f"can't run git: {error.strerror}") from error
    return done.stdout if done.returncode == 0 else None


def top_of(folder: Path) -> Path | None:
    """The work tree that a folder is in."""
    found = git("rev-parse", "--show-toplevel", folder=folder)
    return Path(found.decode().rstrip("\n")) if found is not None else None


def commit_of(revision: str, folder: Path) -> str | None:
    """The full name of the commit that a revision means."""
    if revision.startswith("-"):
        return None
    found = git(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", folder=folder
    )
    return found.decode().strip() if found else None


def files_at(commit: str, top: Path) -> dict[str, str]:
    """The files of a commit with the names of their contents, by path from the top of the work tree."""
    listing = git("ls-tree", "-r", "-z", commit, folder=top)
    if listing is None:
        raise click.ClickException(f"git can't list the files of {commit[:12]}")
    found: dict[str, str] = {}
    for line in listing.decode("utf-8", "surrogateescape").split("\0"):
        about, _, path = line.partition("\t")
        if path and about.split()[1] == "blob":
            found[path] = about.split()[2]
    return found


def content_of(blob: str, top: Path) -> bytes:
    found = git("cat-file", "blob", blob, folder=top)
    if found is None:
        raise click.ClickException(f"git can't read {blob[:12]}")
    return found
