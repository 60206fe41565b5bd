"""`wfc doctor`: checks that the parts of a project work together, with one function per part."""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from wfc.checker import check_project, has_errors
from wfc.config import Config, ConfigError, load_config
from wfc.findings import Severity
from wfc.render.style import counted
from wfc.starter.claude_plugin import COMMAND, MCP, SKILLS, TOOLSETS, names_server, servers_in
from wfc.workspace.files import Selection, in_folder, store_path
from wfc.workspace.loading import load_project
from wfc.workspace.modules import build
from wfc.workspace.runtime import Sources, engine_of
from wfc_runtime.agents.settings import AgentSettingsError, Program, load_programs, operator_file
from wfc_runtime.claude_code import Plugin, enabled_plugins, find_missing, is_trusted
from wfc_runtime.errors import WfcError
from wfc_runtime.header import read_header
from wfc_runtime.trust import module_paths, read_module
from wfc_runtime.version import __version__

_EXTRAS = {"pygls": ("lsp", "the language server"), "temporalio": ("temporal", "runs on Temporal")}
_SECONDS = 20
_CONFIGURATIONS = (MCP, f"{SKILLS}/{MCP}")
"""Where clients find the server in a project."""
_RENEW = "remove .claude/skills/wfc, then run `wfc init --claude`"


@dataclass(frozen=True, slots=True)
class Result:
    part: str
    status: str
    """ok, note (fine, but could be better) or problem."""
    message: str
    help: str = ""


def good(part: str, message: str) -> Result:
    return Result(part, "ok", message)


def note(part: str, message: str, help: str) -> Result:
    return Result(part, "note", message, help)


def bad(part: str, message: str, help: str) -> Result:
    return Result(part, "problem", message, help)


def examine(folder: Path) -> Iterator[Result]:
    """Yield each result as soon as it is known. No part raises."""
    yield from check_installation()
    try:
        config = load_config(folder)
    except ConfigError as error:
        # Without settings it is unknown where anything else is.
        yield bad("settings", str(error), "fix pyproject.toml; nothing else was checked")
        return
    where = "from [tool.wfc] in pyproject.toml" if config.configured else "defaults: there is no [tool.wfc]"
    yield good("settings", where)
    yield from check_project_files(config)
    yield from check_store(config)
    yield from check_engine(config)
    yield from check_clients(config)
    yield from check_claude_code(config)
    yield from check_hooks(config)
    yield from check_agents(config)


def check_installation() -> Iterator[Result]:
    yield good("wfc", f"version {__version__} on Python {platform.python_version()}")
    import yaml

    if not yaml.__with_libyaml__:
        help = "install PyYAML from a wheel, or libyaml's headers and then PyYAML"
        yield bad("yaml", "PyYAML was built without its C parser, which wfc needs", help)
    yield from _on_path()
    for module, (extra, purpose) in _EXTRAS.items():
        # A missing extra is not a problem and is not reported.
        if find_spec(module):
            yield good(extra, f"the extra for {purpose} is installed")


def _on_path() -> Iterator[Result]:
    found = shutil.which("wfc")
    if found is None:
        help = "activate the environment that wfc is installed in, or name its full path in .mcp.json"
        yield note("path", "there is no `wfc` on the PATH", help)
        return
    try:
        done = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=30, check=False)
        said = done.stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        yield bad("path", f"`{found}` does not run: {error}", "install the distribution `wfc-compiler` again")
        return
    # A second installation on the PATH is the usual cause of behaviour that nobody can explain.
    if said.endswith(f" {__version__}"):
        yield good("path", f"`wfc` on the PATH is this version ({found})")
    else:
        help = "agents and hooks start that one: upgrade it, or change the PATH"
        yield note("path", f"`wfc` on the PATH says `{said[:80]}` ({found}); this one is {__version__}", help)


def check_project_files(config: Config) -> Iterator[Result]:
    folders = [folder for folder in config.workflow_dirs if folder.is_dir()]
    if not folders:
        help = "`wfc init` writes a first workflow; or set `workflows` in [tool.wfc]"
        yield bad("workflows", f"there is no folder `{config.workflows}`", help)
        return
    try:
        files = [path for folder in folders for path in in_folder(folder, config, whole=True)]
        selection = Selection(config, files, folders)
        if selection.files:
            yield from _workflows(selection)
        else:
            yield note(
                "workflows", f"there is no workflow in `{config.workflows}`", "`wfc init` writes a first one"
            )
    except click.ClickException as error:
        yield bad("workflows", error.message, "see that every file there can be read")


