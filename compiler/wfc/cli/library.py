"""`wfc library`: workflows to copy into a project."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from wfc.cli.shared.names import completing
from wfc.cli.shared.output import say, to_json
from wfc.cli.shared.workflow import compile_in_memory, print_errors
from wfc.config import Config, load_config
from wfc.language.agent_file import AGENTS_FOLDER, read_agent
from wfc.library import Pack, PackError, shipped_pack
from wfc.library.fetch import SHIPPED, is_origin, opened_pack
from wfc.library.lock import LOCK, Lock, added_from, changes, edited
from wfc.library.pack import Item
from wfc.render.style import Style, counted, printable, style_for
from wfc.suggest import did_you_mean
from wfc.workspace.files import select, writing
from wfc.workspace.loading import load_project

_STAGE = ".wfc-adding-"
"""The name of the folder in which files wait until all of them are written."""
_FIRST = 76
"""The number of characters of a description in a list."""


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except PackError as error:
        raise click.ClickException(printable(str(error))) from error


def _names() -> Iterator[str]:
    yield from shipped_pack().files


_LIBRARY = completing(_names, with_files=False)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("library")
def command() -> None:
    """Find workflows that are ready to use, and copy them into this project.

    The library is shipped with wfc. `wfc serve --library` offers its workflows without copying them.
    """


# -- list and show -----------------------------------------------------------


@command.command("list")
@_json
def list_(as_json: bool) -> int:
    """List the workflows of the library."""
    with _telling():
        rows = [_row(name, pack.files[name]) for pack in [shipped_pack()] for name in sorted(pack.files)]
    if as_json:
        click.echo(to_json({"workflows": rows}))
        return 0
    style, width = style_for(sys.stdout), max(len(str(row["name"])) for row in rows)
    for row in rows:
        title = style.paint(f"{row['name']:<{width}}", "bold")
        say(f"{title}  {_short(str(row['description']))}")
    say("\n`wfc library show NAME` prints one, `wfc library add NAME` copies it into this project")
    return 0


def _row(name: str, file: Any) -> dict[str, Any]:
    workflow = file.workflow
    about = workflow.description.text if workflow.description else ""
    tags = [tag.text for tag in workflow.tags or []]
    version = workflow.version.text if workflow.version else ""
    return {
        "name": name,
        "version": version,
        "language": file.dialect.name,
        "description": " ".join(about.split()),
        "tags": tags,
    }


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _FIRST else f"{shown[: _FIRST - 3]}..."


@command.command("show")
@click.argument("name", shell_complete=_LIBRARY)
@_json
def show(name: str, as_json: bool) -> int:
    """Print a workflow of the library: its purpose, requirements, files and source."""
    with _telling():
        pack = shipped_pack()
        item = _item(pack, name)
        needs = _needs(pack, item)
    row = _row(name, item.file)
    if as_json:
        click.echo(to_json({**row, "needs": needs, "files": item.files}))
        return 0
    style = style_for(sys.stdout)
    say(
        f"{style.paint(name, 'bold')} {row['version']} ({row['language']})\n{printable(row['description'])}\n"
    )
    # The source follows.
    _say_needs(needs, style, in_full=False)
    say(f"files: {', '.join(item.files)}\n")
    say(printable(item.file.source.text.rstrip("\n")))
    return 0


def _item(pack: Pack, name: str) -> Item:
    if name not in pack.files:
        raise PackError(f"{pack.origin} has no workflow `{name}`; {did_you_mean(name, pack.files)}")
    return pack.item(name)


def _needs(pack: Pack, item: Item) -> dict[str, Any]:
    """The possible actions of a run, from the plans of the workflow and of those that it calls."""
    files = [pack.files[name] for name in (item.name, *item.called)]
    if print_errors(files):
        raise PackError(f"`{item.name}` has errors")
    from wfc_runtime.plan import explain_plan, needed_access

    modules = {name: module.workflow for name, module in compile_in_memory(files).items()}
    plan = explain_plan(modules[item.name], modules.get)
    needs: dict[str, Any] = {key: plan["needs"].get(key, []) for key in ("commands", "tools", "agents")}
    needs["commands"] = list(dict.fromkeys(str(one["command"]) for one in needs["commands"]))
    needs |= needed_access(modules[item.name], modules.get)
    needs["agent_tools"] = {agent.name: agent.tools for agent in item.agents.values()}
    needs["people"] = len(plan["waits"]["person"])
    return needs


def _say_needs(needs: dict[str, Any], style: Style, *, in_full: bool = True) -> None:
    def row(label: str, text: str) -> None:
        # What is left out could be the part that matters.
        first, *more = printable(text.strip()).split("\n") if in_full else [_short(" ".join(text.split()))]
        say(f"{style.paint(f'{label:<10}', 'cyan')}{first}")
        for line in more:
            say(f"{'':10}{line}")

    for one in needs["commands"]:
        row("runs", one)
    for label in ("reads", "writes", "requests", "blocks"):
        if needs[label]:
            row(label, ", ".join(needs[label]))
    if needs["tools"]:
        row("calls", ", ".join(needs["tools"]))
    if needs["agents"]:
        row("agents", ", ".join(needs["agents"]))
    for name, tools in needs["agent_tools"].items():
        row("tools", f"@{name} may use {'every tool' if tools is None else ', '.join(tools) or 'no tool'}")
    if needs["people"]:
        row("asks", f"a person, {counted(needs['people'], 'question')}")


# -- add ---------------------------------------------------------------------


@command.command("add")
@click.argument("what", metavar="NAME|PATH|ADDRESS", shell_complete=_LIBRARY)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=_LIBRARY)
@click.option("--revision", default="", metavar="REV", help="Branch, tag or commit of a git repository.")
@click.option("--show", is_flag=True, help="Print what would be copied, and copy nothing.")
@click.option("--overwrite", is_flag=True, help="Replace files that this project has changed.")
def add(what: str, names: tuple[str, ...], revision: str, show: bool, overwrite: bool) -> int:
    """Copy a workflow with its tests, the workflows that it calls and its agents into this project.

    NAME is a workflow of the library. PATH is a folder and ADDRESS a git repository (https, ssh or a local one) with a
    `wfc-pack.toml`; NAMEs select workflows of it, by default all. Everything is checked before anything is copied, and
    nothing of a pack is executed. wfc-library.json records the version, the digest and the texts, which
    `wfc library diff` compares with the library later.
    """
    origin = what if is_origin(what) else SHIPPED
    config = load_config(Path("."))
    with _telling(), opened_pack(origin, revision) as pack:
        # A single argument is the name of a workflow of the library, unless it looks like a place.
        chosen = (what, *names) if origin == SHIPPED else names or tuple(pack.files)
        adding = _Adding(config, pack, [_item(pack, name) for name in dict.fromkeys(chosen)])
        adding.check(overwrite)
        adding.say(style_for(sys.stdout))
        if not show:
            adding.copy()
    return 0


@dataclass
class _Adding:
    config: Config
    pack: Pack
    items: list[Item]

    def __post_init__(self) -> None:
        self.lock = Lock.load(self.config.root)
        self.needs = {item.name: _needs(self.pack, item) for item in self.items}

    def place(self, path: str) -> Path:
        """Where a file goes in this project."""
        # A project may keep its workflows in another folder.
        inside = path.removeprefix("workflows/")
        return self.config.root / path if inside == path else self.config.workflows_dir / inside

    def check(self, overwrite: bool) -> None:
        texts, names = dict[Path, str](), dict[str, Path]()
        for item in self.items:
            self._check_tools(item)
            places = {path: self.place(path) for path in item.files}
            # A pack comes from elsewhere, and its paths must not lead out of the project.
            outside = [path for path, place in places.items() if not self._is_inside(place)]
            if outside:
                raise PackError(f"`{outside[0]}` would be written outside this project")
            for path, place in places.items():
                if texts.setdefault(place, item.files[path]) != item.files[path]:
                    raise PackError(f"the pack has two files for `{path}`")
                if names.setdefault(str(place).casefold(), place) != place:
                    raise PackError(f"the pack has two files for `{path}` where case does not count")
            # Files that the project has not changed since they were added may be replaced.
            conflicts = [] if overwrite else self.lock.conflicts(item, places)
            if conflicts:
                several = ", ".join(f"`{path}`" for path in conflicts)
                raise PackError(f"this project has its own {several}; --overwrite replaces existing files")
        self._check_names({*map(os.path.realpath, texts)})
        self._check_agents()

    def _check_tools(self, item: Item) -> None:
        declared, needs = self.pack.manifest.tools, self.needs[item.name]
        if declared is None:
            return
        wanted = [*needs["tools"], *needs["servers"]]
        # Tools of a client are its own; those of MCP servers are not.
        wanted += [
            tool for tools in needs["agent_tools"].values() for tool in tools or () if tool.startswith("mcp")
        ]
        undeclared = [tool for tool in wanted if tool not in declared]
        if undeclared:
            raise PackError(
                f"`{item.name}` calls the tool `{undeclared[0]}`, which wfc-pack.toml does not declare"
            )

    def _check_agents(self) -> None:
        """An agent that is added must not take the name of another one of the project."""
        added = {one.name: self.place(path) for item in self.items for path, one in item.agents.items()}
        for path in sorted((self.config.root / AGENTS_FOLDER).glob("*.md")):
            try:
                name = read_agent(path.name, path.read_text(encoding="utf-8", errors="replace")).name
            except OSError:
                continue
            if name in added and added[name] != path:
                raise PackError(f"this project has an agent called `{name}` in `{path}`; rename one of them")

    def _check_names(self, places: set[str]) -> None:
        """A name must be unique in a project, so no other file may have that of a workflow which is added."""
        if not self.config.workflows_dir.is_dir():
            return
        added = {name for item in self.items for name in (item.name, *item.called)}
        _, files = load_project(select((str(self.config.workflows_dir),)), with_templates=False)
        for path, file in files.items():
            if file.name in added and os.path.realpath(path) not in places:
                raise PackError(
                    f"this project has a workflow called `{file.name}` in `{path}`; rename one of them"
                )

    def _is_inside(self, place: Path) -> bool:
        return Path(os.path.realpath(place)).is_relative_to(os.path.realpath(self.config.root))

    def say(self, style: Style) -> None:
        about = self.pack.manifest
        source = f"{about.name} {about.version}" + (
            f" at {self.pack.revision[:12]}" if self.pack.revision else ""
        )
        for item in self.items:
            say(f"{style.paint(item.name, 'bold')} from {printable(source)}, digest {item.digest[:12]}")
            _say_needs(self.needs[item.name], style)
            for path in item.files:
                say(f"  {printable(self.place(path).relative_to(self.config.root).as_posix())}")
        for kind, patterns in about.grants.items():
            if patterns:
                shown = printable(", ".join(patterns))
                say(f"the pack suggests --allow-{kind} for {shown}; adding it grants nothing")

    def copy(self) -> None:
        """Write all files into their own folder first, and then move each to its place, the lock last.

        A full disk changes nothing. After a kill each file is whole, the old or the new one, and adding again
        completes it.
        """
        texts: dict[Path, str] = {}
        for item in self.items:
            self.lock.entries[item.name] = added_from(self.pack, item)
            # A workflow comes after everything that it needs.
            texts |= {self.place(path): item.files[path] for path in reversed(item.files)}
        # Last: a lock without files would claim what is not there.
        texts[self.config.root / LOCK] = self.lock.text()
        root = self.config.root
        for left in root.glob(f"{_STAGE}*"):
            shutil.rmtree(left, ignore_errors=True)
        with writing(root), tempfile.TemporaryDirectory(prefix=_STAGE, dir=root) as stage:
            staged = {place: Path(stage, str(number)) for number, place in enumerate(texts)}
            for place, text in texts.items():
                staged[place].write_bytes(text.encode("utf-8"))
            _move_all(staged)
        say(f"\nadded {counted(len(self.items), 'workflow')}; next: `wfc compile`, then `wfc test`")


def _move_all(staged: dict[Path, Path]) -> None:
    """Move each file to its place. If one can't be moved, the earlier ones are taken back."""
    before: dict[Path, bytes | None] = {}
    try:
        for place, file in staged.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            content = place.read_bytes() if place.exists() else None
            os.replace(file, place)
            before[place] = content
    except OSError:
        for place, old in before.items():
            if old is None:
                place.unlink()
            else:
                place.write_bytes(old)
        raise


