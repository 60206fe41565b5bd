"""`wfc-library.json`: which workflows of a project came from a library, in which version, with the text that they had.

The texts are kept because the next version of a library does not have those of the version before: without them,
nobody could tell what changed upstream from what changed in the project.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import Any

from wfc.library.pack import Item, Pack, PackError

LOCK = "wfc-library.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Added:
    """A workflow that was added to the project."""

    pack: str
    version: str
    origin: str
    digest: str
    revision: str = ""
    files: dict[str, str] = field(default_factory=dict)
    """The text of each file when it was added, by its path in the project."""


def added_from(pack: Pack, item: Item) -> Added:
    about = pack.manifest
    return Added(about.name, about.version, pack.origin, item.digest, pack.revision, item.files)


class Lock:
    def __init__(self, root: Path, entries: dict[str, Added] | None = None) -> None:
        self.root = root
        self.entries = entries or {}

    @classmethod
    def load(cls, root: Path) -> Lock:
        path = root / LOCK
        try:
            data: Any = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != _FORMAT:
                raise PackError(f"`{LOCK}` was written by another version of wfc (format {data['format']})")
            return cls(root, {str(name): Added(**one) for name, one in data["workflows"].items()})
        except FileNotFoundError:
            return cls(root)
        except OSError as error:
            raise PackError(f"can't read `{LOCK}`: {error.strerror}") from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise PackError(f"`{LOCK}` is damaged; restore it from git, or delete it") from None

    def text(self) -> str:
        rows = {name: asdict(self.entries[name]) for name in sorted(self.entries)}
        return json.dumps({"format": _FORMAT, "workflows": rows}, indent=2, ensure_ascii=False) + "\n"

    def base_of(self, path: str) -> str | None:
        """The text that a file had when it was added."""
        found = [entry.files[path] for entry in self.entries.values() if path in entry.files]
        return found[-1] if found else None

    # -- what adding would do --------------------------------------------------

    def conflicts(self, item: Item, places: dict[str, Path]) -> list[str]:
        """Files of the project that adding would overwrite although somebody wrote or changed them."""
        found = []
        for path, text in item.files.items():
            there = _read(places[path])
            if there is not None and there not in (text, self.base_of(path)):
                found.append(path)
        return found


def changes(added: Added, upstream: Item) -> str:
    """What changed in the library since a workflow was added, as a unified diff."""
    lines: list[str] = []
    for path in dict.fromkeys([*added.files, *upstream.files]):
        before, after = added.files.get(path, ""), upstream.files.get(path, "")
        old = f"a/{path}" if path in added.files else "/dev/null"
        new = f"b/{path}" if path in upstream.files else "/dev/null"
        diff = unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm="")
        lines += [f"{line}\n" for line in diff]
    return "".join(lines)


def edited(added: Added, places: dict[str, Path]) -> list[str]:
    """Files that the project has changed or removed since."""
    return [path for path, text in added.files.items() if _read(places[path]) != text]


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
