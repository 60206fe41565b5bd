"""Modules that appear or change after a process has started: executed only if a source compiles to them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.command import inside as wfc
from tests.runtime.support import steps
from wfc.config import load_config
from wfc.emit.module import with_header
from wfc.workspace.runtime import Sources, modules_at_start
from wfc_runtime.errors import WfcError
from wfc_runtime.header import FORMAT, digest
from wfc_runtime.registry import Registry
from wfc_runtime.trust import MOST_BYTES

OWN = steps("{id: r, type: return, value: 1}", name="own")
OTHER = steps("{id: r, type: return, value: 2}", name="other")
NAMES = ["other", "own"]


@dataclass
class Project:
    """A compiled project, and a registry that has trusted its modules at the start."""

    root: Path
    registry: Registry

    @property
    def generated(self) -> Path:
        return self.root / "generated"

    @property
    def sources(self) -> Path:
        return self.root / "workflows"

    @property
    def mark(self) -> str:
        """A line that leaves a file when it is executed."""
        return f"open({str(self.root / 'executed')!r}, 'w').close()"

    def body(self, name: str = "own") -> str:
        return (self.generated / f"{name}.py").read_text(encoding="utf-8").split("\n", 4)[4]

    def evil(self, source: str = "workflows/own.yaml", body: str | None = None) -> bytes:
        """A module with a right digest that would do what it does, and leave the mark."""
        return with_header(
            source, digest(OWN), f"{self.mark}\n{self.body() if body is None else body}"
        ).encode()

    def put(self, data: bytes, name: str = "evil.py") -> Path:
        path = self.generated / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    def compile(self) -> None:
        assert wfc("compile", "-q", cwd=self.root).status == 0

    def names(self) -> list[str]:
        return [module.workflow.name for module in self.registry.modules()]

    def said(self) -> str:
        return "\n".join(f"{error.code}: {error.message}" for error in self.registry.problems())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    (tmp_path / "workflows").mkdir()
    for name, text in (("own", OWN), ("other", OTHER)):
        (tmp_path / "workflows" / f"{name}.yaml").write_text(text, encoding="utf-8")
    assert wfc("compile", "-q", cwd=tmp_path).status == 0
    config = load_config(tmp_path)
    return Project(
        tmp_path, Registry(tmp_path / "generated", modules_at_start(config, [config.generated_dir]))
    )


def _named(source: str) -> Callable[[Project], object]:
    """A new module whose header names this source. What the source says does not matter."""
    return lambda project: project.put(project.evil(source))


def _outside(project: Project) -> None:
    """A module of a source that lies elsewhere in the project: where a file step may write."""
    (project.root / "evil.yaml").write_text(OWN, encoding="utf-8")
    project.put(project.evil("evil.yaml"))


def _absolute(project: Project) -> None:
    project.put(project.evil(str(project.sources / "own.yaml")))


def _link_out(project: Project) -> None:
    (project.root / "elsewhere.yaml").write_text(OWN, encoding="utf-8")
    (project.sources / "link.yaml").symlink_to("../elsewhere.yaml")
    project.put(project.evil("workflows/link.yaml"))


def _link_out_compiled(project: Project) -> None:
    """Not even a module that the link's target compiles to: a file step may have written the target."""
    (project.root / "elsewhere.yaml").write_text(OWN.replace("name: own", "name: link"), encoding="utf-8")
    (project.sources / "link.yaml").symlink_to("../elsewhere.yaml")
    project.compile()


def _folder_replaced(project: Project) -> None:
    """The folder of the sources is another one than at the start."""
    elsewhere = project.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "fresh.yaml").write_text(OWN.replace("name: own", "name: fresh"), encoding="utf-8")
    project.sources.rename(project.root / "gone")
    project.sources.symlink_to("elsewhere")
    made = project.root / "made"
    assert wfc("compile", "-q", "-o", made, cwd=project.root).status == 0
    project.put((made / "fresh.py").read_bytes(), "fresh.py")


def _test_file(project: Project) -> None:
    (project.sources / "own.test.yaml").write_text(OWN, encoding="utf-8")
    project.put(project.evil("workflows/own.test.yaml"))


def _hidden(project: Project) -> None:
    (project.sources / ".own.yaml").write_text(OWN, encoding="utf-8")
    project.put(project.evil("workflows/.own.yaml"))


def _with_errors(project: Project) -> None:
    (project.sources / "own.yaml").write_text(OWN.replace("type: return", "type: retrun"), encoding="utf-8")
    project.put(project.evil())


def _source_gone(project: Project) -> None:
    (project.sources / "own.yaml").unlink()
    project.put(project.evil(), "own.py")