# -- diff --------------------------------------------------------------------


@command.command("diff")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=_LIBRARY)
@_json
def diff(names: tuple[str, ...], as_json: bool) -> int:
    """Show what changed in the library since workflows were added. Exits with 1 if something did.

    Changes of this project are not shown: git does that. A pack is read again from where it came from.
    """
    config = load_config(Path("."))
    with _telling():
        lock = Lock.load(config.root)
        unknown = [name for name in names if name not in lock.entries]
        if unknown:
            raise PackError(
                f"`{unknown[0]}` was not added from a library; {did_you_mean(unknown[0], lock.entries)}"
            )
        rows = [_difference(config, lock, name) for name in names or sorted(lock.entries)]
    if as_json:
        click.echo(to_json({"workflows": rows}))
    else:
        _say_differences(rows, style_for(sys.stdout))
    return 1 if any(row["changed"] for row in rows) else 0


def _difference(config: Config, lock: Lock, name: str) -> dict[str, Any]:
    entry = lock.entries[name]
    # From where it came, in its present version.
    with opened_pack(entry.origin) as pack:
        adding = _Adding(config, pack, [])
        places = {path: adding.place(path) for path in entry.files}
        about = {
            "name": name,
            "from": entry.version,
            "to": pack.manifest.version,
            "edited": edited(entry, places),
        }
        if name not in pack.files:
            return {**about, "changed": True, "removed": True, "diff": ""}
        found = changes(entry, pack.item(name))
    return {**about, "changed": bool(found), "removed": False, "diff": found}


def _say_differences(rows: list[dict[str, Any]], style: Style) -> None:
    if not rows:
        say("no workflow of this project was added from a library")
    for row in rows:
        title = style.paint(row["name"], "bold")
        if row["removed"]:
            say(f"{title}: {row['to']} no longer has it")
        elif not row["changed"]:
            say(f"{title}: unchanged since {row['from']}")
        else:
            say(f"{title}: {row['from']} -> {row['to']}")
            say(printable(row["diff"].rstrip("\n")))
        if row["edited"]:
            say(f"  changed in this project: {', '.join(row['edited'])}")


for one in (list_, show, add, diff):
    one.short_help = " ".join((one.help or "").partition("\n\n")[0].split())
