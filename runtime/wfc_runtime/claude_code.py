"""The setup of Claude Code on this machine, as far as its files show: agents, the wfc plugin, trusted projects.

The files belong to another program. A missing file, or one in an unexpected format, counts as unknown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BUILT_IN = frozenset({"general-purpose", "Explore", "Plan", "claude", "task"})
"""Agents that need no file. `@task` is any sub-agent that can call the wfc tools."""
_FRONT_MATTER_BYTES = 4096


def config_folder() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


@dataclass(frozen=True)
class Missing:
    """The missing requirements of a workflow."""

    agents: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.agents or self.tools)


def find_missing(
    agents: Iterable[object], tools: Iterable[object], root: Path, known_tools: Iterable[str] | None
) -> Missing:
    """`known_tools`: the tools that the settings list; None if they don't say."""
    needed = [agent for agent in agents if isinstance(agent, str) and agent.startswith("@")]
    there = agent_names(root) if needed else BUILT_IN
    listed = None if known_tools is None else {*known_tools}
    return Missing(
        tuple(agent for agent in needed if agent[1:] not in there),
        tuple(tool for tool in tools if isinstance(tool, str) and listed is not None and tool not in listed),
    )


def agent_names(root: Path) -> frozenset[str]:
    """The agents of a project: its own, the user's, and those of enabled plugins, with and without the plugin's
    prefix."""
    folders = [("", root / ".claude" / "agents"), ("", config_folder() / "agents")]
    folders += [(one.name.partition("@")[0], one.path / "agents") for one in enabled_plugins(root)]
    folders += [(path.parent.name, path) for path in sorted(root.glob(".claude/skills/*/agents"))]
    found = {*BUILT_IN}
    for plugin, folder in folders:
        for name in _agents_in(folder):
            found |= {name, f"{plugin}:{name}"} if plugin else {name}
    return frozenset(found)


def _agents_in(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.md"):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                lines = file.read(_FRONT_MATTER_BYTES).splitlines()
        except OSError:
            continue
        named = [
            line.removeprefix("name:").strip().strip("'\"") for line in lines if line.startswith("name:")
        ]
        yield named[0] if lines[:1] == ["---"] and named else path.stem


@dataclass(frozen=True)
class Plugin:
    name: str
    """As in `wfc@marketplace`."""
    path: Path
    version: str


def enabled_plugins(root: Path) -> Iterator[Plugin]:
    """The plugins that the client loads in a project. One that is installed but not enabled has no effect."""
    folder = config_folder()
    enabled: dict[str, Any] = {}
    # A plugin can be enabled, or turned off, for one project only: the later file overrides the earlier one.
    for settings in (folder, root / ".claude"):
        for name in ("settings.json", "settings.local.json"):
            enabled |= _object(_load(settings / name).get("enabledPlugins"))
    for name, places in _object(_load(folder / "plugins" / "installed_plugins.json").get("plugins")).items():
        if enabled.get(name) is not True:
            continue
        for place in map(_object, places if isinstance(places, list) else ()):
            path, version = place.get("installPath"), place.get("version")
            # The client keeps one entry for each project that has installed the plugin for itself.
            project = place.get("projectPath")
            is_elsewhere = isinstance(project, str) and os.path.realpath(project) != os.path.realpath(root)
            if isinstance(path, str) and isinstance(version, str) and not is_elsewhere:
                yield Plugin(name, Path(path), version)


def is_trusted(root: Path) -> bool | None:
    """Whether the user has accepted the project, which its permissions and hooks need. None: not known."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    path = Path(folder) / ".claude.json" if folder else Path.home() / ".claude.json"
    projects = _load(path).get("projects")
    if not isinstance(projects, dict):
        return None
    # The acceptance of a folder counts for the folders inside it.
    return any(
        _object(projects.get(str(one))).get("hasTrustDialogAccepted") is True for one in (root, *root.parents)
    )


def _load(path: Path) -> dict[str, Any]:
    try:
        return _object(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return {}


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