def _source_renamed(project: Project) -> None:
    (project.sources / "own.yaml").rename(project.sources / "mine.yaml")
    project.put(project.evil(), "own.py")


def _same_stamp(project: Project) -> None:
    """Rewritten in place, with the size, the inode and the times of before."""
    path = project.generated / "own.py"
    project.names()
    before = path.stat()
    body = project.body()
    changed = f"{project.mark}\n{body}"[: len(body)]
    path.write_bytes(with_header("workflows/own.yaml", digest(OWN), changed).encode())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_mtime_ns, after.st_size, after.st_ino) == (
        before.st_mtime_ns,
        before.st_size,
        before.st_ino,
    )


def _deleted_and_made_again(project: Project) -> None:
    path = project.generated / "own.py"
    data = project.evil()
    path.unlink()
    project.registry.modules()
    path.write_bytes(data)


def _link(project: Project) -> None:
    (project.root / "elsewhere.py").write_bytes(project.evil())
    (project.generated / "evil.py").symlink_to("../elsewhere.py")


def _old_version_under_a_new_name(project: Project) -> None:
    """Bytes that were trusted at the start, but not in this file."""
    path = project.generated / "own.py"
    old = path.read_bytes()
    (project.sources / "own.yaml").write_text(OWN.replace("value: 1", "value: 3"), encoding="utf-8")
    project.compile()
    project.put(old, "aaa.py")


def _fifo(project: Project) -> None:
    os.mkfifo(project.generated / "evil.py")


def _fifo_at_the_start(project: Project) -> None:
    _fifo(project)
    config = load_config(project.root)
    project.registry = Registry(project.generated, modules_at_start(config, [project.generated]))


def _return_in_header(project: Project) -> None:
    """A carriage return ends a comment in Python: the rest of the line would be code that no digest covers."""
    text = (project.generated / "own.py").read_text(encoding="utf-8")
    changed = text.replace("workflows/own.yaml", f"x\r{project.mark}\r#", 1)
    (project.generated / "own.py").write_bytes(changed.encode())


