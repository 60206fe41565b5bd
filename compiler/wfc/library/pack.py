"""A pack: a folder with workflows, their tests and agents, and a `wfc-pack.toml` that says what they need.

SECURITY. A pack comes from other people. Nothing in it is executed or imported: its YAML is parsed and checked by the
compiler, with default settings (a `pyproject.toml` in the pack is not read), and files are only read inside its folder.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wfc.caching import cached_property
from wfc.config import Config
from wfc.language.agent_file import AgentFile, read_agent
from wfc.project import Project, SourceFile
from wfc.testfiles import is_test_file
from wfc.workspace.files import ENDINGS, MARKDOWN, TEXT_ENDINGS, Selection, is_source_name, texts_named_in
from wfc.workspace.loading import load_project
from wfc.workspace.shipped import shipped_folder
from wfc_runtime.version import __version__

MANIFEST = "wfc-pack.toml"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}")
_AGENT_KEYS = ("name", "description", "tools", "disallowedTools", "model", "color")
"""What the front matter of an agent may have. Others, such as `hooks` and `permissionMode`, let a client run commands
or drop its questions, which nobody expects from a copied text."""
_CLIENT_FILES = ("claude.md", "claude.local.md", "agents.md", "gemini.md")
"""Files that clients read as instructions wherever they are."""
# Not allowed in names on Windows: a pack must be usable everywhere.
_UNPORTABLE = frozenset('\\:*?"<>|')
# SECURITY. A pack is input from a stranger, and everything in it is read before the user agrees to anything.
_MOST_FILES, _MOST_BYTES = 500, 1024 * 1024
_TEXTS = (*ENDINGS, *TEXT_ENDINGS)
_KEYS = ("name", "version", "description", "workflows", "agents", "tools", "grants")
GRANTS = ("exec", "read", "write", "http")


class PackError(Exception):
    """A pack can't be used. The message says why."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of `wfc-pack.toml`."""

    name: str
    version: str
    description: str = ""
    workflows: tuple[str, ...] = ("workflows/**/*.yaml", "workflows/**/workflow.md")
    """Patterns of files, relative to the pack."""
    agents: tuple[str, ...] = ("agents/*.md", ".claude/agents/*.md")
    tools: tuple[str, ...] | None = None
    """The tools that its workflows call; None for the library of wfc itself, which tests hold to those of a client."""
    grants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the operator of a server may want to allow: commands, files and hosts. A pack grants nothing."""


def read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.exists():
        raise PackError(f"there is no {MANIFEST} in `{folder}`")
    try:
        data = tomllib.loads(_read_in(folder.resolve(), path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PackError(f"{MANIFEST} is not valid TOML: {error}") from None
    # An unknown key may be a misspelt grant, which the user would then not see.
    unknown = [key for key in data if key not in _KEYS]
    if unknown:
        raise PackError(f"{MANIFEST} has an unknown key `{unknown[0]}`; it may have {', '.join(_KEYS)}")
    name, version = data.get("name"), data.get("version")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PackError(f"`name` in {MANIFEST} must be lower-case letters, digits and hyphens")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise PackError(f"`version` in {MANIFEST} must be text of letters, digits, dots, hyphens, + and _")
    grants = data.get("grants", {})
    if not isinstance(grants, dict) or any(key not in GRANTS for key in grants):
        raise PackError(f"`grants` in {MANIFEST} must be a table with {', '.join(GRANTS)}")
    default = Manifest(name, version)
    return Manifest(
        name,
        version,
        _text(data, "description"),
        _texts(data, "workflows") or default.workflows,
        _texts(data, "agents") or default.agents,
        _texts(data, "tools") or (),
        {key: _texts(grants, key) or () for key in grants},
    )


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key, "")
    if not isinstance(value, str):
        raise PackError(f"`{key}` in {MANIFEST} must be text")
    return value


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    if key not in data:
        return None
    value = data[key]
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise PackError(f"`{key}` in {MANIFEST} must be a list of texts")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class Item:
    """A workflow of a pack with everything that it needs from the pack: files by their place in a project."""

    name: str
    file: SourceFile
    files: dict[str, str]
    """The text of each file. Paths begin with `workflows/` or `.claude/agents/`."""
    agents: dict[str, AgentFile]
    """The agents among the files, by their paths."""
    called: tuple[str, ...]
    """The workflows that it calls, which are among the files."""

    @property
    def digest(self) -> str:
        # NUL can't be part of a path, so no two sets of files have the same text.
        parts = sorted(f"{path}\0{text}\0" for path, text in self.files.items())
        return hashlib.sha256("".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class Pack:
    manifest: Manifest
    folder: Path
    origin: str
    """Where it came from, as the user may name it again."""
    revision: str = ""
    """The commit of a pack from git."""

    @classmethod
    def in_folder(cls, folder: Path, origin: str, revision: str = "") -> Pack:
        return cls(read_manifest(folder), folder.resolve(), origin, revision)

    @cached_property
    def files(self) -> dict[str, SourceFile]:
        """The workflows by name. Raises `PackError` if two have the same name, or one has none."""
        paths = [path for path in self._matching(self.manifest.workflows) if not is_test_file(path.name)]
        wrong = [path for path in paths if not is_source_name(path.name)]
        if wrong:
            raise PackError(f"`{self._shown(wrong[0])}` is neither a YAML file nor a workflow.md")
        _, loaded = load_project(
            Selection(Config(self.folder), paths, []), self._contents(paths), with_templates=False
        )
        found: dict[str, SourceFile] = {}
        for path, file in loaded.items():
            name = file.name
            if name is None:
                raise PackError(f"`{self._shown(path)}` is not a workflow: it has no valid name")
            if name in found:
                raise PackError(f"the pack has two workflows called `{name}`")
            found[name] = file
        if not found:
            raise PackError(f"the pack has no workflows in {', '.join(self.manifest.workflows)}")
        return found

    @cached_property
    def agents(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for path in self._matching(self.manifest.agents):
            if path.suffix == ".md" and found.setdefault(path.stem, path) is not path:
                raise PackError(f"the pack has two agents called `{path.stem}`")
        return found

    @cached_property
    def _texts(self) -> dict[Path, str]:
        """What was read: a file that is changed meanwhile is copied as it was checked."""
        return {}

    def item(self, name: str) -> Item:
        """A workflow with its tests, the workflows that it calls, the texts that they name, and their agents."""
        file = self.files[name]
        needed: list[SourceFile] = self.project.with_called(file)
        files: dict[str, str] = {}
        agents: dict[str, AgentFile] = {}
        for one in needed:
            path = Path(one.source.path)
            beside = self._beside(path)
            files |= beside
            copied = {f".claude/agents/{agent.name}": self._read(agent) for agent in self._agents_of(one)}
            files |= copied
            # A mission may have its agents beside it.
            inside = {place: text for place, text in beside.items() if Path(place).parent.name == "agents"}
            agents |= {place: _agent(place, text) for place, text in (copied | inside).items()}
        called = tuple(one.name for one in needed[1:] if one.name)
        for place in files:
            _check_path(place)
        return Item(name, file, files, agents, called)

    @property
    def project(self) -> Project:
        return next(iter(self.files.values())).project

    def _beside(self, path: Path) -> dict[str, str]:
        """A workflow, its test file and the text files that it names; of a workflow.md, its whole folder."""
        text = self._read(path)
        if path.name == MARKDOWN:
            inside = [one for one in sorted(path.parent.rglob("*")) if one.is_file() and one.suffix in _TEXTS]
            if len(inside) > _MOST_FILES:
                raise PackError(f"`{self._shown(path.parent)}` has more than {_MOST_FILES} files")
            return {self._place(one): self._read(one) for one in inside}
        names = texts_named_in(text.encode("utf-8", "surrogatepass"))
        if names is None:
            raise PackError(f"`{self._shown(path)}` names a text file in a form that wfc can't copy")
        tests = [path.with_name(f"{path.stem}.test{ending}") for ending in ENDINGS]
        beside = [one for one in tests if one.is_file()] + [path.parent / name for name in names]
        return {self._place(path): text, **{self._place(one): self._read(one) for one in beside}}

    def _agents_of(self, file: SourceFile) -> Iterator[Path]:
        named = {
            word.removeprefix("@")
            for step in file.steps
            for key in ("agent", "subagent_type")
            if (value := step.values.get(key)) is not None and (word := str(getattr(value, "text", "")))
        }
        yield from (path for name, path in self.agents.items() if name in named)

    def _place(self, path: Path) -> str:
        """The place of a file in a project: inside `workflows`, with the folders that the pack gives it there."""
        inside = self._inside(path).relative_to(self.folder).as_posix()
        return inside if inside.startswith("workflows/") else f"workflows/{inside}"

    def _matching(self, patterns: Iterable[str]) -> list[Path]:
        found: dict[Path, None] = {}
        for pattern in patterns:
            # SECURITY. The manifest is untrusted: a pattern must not copy the user's own files.
            if pattern.startswith(("/", "~")) or ".." in Path(pattern).parts:
                raise PackError(f"the pattern `{pattern}` points outside the pack")
            for path in sorted(self.folder.glob(pattern)):
                if not path.is_dir():
                    found[path] = None
                    # A named pipe or a device would block the reader.
                    if not path.is_file():
                        raise PackError(f"`{self._shown(path)}` is not a file")
            if len(found) > _MOST_FILES:
                raise PackError(f"the pack has more than {_MOST_FILES} files")
        return list(found)

    def _contents(self, paths: Iterable[Path]) -> dict[Path, str | bytes]:
        return {path: self._read(path) for path in paths}

    def _read(self, path: Path) -> str:
        if path not in self._texts:
            self._texts[path] = _read_in(self.folder, path)
        return self._texts[path]

    def _inside(self, path: Path) -> Path:
        return _inside(self.folder, path)

    def _shown(self, path: Path) -> str:
        return _shown(self.folder, path)


def _check_path(place: str) -> None:
    """A name must mean the same file on every system and in every terminal."""
    for part in place.removeprefix(".claude/").split("/"):
        if (
            not part.isprintable()
            or _UNPORTABLE.intersection(part)
            or part.startswith("-")
            or part[-1:] in ". "
        ):
            raise PackError(f"`{place}` is not a name that every system can have")
        if part.startswith(".") or part.lower() in _CLIENT_FILES:
            raise PackError(f"`{place}` is hidden, or a file that clients read as instructions")


def _agent(place: str, text: str) -> AgentFile:
    """An agent's file, which must not do more than it shows."""
    found = read_agent(place, text)
    if found.keys is None:
        raise PackError(f"the front matter of `{place}` is not a plain list of keys")
    unknown = [key for key in found.keys if key not in _AGENT_KEYS]
    if unknown:
        raise PackError(f"`{place}` has `{unknown[0]}`; an agent of a pack may have {', '.join(_AGENT_KEYS)}")
    if found.name != Path(place).stem:
        raise PackError(f"`{place}` is the file of another agent, `{found.name}`")
    return found


def _read_in(folder: Path, path: Path) -> str:
    """The text of a file of a pack. Devices, pipes, links that lead out and large files are refused."""
    full, shown = _inside(folder, path), _shown(folder, path)
    try:
        if not full.is_file() or full.stat().st_size > _MOST_BYTES:
            raise PackError(f"`{shown}` is not a file of at most {_MOST_BYTES:,} bytes")
        # Line ends stay as they are: the digest is that of the bytes.
        return full.read_bytes().decode("utf-8")
    except OSError as error:
        raise PackError(f"can't read `{shown}`: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PackError(f"`{shown}` is not UTF-8 text") from None


def _inside(folder: Path, path: Path) -> Path:
    """The path without links, none of which may lead out of the pack."""
    full = path.resolve()
    if not full.is_relative_to(folder):
        raise PackError(f"`{_shown(folder, path)}` leads out of the pack")
    return full


def _shown(folder: Path, path: Path) -> str:
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:
        return path.name if path.name == MANIFEST else str(path)


def shipped_pack() -> Pack:
    """The workflows that wfc ships."""
    manifest = Manifest("wfc", __version__, "The workflows that wfc ships.")
    return Pack(manifest, shipped_folder(), "wfc")