def _workflows(selection: Selection) -> Iterator[Result]:
    project, files = load_project(selection, with_runs=True)
    # Suggestions are not a reason to call a workflow unhealthy.
    found = [one for one in check_project(project) if one.severity is not Severity.INFO]
    many = counted(len(files), "workflow")
    if found:
        yield bad("workflows", f"{many} with {counted(len(found), 'finding')}", "`wfc check` shows them")
    else:
        yield good("workflows", f"{many}, all clean")
    folder = selection.config.generated_dir
    # Nothing is written: the comparison itself reports what is out of date.
    if not has_errors(build(selection, folder, check_only=True).findings):
        yield good("modules", f"`{selection.config.generated}` matches the workflows")
    else:
        yield bad("modules", f"`{selection.config.generated}` does not match the workflows", "`wfc compile`")
    yield from _strangers(selection.config)


def _strangers(config: Config) -> Iterator[Result]:
    """Modules whose header names no source of the project."""
    sources = Sources(config)
    for path in module_paths(config.generated_dir):
        try:
            header = read_header(read_module(path).decode("utf-8"))
        except (OSError, UnicodeDecodeError):
            continue
        why = sources.not_a_source(header.path) if header else None
        if why:
            help = "remove it, or review it: a running server does not load such a file, a server that starts does"
            yield note("modules", f"`{config.generated}/{path.name}` is untrusted: {why}", help)


def check_store(config: Config) -> Iterator[Result]:
    path = store_path(None, config)
    if not path.exists():
        yield good("runs", "no run has been started yet")
        return
    from wfc_runtime.store.database import check_soundness
    from wfc_runtime.store.queries import waiting_runs

    try:
        check_soundness(path)
    except WfcError as error:
        yield bad("runs", error.message, error.hint or "make a copy of the file before you do anything else")
        return
    # A child run is part of its parent, and would be counted twice.
    runs = [run for run in waiting_runs(path) if not run.is_child]
    yield good("runs", f"`{_shown(path, config)}` can be read; {counted(len(runs), 'run')} in progress")
    # Runs may contain inputs and results that are not for everyone.
    if path.stat().st_mode & 0o077:
        yield note(
            "runs",
            f"`{_shown(path, config)}` can be read by other users",
            f"chmod 600 {_shown(path, config)}",
        )


def _shown(path: Path, config: Config) -> str:
    try:
        return str(path.resolve().relative_to(config.root))
    except ValueError:
        return str(path)


def check_engine(config: Config) -> Iterator[Result]:
    """Check the Temporal server with its namespace, the encryption of payloads, and the workers."""
    try:
        engine = engine_of(config, os.environ.get("WFC_ENGINE"))
    except click.ClickException as error:
        yield bad("engine", error.message, "correct [tool.wfc.temporal] or the WFC_TEMPORAL_ variables")
        return
    if engine.name != "temporal":
        return
    from wfc_runtime.engines.temporal_health import check_connection

    for found in check_connection(engine.temporal):
        message = f"{found.what}: {found.detail}"
        if not found.is_well:
            yield bad("temporal", message, found.hint)
        elif found.hint:
            yield note("temporal", message, found.hint)
        else:
            yield good("temporal", message)


def check_agents(config: Config) -> Iterator[Result]:
    """Start each agent program that `wfc run --agent` could use with `--version`."""
    path = operator_file(os.environ)
    settings = config.agents or {}
    roles = settings.get("roles", {}).values()
    wanted = {settings.get("default"), *(role.get("use") for role in roles)} - {None}
    try:
        programs = load_programs(path, config.root, "WFC_AGENTS" in os.environ)
        # A program that the operator configured is expected to work, even if no project names it.
        configured = set(tomllib.loads(path.read_text(encoding="utf-8"))) if path.is_file() else set()
    except AgentSettingsError as error:
        yield bad("agents", str(error), error.hint or "`wfc run --agent` can't use the file")
        return
    for name in sorted(wanted - programs.keys()):
        yield bad(
            "agents",
            f"[tool.wfc.agents] names `{name}`, which {path} does not have",
            f"known: {', '.join(programs)}",
        )
    for name, program in programs.items():
        # A built-in program that nobody asked for need not be installed.
        if name in wanted | configured or shutil.which(program.command[0]):
            yield _agent_answer(name, program)