UNTRUSTED = "module_untrusted"
NOT_A_SOURCE = f"{UNTRUSTED}: .* which is not a workflow source of this project"
DIFFERS = f"{UNTRUSTED}: .* differs from the module that `workflows/own.yaml` compiles to"
ATTEMPTS: dict[str, tuple[Callable[[Project], object], str, list[str]]] = {
    "a forged module of a source that there is not": (_named("workflows/evil.yaml"), NOT_A_SOURCE, NAMES),
    "a forged module of another workflow's source": (_named("workflows/own.yaml"), DIFFERS, NAMES),
    "a forged module in the place of one": (
        lambda project: project.put(project.evil(), "own.py"),
        f"own.py is untrusted: it changed after the server started.* {DIFFERS.partition(' ')[2]}",
        ["other"],
    ),
    "an added line at the end": (
        lambda project: project.put(
            with_header("workflows/own.yaml", digest(OWN), project.body() + project.mark).encode(), "own.py"
        ),
        DIFFERS,
        ["other"],
    ),
    "the name of one, in other letters": (
        lambda project: project.put(project.evil(), "OWN.py"),
        DIFFERS,
        NAMES,
    ),
    "a source elsewhere in the project": (_outside, NOT_A_SOURCE, NAMES),
    "an absolute source": (_absolute, NOT_A_SOURCE, NAMES),
    "a source with dots": (_named("workflows/../workflows/own.yaml"), NOT_A_SOURCE, NAMES),
    "a source above": (_named("../own.yaml"), NOT_A_SOURCE, NAMES),
    "a source with a dot": (_named("./workflows/own.yaml"), NOT_A_SOURCE, NAMES),
    "a source in other letters": (_named("workflows/OWN.yaml"), NOT_A_SOURCE, NAMES),
    "a source with backslashes": (_named("workflows\\own.yaml"), NOT_A_SOURCE, NAMES),
    "a source with a newline": (_named("workflows/own.yaml\n"), NOT_A_SOURCE, NAMES),
    "a source with a null character": (_named("workflows/own.yaml\0"), NOT_A_SOURCE, NAMES),
    "a device": (_named("/dev/zero"), NOT_A_SOURCE, NAMES),
    "the module as its own source": (_named("generated/evil.py"), NOT_A_SOURCE, NAMES),
    "no source": (_named(""), NOT_A_SOURCE, NAMES),
    "a link out of the sources": (_link_out, NOT_A_SOURCE, NAMES),
    "a compiled link out of the sources": (_link_out_compiled, NOT_A_SOURCE, NAMES),
    "another folder of sources": (_folder_replaced, NOT_A_SOURCE, NAMES),
    "a file of tests as source": (_test_file, NOT_A_SOURCE, NAMES),
    "a hidden file as source": (_hidden, NOT_A_SOURCE, NAMES),
    "a source with errors": (_with_errors, f"{UNTRUSTED}: .* `workflows/own.yaml` has errors", NAMES),
    "a source that has gone": (_source_gone, NOT_A_SOURCE, ["other"]),
    "a source that was renamed": (_source_renamed, NOT_A_SOURCE, ["other"]),
    "the same times, size and inode": (_same_stamp, DIFFERS, ["other"]),
    "deleted and made again": (_deleted_and_made_again, DIFFERS, ["other"]),
    "a link": (_link, DIFFERS, NAMES),
    "an old version under a new name": (_old_version_under_a_new_name, DIFFERS, NAMES),
    "a header with code after a carriage return": (_return_in_header, "^$", ["other"]),
    "no header": (lambda project: project.put(project.mark.encode()), "^$", NAMES),
    "a byte order mark": (lambda project: project.put(b"\xef\xbb\xbf" + project.evil()), "^$", NAMES),
    "lines that end with CRLF": (
        lambda project: project.put(project.evil().replace(b"\n", b"\r\n")),
        "^$",
        NAMES,
    ),
    "an encoding of its own": (
        lambda project: project.put(b"# coding: utf-7\n" + project.evil()),
        "^$",
        NAMES,
    ),
    "an encoding of its own in the body": (
        lambda project: project.put(project.evil(body=f"# coding: utf-7\n{project.mark}")),
        DIFFERS,
        NAMES,
    ),
    "bytes that are no text": (
        lambda project: project.put(project.evil() + b"\xff"),
        "module_broken: .* can't be read",
        NAMES,
    ),
    "a wrong digest": (
        lambda project: project.put(project.evil() + b"#"),
        "module_edited: .* has been edited",
        NAMES,
    ),
    "another format": (
        lambda project: project.put(project.evil().replace(b"wfc-format: %d" % FORMAT, b"wfc-format: 0")),
        "module_format: ",
        NAMES,
    ),
    "a huge file": (
        lambda project: project.put(project.evil() + b"#" * MOST_BYTES),
        "module_broken: .* larger than 33,554,432 bytes",
        NAMES,
    ),
    "a folder": (
        lambda project: (project.generated / "evil.py").mkdir(),
        "module_broken: .* not a regular file",
        NAMES,
    ),
    "a pipe": (_fifo, "module_broken: .* not a regular file", NAMES),
    "a pipe that is there at the start": (_fifo_at_the_start, "module_broken: .* not a regular file", NAMES),
    "a package": (lambda project: project.put(project.evil(), "__init__.py"), DIFFERS, NAMES),
    "a folder below": (lambda project: project.put(project.evil(), "below/evil.py"), "^$", NAMES),
    "a compiled file": (lambda project: project.put(project.evil(), "evil.pyc"), "^$", NAMES),
}


@pytest.mark.parametrize(("attempt", "reason", "names"), ATTEMPTS.values(), ids=ATTEMPTS)
def test_no_module_that_came_later_is_executed_unless_a_source_compiles_to_it(
    project: Project, attempt: Callable[[Project], object], reason: str, names: list[str]
) -> None:
    assert project.names() == NAMES
    attempt(project)
    assert project.names() == names
    assert re.search(reason, project.said()), project.said()
    for name in ("evil", "own", "link"):
        try:
            project.registry.find(name)
        except WfcError:
            continue
    assert not (project.root / "executed").exists()


@pytest.mark.parametrize(("attempt", "reason", "names"), ATTEMPTS.values(), ids=ATTEMPTS)
def test_the_same_holds_where_the_modules_are_first_looked_at_afterwards(
    project: Project, attempt: Callable[[Project], object], reason: str, names: list[str]
) -> None:
    """What is trusted is what was there at the start, not at the first call."""
    attempt(project)
    assert project.names() == names
    assert not (project.root / "executed").exists()


def test_the_mark_is_left_where_such_a_module_is_trusted(project: Project) -> None:
    """Else the tests above could not fail."""
    project.put(project.evil())
    Registry(project.generated).modules()
    assert (project.root / "executed").exists()


