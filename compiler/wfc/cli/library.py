"""`wfc library`: workflows to copy into a project."""

from __future__ import annotations

import os
import sys
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
from wfc.library import Pack, PackError, shipped_pack
from wfc.library.fetch import SHIPPED, is_origin, opened_pack
from wfc.library.lock import LOCK, Lock, added_from, changes, edited
from wfc.library.pack import Item
from wfc.render.style import Style, counted, printable, style_for
from wfc.suggest import did_you_mean
from wfc.workspace.files import writing

_FIRST = 76
"""The number of characters of a description in a list."""


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except PackError as error:
        raise click.ClickException(str(error)) from error


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
    """Print a workflow of the library: what it is for, what it needs, its files and its source."""
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
    _say_needs(needs, style)
    say(f"files: {', '.join(item.files)}\n")
    say(printable(item.file.source.text.rstrip("\n")))
    return 0


def _item(pack: Pack, name: str) -> Item:
    if name not in pack.files:
        raise PackError(f"{pack.origin} has no workflow `{name}`; {did_you_mean(name, pack.files)}")
    return pack.item(name)


def _needs(pack: Pack, item: Item) -> dict[str, Any]:
    """What a run can ask for, from the plans of the workflow and of those that it calls."""
    files = [pack.files[name] for name in (item.name, *item.called)]
    if print_errors(files):
        raise PackError(f"`{item.name}` has errors")
    from wfc_runtime.plan import explain_plan

    modules = {name: module.workflow for name, module in compile_in_memory(files).items()}
    plan = explain_plan(modules[item.name], modules.get)
    needs: dict[str, Any] = {key: plan["needs"].get(key, []) for key in ("commands", "tools", "agents")}
    needs["commands"] = list(dict.fromkeys(str(one["command"]) for one in needs["commands"]))
    needs["people"] = len(plan["waits"]["person"])
    return needs


def _say_needs(needs: dict[str, Any], style: Style) -> None:
    for one in needs["commands"]:
        say(f"{style.paint('runs', 'cyan')}   {_short(' '.join(one.split()))}")
    if needs["tools"]:
        say(f"{style.paint('calls', 'cyan')}  {printable(', '.join(needs['tools']))}")
    if needs["agents"]:
        say(f"{style.paint('agents', 'cyan')} {printable(', '.join(needs['agents']))}")
    if needs["people"]:
        say(f"{style.paint('asks', 'cyan')}   a person, {counted(needs['people'], 'question')}")


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
        chosen = names or ((what,) if origin == SHIPPED else tuple(pack.files))
        adding = _Adding(config, pack, [_item(pack, name) for name in chosen])
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
        inside = path.removeprefix("workflows/")
        return self.config.root / path if inside == path else self.config.workflows_dir / inside

    def check(self, overwrite: bool) -> None:
        declared = self.pack.manifest.tools
        for item in self.items:
            tools = self.needs[item.name]["tools"] if declared is not None else []
            undeclared = [tool for tool in tools if tool not in (declared or ())]
            if undeclared:
                raise PackError(
                    f"`{item.name}` calls the tool `{undeclared[0]}`, which wfc-pack.toml does not declare"
                )
            places = {path: self.place(path) for path in item.files}
            outside = [path for path, place in places.items() if not self._is_inside(place)]
            if outside:
                raise PackError(f"`{outside[0]}` would be written outside this project")
            conflicts = [] if overwrite else self.lock.conflicts(item, places)
            if conflicts:
                several = ", ".join(f"`{path}`" for path in conflicts)
                raise PackError(f"this project has its own {several}; --overwrite replaces what is there")

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
                say(f"  {self.place(path).relative_to(self.config.root).as_posix()}")
        for kind, patterns in about.grants.items():
            if patterns:
                shown = printable(", ".join(patterns))
                say(f"the pack suggests --allow-{kind} for {shown}; adding it grants nothing")

    def copy(self) -> None:
        for item in self.items:
            for path, text in item.files.items():
                place = self.place(path)
                with writing(path):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(text.encode("utf-8"))
            self.lock.entries[item.name] = added_from(self.pack, item)
        with writing(LOCK):
            (self.config.root / LOCK).write_text(self.lock.text(), encoding="utf-8")
        say(f"\nadded {counted(len(self.items), 'workflow')}; next: `wfc compile`, then `wfc test`")


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