def _agent_answer(name: str, program: Program) -> Result:
    found = shutil.which(program.command[0])
    if found is None:
        return bad(
            "agents",
            f"`{name}`: there is no program `{program.command[0]}`",
            "install it, or change `command`",
        )
    if not program.adapter.program:
        # Any program of the operator's own, which need not know the option.
        return good("agents", f"`{name}` is {found}")
    shown = shlex.join([*program.command, "--version"])
    try:
        done = subprocess.run(
            [*program.command, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return bad("agents", f"`{name}`: `{shown}` does not answer: {error}", f"try it: {shown}")
    # Some programs print their version to standard error.
    said = (done.stdout or done.stderr).strip().split("\n")[0][:80]
    if done.returncode:
        return bad(
            "agents",
            f"`{name}`: `{shown}` ended with exit code {done.returncode}: {said}",
            f"try it: {shown}",
        )
    return good("agents", f"`{name}` answers: {said}")


def check_clients(config: Config) -> Iterator[Result]:
    places = [place for place in _CONFIGURATIONS if (config.root / place).is_file()]
    if not places:
        yield note("agent", "there is no .mcp.json, so agents can't find the server", "`wfc init` writes one")
    for place in places:
        yield from _check_client(place, config, alone=len(places) == 1)


def _check_client(place: str, config: Config, *, alone: bool) -> Iterator[Result]:
    try:
        entries = servers_in(config.root / place)
    except (OSError, ValueError) as error:
        yield bad("agent", f"{place} can't be read: {error}", "fix it: an agent ignores the whole file")
        return
    except (KeyError, TypeError, AttributeError):
        yield bad("agent", f"{place} has no object `mcpServers`", "`wfc init --show` prints what to add")
        return
    # The server may be in the other file.
    if not entries and alone:
        yield note("agent", f"{place} names no `wfc serve`", "`wfc init --show` prints what to add")
    for name, entry in entries.items():
        yield _answer(name, entry, place, config)


def _answer(name: str, entry: Any, place: str, config: Config) -> Result:
    """Start the server as an agent would, and list its tools."""
    import asyncio

    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    words = [str(entry["command"]), *map(str, entry.get("args", []))]
    # As the client does it: the entry's variables are added to the environment.
    env = {**os.environ, **{key: str(value) for key, value in entry.get("env", {}).items()}}
    server = StdioServerParameters(command=words[0], args=words[1:], cwd=config.root, env=env)

    async def tools() -> int:
        async with asyncio.timeout(_SECONDS):
            with open(os.devnull, "w", encoding="utf-8") as silent:
                async with Client(stdio_client(server, errlog=silent)) as client:
                    return len((await client.list_tools()).tools)

    shown = " ".join(words)
    try:
        number = asyncio.run(tools())
    except Exception as error:
        # The SDK's error for a missing program is not clear, so that case is found out separately.
        if shutil.which(words[0], path=env.get("PATH")) is None:
            return bad(
                "agent",
                f"there is no program `{words[0]}` to start (`{name}` in {place})",
                f"start the agent with the program on the PATH, or use its full path in {place}{_own()}",
            )
        reason = _first(error)
        return bad("agent", f"`{shown}` (`{name}` in {place}) does not answer: {reason}", f"try it: {shown}")
    return good("agent", f"`{shown}` (`{name}` in {place}) answers, with {number} tools")


def _own() -> str:
    """The path of this wfc, for an agent's configuration."""
    program = shutil.which("wfc", path=os.path.dirname(sys.executable))
    return f": {program}" if program else ""


def _first(error: BaseException) -> str:
    """The first error inside the exception groups of the SDK."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"no answer within {_SECONDS} seconds"
    return str(error) or type(error).__name__


def check_claude_code(config: Config) -> Iterator[Result]:
    """Check the plugin, the files of `wfc init --claude` and the agents that workflows name."""
    plugins = [one for one in enabled_plugins(config.root) if one.name.partition("@")[0] == "wfc"]
    for plugin in plugins:
        yield _check_plugin(plugin)
    yield from _check_twice(config, has_plugin=bool(plugins))
    own = config.root / SKILLS / ".claude-plugin" / "plugin.json"
    if own.is_file():
        yield from _check_own_files(own)
        if plugins:
            help = "remove .claude/skills/wfc, or disable the plugin with `/plugin`"
            yield note("claude", "hooks run twice: the wfc plugin is enabled beside .claude/skills/wfc", help)
        if is_trusted(config.root) is False:
            help = "start `claude` in this folder once and accept it; until then its permissions and hooks do not count"
            yield note("claude", "Claude Code does not trust this folder yet", help)
    yield from _check_journal(config)
    yield from _check_needs(config)


def _check_plugin(plugin: Plugin) -> Result:
    if not (plugin.path / ".claude-plugin" / "plugin.json").is_file():
        help = "install it again: `/plugin install wfc --marketplace <owner>/<repo>`"
        return bad("claude", f"the files of the plugin `{plugin.name}` are not at {plugin.path}", help)
    if plugin.version != __version__:
        help = f"`/plugin update {plugin.name}`"
        return note("claude", f"the wfc plugin has version {plugin.version}, this is wfc {__version__}", help)
    return good("claude", f"the wfc plugin has this version ({__version__})")


def _check_twice(config: Config, *, has_plugin: bool) -> Iterator[Result]:
    """Check that the client starts one server only: the model would see the tools of each, under different names."""
    places = [place for place in _CONFIGURATIONS if names_server(config.root / place)]
    if len(places) + has_plugin > 1:
        first, *others = [*places, "the wfc plugin"] if has_plugin else places
        help = f"remove the entry from {first}" + (
            ", or disable the plugin with `/plugin`" if has_plugin else ""
        )
        message = f"every wfc tool exists twice: in {first} and in {' and in '.join(others)}"
        yield bad("claude", message, help)


def _check_own_files(manifest: Path) -> Iterator[Result]:
    try:
        version = json.loads(manifest.read_text(encoding="utf-8"))["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield bad("claude", f".claude/skills/wfc can't be read: {error}", _RENEW)
        return
    if version == __version__:
        yield good("claude", f".claude/skills/wfc has this version ({version})")
    else:
        yield note("claude", f".claude/skills/wfc has version {version}, this is wfc {__version__}", _RENEW)


def _check_journal(config: Config) -> Iterator[Result]:
    """Check that the server offers what the project's command `/workflow` calls."""
    if not (config.root / COMMAND).is_file():
        return
    for place in _CONFIGURATIONS:
        if names_server(config.root / place) and "journal" not in str(servers_in(config.root / place)):
            help = f'add "--toolsets", "{TOOLSETS}" to the arguments of `wfc serve` in {place}'
            yield note("claude", "`/workflow journal` has no tool: the server offers no journal", help)


def _check_needs(config: Config) -> Iterator[Result]:
    """Check that the agents and tools that compiled workflows name exist."""
    from wfc_runtime.plan.explain import explain_plan
    from wfc_runtime.registry import Registry

    for module in Registry(config.generated_dir).modules():
        # Called workflows are modules of their own, and looked at in their own turn.
        needs = explain_plan(module.workflow, lambda name: None)["needs"]
        missing = find_missing(needs.get("agents", ()), needs.get("tools", ()), config.root, config.tools)
        name = module.workflow.name
        if missing.agents:
            help = "add .claude/agents/<name>.md; without it, a general-purpose agent gets the brief"
            verb = "does" if len(missing.agents) == 1 else "do"
            yield note("agents", f"`{name}` names {', '.join(missing.agents)}, which {verb} not exist", help)
        if missing.tools:
            help = "connect the tools and list them, or change the workflow; without them, its steps fail"
            yield note(
                "tools", f"`{name}` calls {', '.join(missing.tools)}, not in `tools` of [tool.wfc]", help
            )


def check_hooks(config: Config) -> Iterator[Result]:
    if (config.root / ".git").exists():
        yield _hooks(config)
        ignored = _git(config, "check-ignore", ".wfc/state.db")
        if ignored:
            yield good("git", "runs (.wfc/) are ignored")
        elif ignored is not None:
            # An empty answer means that git does not ignore it; None, that there is no git.
            yield note("git", "runs (.wfc/) are not ignored by git", "add `.wfc/` to .gitignore")


def _hooks(config: Config) -> Result:
    path = config.root / ".pre-commit-config.yaml"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    if "wfc-compile" not in text or "wfc-check" not in text:
        return note("hooks", "pre-commit does not check workflows", "`wfc init --show` prints what to add")
    # Asked of git: hooks may be in another folder, such as with `core.hooksPath` or in a worktree.
    place = _git(config, "rev-parse", "--git-path", "hooks/pre-commit")
    if place and not (config.root / place).exists():
        return note(
            "hooks",
            "the hooks are configured but not installed in git",
            "`pip install pre-commit`, then `pre-commit install`",
        )
    return good("hooks", "pre-commit checks workflows and modules")


def _git(config: Config, *arguments: str) -> str | None:
    """The output of a git command; None if git is not available."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=config.root, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout.strip()
