"""Changes in a git working tree: whose scope each is in, and what an agent says about them where no server looks.

Pure: `wfc_runtime.execute.git` runs git. A finding of a server is proof; a submission of an agent is a claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from wfc_runtime.contract import Json
from wfc_runtime.scopes import covers, path_patterns

COMMAND = "git status"
"""A server proves changes if its grant covers this command."""
SNAPSHOT, CHANGES = "git_snapshot", "git_changes"
"""The kinds of the two steps."""
MOST_PATHS = 2_000
MOST_BYTES = 100_000
"""The paths that a result lists; of more, it has the number."""
OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
CLAIMED = "?"
"""The content of a file in a snapshot that an agent made: only that it was changed is known."""


def listed(paths: Iterable[str]) -> list[str]:
    """The first paths, as many as a result lists."""
    found: list[str] = []
    size = 0
    for path in paths:
        size += len(path.encode("utf-8", "replace")) + 4
        if len(found) == MOST_PATHS or size > MOST_BYTES:
            break
        found.append(path)
    return found


# The two results.


def snapshot(head: str | None, files: Mapping[str, str | None], proved: bool) -> dict[str, Json]:
    """The content of each file that differs from HEAD. With too many of them, nothing can be compared later."""
    found: dict[str, Json] = {"head": head, "files": dict(files), "total": len(files), "proved": proved}
    if len(listed(files)) < len(files):
        why = f"{len(files):,} files differ from the last commit, and at most {MOST_PATHS:,} are compared"
        return {**found, "files": {}, "skipped": why}
    return found


def skipped_snapshot(why: str) -> dict[str, Json]:
    return {"head": None, "files": {}, "total": 0, "proved": False, "skipped": why}


def changes(paths: Iterable[str], scopes: Json, proved: bool) -> dict[str, Json]:
    """The changed paths, by agent and outside of all scopes."""
    ordered = sorted(set(paths))
    owners = Owners(scopes)
    outside = [path for path in ordered if owners.is_outside(path)]
    changed = listed(ordered)
    by_agent: dict[str, list[str]] = {agent: [] for agent in owners.agents}
    for path in changed:
        for agent in owners.of(path):
            by_agent[agent].append(path)
    return {
        "changed": changed,
        "by_agent": by_agent,
        "outside_scope": listed(outside),
        "total": len(ordered),
        "outside_total": len(outside),
        "proved": proved,
    }


def skipped_changes(why: str) -> dict[str, Json]:
    return {**changes((), {}, False), "skipped": why}


class Owners:
    """The owners of paths, by their scopes. A scope in words, or a missing one, has no limits: it owns every path that
    no other scope covers. An empty list owns nothing."""

    def __init__(self, scopes: Json) -> None:
        given = scopes if isinstance(scopes, Mapping) else {}
        self._patterns = {str(agent): _patterns(scope) for agent, scope in given.items()}
        self._free = [agent for agent, patterns in self._patterns.items() if patterns is None]

    @property
    def agents(self) -> list[str]:
        return list(self._patterns)

    def of(self, path: str) -> list[str]:
        found = [agent for agent, patterns in self._patterns.items() if patterns and covers(patterns, path)]
        # Of several without limits, nobody knows which one it was.
        return found or (self._free if len(self._free) == 1 else [])

    def is_outside(self, path: str) -> bool:
        return bool(self._patterns) and not self._free and not self.of(path)


def _patterns(scope: Json) -> list[str] | None:
    if isinstance(scope, str):
        return path_patterns(scope)
    if isinstance(scope, list) and all(isinstance(one, str) for one in scope):
        return path_patterns(scope) if scope else []
    return None


# The submission of an agent: the output of two commands.

SNAPSHOT_COMMANDS = ("git rev-parse HEAD", "git status --porcelain -uall --no-renames")


def changes_commands(since: Json) -> tuple[str, str]:
    head = since.get("head") if isinstance(since, Mapping) else None
    named = "git ls-files" if not head else f"git diff --name-only --no-renames {head}"
    return named, SNAPSHOT_COMMANDS[1]


def read_snapshot(answer: Json, served: bool) -> Json:
    """The snapshot in an answer. That of an agent is a claim, even if it calls itself proof."""
    if served or not isinstance(answer, Mapping):
        return answer
    if isinstance(answer.get("skipped"), str):
        return skipped_snapshot(answer["skipped"])
    head = str(answer.get("head") or "").strip()
    files = dict.fromkeys(_status_paths(answer.get("status")), CLAIMED)
    return snapshot(head if OBJECT_ID.fullmatch(head) else None, files, proved=False)


def read_changes(answer: Json, parameters: Mapping[str, Json], served: bool) -> Json:
    """The changes in an answer. Those of an agent are claimed, without the files that were changed before."""
    if served or not isinstance(answer, Mapping):
        return answer
    if isinstance(answer.get("skipped"), str):
        return skipped_changes(answer["skipped"])
    if "diff" not in answer and "status" not in answer:
        return {**changes((), parameters.get("scopes"), False), **answer, "proved": False}
    since = parameters.get("since")
    before = since.get("files") if isinstance(since, Mapping) else None
    known = set(before) if isinstance(before, Mapping) else set()
    named = [*map(_unquoted, _lines(answer.get("diff"))), *_status_paths(answer.get("status"))]
    return changes((path for path in named if path not in known), parameters.get("scopes"), proved=False)


def _lines(text: Json) -> Sequence[str]:
    return [line for line in text.splitlines() if line.strip()] if isinstance(text, str) else ()


def _status_paths(text: Json) -> list[str]:
    """The paths in the output of `git status --porcelain`: two letters, a space, the path."""
    return [_unquoted(line[3:]) for line in _lines(text) if len(line) > 3 and line[2] == " "]


_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_SPECIAL = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def _unquoted(path: str) -> str:
    """A path without the quotes and escapes that git prints around unusual names."""
    path = path.strip()
    if len(path) < 2 or path[0] != '"' or path[-1] != '"':
        return path

    def plain(found: re.Match[bytes]) -> bytes:
        code = found[1]
        return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _SPECIAL.get(code, code)

    return _ESCAPE.sub(plain, path[1:-1].encode()).decode("utf-8", "backslashreplace")