def test_what_is_verified_is_what_is_executed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is exchanged while its source is being compiled."""
    path = project.generated / "own.py"
    (project.sources / "own.yaml").write_text(OWN.replace("value: 1", "value: 3"), encoding="utf-8")
    project.compile()
    evil, refusal = project.evil(), Sources.refusal

    def exchange(self: Sources, source: str, text: str) -> str | None:
        found = refusal(self, source, text)
        path.write_bytes(evil)
        return found

    monkeypatch.setattr(Sources, "refusal", exchange)
    found = project.registry.find("own")
    assert found.workflow.machine.steps["r"].value == 3  # type: ignore[attr-defined]
    monkeypatch.setattr(Sources, "refusal", refusal)
    assert project.names() == ["other"]
    assert not (project.root / "executed").exists()


def test_a_module_is_verified_once_for_each_content(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    refusal = Sources.refusal

    def counting(self: Sources, source: str, text: str) -> str | None:
        asked.append(source)
        return refusal(self, source, text)

    monkeypatch.setattr(Sources, "refusal", counting)
    for _ in range(3):
        project.names()
    assert asked == []
    (project.sources / "own.yaml").write_text(OWN.replace("value: 1", "value: 3"), encoding="utf-8")
    project.compile()
    for _ in range(3):
        project.names()
        os.utime(project.generated / "own.py")
    assert asked == ["workflows/own.yaml"] * 2, "the module and its line map"
    project.put(project.evil("workflows/evil.yaml"))
    for _ in range(3):
        assert "evil.py is untrusted" in project.said()
    assert asked == ["workflows/own.yaml", "workflows/own.yaml", "workflows/evil.yaml"]


def test_a_module_under_another_name_and_one_of_an_odd_source_name_are_verified_too(project: Project) -> None:
    odd = "workflows/a\tb ü.yaml"
    (project.root / odd).write_text(OWN.replace("name: own", "name: odd"), encoding="utf-8")
    project.compile()
    for ending in (".py", ".map.json"):
        (project.generated / f"own{ending}").rename(project.generated / f"elsewhere{ending}")
    assert project.said() == ""
    assert project.names() == ["odd", "other", "own"]


def test_a_version_that_was_trusted_once_can_come_back(project: Project) -> None:
    path = project.generated / "own.py"
    old = path.read_bytes()
    (project.sources / "own.yaml").write_text(OWN.replace("value: 1", "value: 3"), encoding="utf-8")
    project.compile()
    assert project.names() == NAMES
    path.write_bytes(old)
    assert project.names() == NAMES


def test_settings_are_those_of_the_start(project: Project) -> None:
    """A source folder that is named later is none of this process."""
    (project.root / "more").mkdir()
    (project.root / "more" / "fresh.yaml").write_text(
        OWN.replace("name: own", "name: fresh"), encoding="utf-8"
    )
    (project.root / "pyproject.toml").write_text('[tool.wfc]\nworkflows = "more"\n', encoding="utf-8")
    project.compile()
    assert "`more/fresh.yaml`, which is not a workflow source of this project (`workflows`)" in project.said()


def test_the_folder_of_a_project_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "own.yaml").write_text(OWN, encoding="utf-8")
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    (root / "workflows").symlink_to(tmp_path / "kept")
    config = load_config(root)
    registry = Registry(config.generated_dir, modules_at_start(config, [config.generated_dir]))
    assert wfc("compile", "-q", cwd=root).status == 0
    assert [module.workflow.name for module in registry.modules()] == ["own"]


def test_a_run_in_a_terminal_does_not_call_a_module_that_came_after_its_start(tmp_path: Path) -> None:
    """The run's own command writes it."""
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    (tmp_path / "workflows").mkdir()
    child = steps("{id: r, type: return, value: 1}", name="child")
    parent = steps(
        "{id: write, type: shell, command: cp evil.txt generated/child.py}",
        "{id: make, type: call, workflow: child}",
        name="parent",
    )
    for name, text in (("child", child), ("parent", parent)):
        (tmp_path / "workflows" / f"{name}.yaml").write_text(text, encoding="utf-8")
    assert wfc("compile", "-q", cwd=tmp_path).status == 0
    project = Project(tmp_path, Registry(tmp_path / "generated"))
    body = f"{project.mark}\n{project.body('child')}"
    (tmp_path / "evil.txt").write_text(with_header("workflows/child.yaml", digest(child), body))
    done = wfc("run", "parent", "--allow-exec", cwd=tmp_path)
    assert "child.py is untrusted: it changed after the command started" in done.out + done.err
    assert not (tmp_path / "executed").exists()


def test_a_file_in_the_folder_of_the_project_is_not_imported(tmp_path: Path) -> None:
    """`python -m` looks there first. Much is imported only when a call needs it: a file of the right name would become
    code of the server."""
    for name in ("statemachine", "sqlite3", "jinja2", "yaml", "pydantic", "click"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w').close()\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "wfc", "runs", "--state", "x.db", "import", "-"],
        cwd=tmp_path,
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "this is not an exported run" in done.stderr
    assert not (tmp_path / "executed").exists()
