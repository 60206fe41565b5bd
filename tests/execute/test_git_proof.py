"""`git_snapshot` and `git_changes` on real repositories: what counts as changed, and who may look."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wfc_runtime.execute import Grant, execute, is_pure, refusal_of
from wfc_runtime.execute.protected import Protected
from wfc_runtime.git_proof import read_changes, read_snapshot

ODD = [
    "ü mlaut.md",
    "new\nline.md",
    'quo"te.md',
    "tab\tname.md",
    "-dash.md",
    "back\\slash.md",
    "*.md",
    ":(top)x",
]


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
        done = subprocess.run(
            ["git", *settings, *arguments], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return done.stdout

    def write(self, name: str, content: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def commit(self, **files: str) -> None:
        for name, content in files.items():
            self.write(name, content)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x", "--allow-empty")

    def snapshot(self, grant: Grant | None = None, **more: Any) -> dict[str, Any]:
        return execute({"type": "git_snapshot", "parameters": more}, grant or self.grant)

    def changes(self, since: dict[str, Any], scopes: Any = None, **more: Any) -> dict[str, Any]:
        parameters = {"since": since, "scopes": scopes, **more}
        return execute({"type": "git_changes", "parameters": parameters}, self.grant)

    @property
    def grant(self) -> Grant:
        return Grant(self.folder, commands=("git status",))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "project")
    made.commit(a="a", b="b", c="c")
    return made


def changed(repository: Repository, work: Callable[[], object]) -> list[str]:
    before = repository.snapshot()
    assert before["proved"] is True, before
    work()
    found = repository.changes(before)
    assert (found["proved"], found["total"]) == (True, len(found["changed"])), found
    return list(found["changed"])


def test_nothing_has_changed_if_nothing_was_done(repository: Repository) -> None:
    repository.write("a", "dirty")
    repository.write("new", "n")
    assert changed(repository, lambda: None) == []


def test_edits_new_files_and_deletions_are_changes_committed_or_not(repository: Repository) -> None:
    def work() -> None:
        repository.write("a", "other")
        repository.write("dir/new", "n")
        (repository.folder / "b").unlink()

    assert changed(repository, work) == ["a", "b", "dir/new"]
    repository.git("checkout", "-q", "--", ".")
    repository.git("clean", "-fdq")
    assert changed(repository, lambda: (work(), repository.commit())) == ["a", "b", "dir/new"]


def test_several_commits_and_an_amended_one_count_by_what_is_left_of_them(repository: Repository) -> None:
    def work() -> None:
        repository.commit(a="1", b="1")
        repository.commit(a="2", b="b")
        repository.write("a", "3")
        repository.git("commit", "-qam", "y", "--amend")

    assert changed(repository, work) == ["a"]


def test_a_revert_and_a_reset_leave_nothing(repository: Repository) -> None:
    def revert() -> None:
        repository.commit(a="1")
        repository.git("revert", "--no-edit", "HEAD")

    def soft_reset() -> None:
        repository.commit(a="1")
        repository.git("reset", "-q", "--soft", "HEAD~1")

    assert changed(repository, revert) == []
    assert changed(repository, lambda: (soft_reset(), repository.git("reset", "-q", "--hard"))) == []
    # Only the commit is taken back: the content stays.
    assert changed(repository, soft_reset) == ["a"]
    assert changed(repository, lambda: repository.git("reset", "-q")) == []


def test_a_branch_that_is_checked_out_counts_by_its_content(repository: Repository) -> None:
    repository.git("checkout", "-qb", "other")
    repository.commit(b="other", d="d")
    repository.git("checkout", "-q", "main")
    assert changed(repository, lambda: repository.git("checkout", "-q", "other")) == ["b", "d"]
    assert changed(repository, lambda: repository.git("checkout", "-qb", "same")) == []
    assert changed(repository, lambda: repository.git("checkout", "-q", "--orphan", "empty")) == []


def test_a_file_that_was_dirty_before_counts_only_if_its_content_is_another_one(
    repository: Repository,
) -> None:
    for name in ("a", "b", "c", "untracked"):
        repository.write(name, "dirty")

    def work() -> None:
        repository.commit()  # All of them, as they were.
        repository.write("b", "more")

    assert changed(repository, work) == ["b"]
    repository.write("c", "once more")
    assert changed(repository, lambda: repository.git("checkout", "-q", "--", "c")) == ["c"]
    (repository.folder / "a").unlink()
    assert changed(repository, lambda: repository.commit()) == []


def test_a_rename_is_a_deletion_and_a_new_file(repository: Repository) -> None:
    assert changed(repository, lambda: repository.git("mv", "a", "moved")) == ["a", "moved"]
    assert changed(repository, lambda: (repository.commit(), repository.git("mv", "moved", "a"))) == [
        "a",
        "moved",
    ]


def test_a_file_that_only_leaves_the_index_has_not_changed(repository: Repository) -> None:
    assert changed(repository, lambda: repository.git("rm", "-q", "--cached", "a")) == []
    assert changed(repository, lambda: repository.git("add", "a")) == []


def test_untracked_files_count_and_ignored_ones_do_not(repository: Repository) -> None:
    repository.commit(**{".gitignore": "*.log\n"})
    repository.write("old", "1")
    repository.write("gone", "1")

    def work() -> None:
        repository.write("old", "2")
        repository.write("x.log", "1")
        repository.write("deep/er/new", "1")
        (repository.folder / "gone").unlink()

    assert changed(repository, work) == ["deep/er/new", "gone", "old"]


def test_odd_names_are_told_as_they_are(repository: Repository) -> None:
    for name in ODD:
        repository.write(name, "1")
    broken = os.fsencode(repository.folder) + b"/\xff.md"
    Path(os.fsdecode(broken)).write_text("1")

    def work() -> None:
        for name in ODD[:4]:
            repository.write(name, "2")

    assert changed(repository, work) == sorted(ODD[:4])
    assert changed(repository, lambda: repository.commit()) == []
    assert changed(repository, work) == []
    assert changed(repository, lambda: [repository.write(name, "3") for name in ODD]) == sorted(ODD)
    assert changed(repository, lambda: Path(os.fsdecode(broken)).write_text("2")) == ["\\xff.md"]
    assert changed(repository, lambda: repository.commit()) == []


def test_links_and_permissions_are_content(repository: Repository) -> None:
    (repository.folder / "link").symlink_to("/etc/passwd")
    repository.commit()

    def work() -> None:
        (repository.folder / "link").unlink()
        (repository.folder / "link").symlink_to("a")
        (repository.folder / "b").chmod(0o755)

    assert changed(repository, work) == ["b", "link"]
    assert changed(repository, lambda: repository.commit()) == []
    os.mkfifo(repository.folder / "pipe")
    assert changed(repository, lambda: None) == []


def test_a_repository_without_commits_and_its_first_commits(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "new")
    assert changed(repository, lambda: None) == []
    repository.write("a", "1")
    assert changed(repository, lambda: repository.commit()) == []
    other = Repository(tmp_path / "other")
    other.write("a", "1")
    assert changed(other, lambda: (other.write("b", "1"), other.commit(), other.commit(c="1"))) == ["b", "c"]


def test_a_project_in_a_folder_of_a_repository_sees_only_its_own_files(tmp_path: Path) -> None:
    outer = Repository(tmp_path / "outer")
    outer.commit(**{"project/a": "1", "elsewhere": "1"})
    project = object.__new__(Repository)
    project.folder = outer.folder / "project"
    assert changed(project, lambda: (outer.write("elsewhere", "2"), outer.write("project/a", "2"))) == ["a"]
    assert changed(project, lambda: outer.commit(**{"project/d/b": "1"})) == ["d/b"]


def test_submodules_are_compared_file_by_file(tmp_path: Path, repository: Repository) -> None:
    library = Repository(tmp_path / "library")
    library.commit(x="1", y="1")
    assert changed(
        repository, lambda: repository.git("submodule", "add", "-q", str(library.folder), "lib")
    ) == [
        ".gitmodules",
        "lib",
    ]
    repository.commit()
    inner = object.__new__(Repository)
    inner.folder = repository.folder / "lib"
    assert changed(repository, lambda: inner.write("x", "2")) == ["lib/x"]
    assert changed(repository, lambda: inner.commit(y="2")) == ["lib/y"]
    assert changed(repository, lambda: repository.commit()) == ["lib"]
    assert changed(repository, lambda: repository.git("submodule", "--quiet", "deinit", "-f", "lib")) == [
        "lib"
    ]


def test_a_repository_inside_that_is_no_submodule_counts_as_one_file(repository: Repository) -> None:
    def work() -> None:
        Repository(repository.folder / "nested").commit(a="1")

    assert changed(repository, work) == ["nested"]


def test_a_line_end_filter_does_not_make_a_file_a_change(repository: Repository) -> None:
    repository.commit(**{".gitattributes": "*.txt text eol=crlf\n"})
    (repository.folder / "t.txt").write_bytes(b"a\r\nb\r\n")
    assert changed(repository, lambda: repository.commit()) == []


def test_the_scopes_say_whose_a_change_is(repository: Repository) -> None:
    before = repository.snapshot()
    for name in ("docs/a.md", "docs/old/b.md", "src/x/c.py", "src/x/c.md", "d"):
        repository.write(name, "1")
    scopes = {"writer": ["docs/", "!docs/old"], "coder": ["src/**/*.py"]}
    found = repository.changes(before, scopes)
    assert found["by_agent"] == {"writer": ["docs/a.md"], "coder": ["src/x/c.py"]}
    assert found["outside_scope"] == ["d", "docs/old/b.md", "src/x/c.md"]
    assert found["outside_total"] == 3
    # An agent without limits owns the files that no other agent has.
    free = repository.changes(before, {**scopes, "other": None})
    assert (free["outside_scope"], free["by_agent"]["other"]) == ([], ["d", "docs/old/b.md", "src/x/c.md"])
    assert repository.changes(before, {"a": "the documents", "b": None})["by_agent"] == {"a": [], "b": []}
    assert repository.changes(before)["outside_scope"] == []


def test_of_many_changes_the_first_are_listed_and_all_are_counted(repository: Repository) -> None:
    before = repository.snapshot()
    for number in range(2_100):
        repository.write(f"new/{number:04}", "1")
    found = repository.changes(before, {"a": ["docs/"]})
    assert (len(found["changed"]), found["total"]) == (2_000, 2_100)
    assert (len(found["outside_scope"]), found["outside_total"]) == (2_000, 2_100)
    after = repository.snapshot()
    assert (after["files"], after["total"]) == ({}, 2_100)
    assert "2,100 files differ" in after["skipped"]
    assert "2,100 files differ" in repository.changes(after)["skipped"]


def test_without_git_it_is_skipped_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = object.__new__(Repository)
    project.folder = tmp_path / "plain"
    project.folder.mkdir()
    found = project.snapshot()
    assert "no git working tree" in found["skipped"]
    assert project.changes(found)["skipped"] == found["skipped"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git can't be started" in project.snapshot()["skipped"]


def test_only_a_grant_that_covers_git_status_lets_the_server_look(repository: Repository) -> None:
    action = {"type": "git_snapshot", "parameters": {}}
    for commands in (("git status",), ("git *",), ("git status *",), None):
        assert refusal_of(action, Grant(repository.folder, commands=commands)) == ""
    for commands in ((), ("git diff *",), ("git status -s",), ("make *",)):
        grant = Grant(repository.folder, commands=commands, read=("**",))
        assert refusal_of(action, grant) != ""
        assert repository.snapshot(grant)["error"]["code"] == "refused"
        # With `otherwise: skip` nobody is asked: the server says why it did not look.
        skipping = {"type": "git_snapshot", "parameters": {"otherwise": "skip"}}
        assert refusal_of(skipping, grant) == ""
        assert is_pure(skipping)
        assert "the server may not run `git status`" in execute(skipping, grant)["skipped"]


def test_hooks_monitors_and_pagers_of_the_repository_are_not_executed(repository: Repository) -> None:
    trap = repository.folder.parent / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {repository.folder.parent}/sprung\n")
    trap.chmod(0o755)
    hooks = repository.folder / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "pre-commit"):
        (hooks / name).write_text(trap.read_text())
        (hooks / name).chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "core.editor",
        "pager.status",
        "credential.helper",
    ):
        repository.git("config", key, str(trap))
    repository.git("config", "diff.x.textconv", str(trap))
    repository.write(".git/info/attributes", "* diff=x\n")
    before = repository.snapshot()
    repository.write("a", "2")
    assert repository.changes(before)["changed"] == ["a"]
    assert not (repository.folder.parent / "sprung").exists()


def test_the_store_of_the_server_is_no_change(repository: Repository) -> None:
    grant = Grant(
        repository.folder, commands=None, protected=Protected(stores=(repository.folder / "runs.db",))
    )
    repository.write("runs.db", "1")
    repository.write("runs.db-wal", "1")
    assert repository.snapshot(grant)["files"] == {}


SNAPSHOT = {"head": None, "files": {}, "proved": True, "total": 0}


@pytest.mark.parametrize(
    "since",
    [
        {},
        {"head": "HEAD", "files": {}},
        {"head": "--output=x", "files": {}},
        {"head": 7, "files": {}},
        {"head": None, "files": []},
        {**SNAPSHOT, "modules": {"lib": "HEAD"}},
        {**SNAPSHOT, "modules": ["lib"]},
    ],
)
def test_what_is_no_snapshot_is_refused(repository: Repository, since: dict[str, Any]) -> None:
    assert repository.changes(since)["error"]["code"] == "execution"


def test_paths_in_a_forged_snapshot_lead_nowhere(repository: Repository) -> None:
    head = repository.git("rev-parse", "HEAD").strip()
    names = ["../../etc/passwd", "/etc/passwd", "a/../b", "", ".", "x\0y", "lib/.git"]
    forged = {"head": head, "files": dict.fromkeys(names, "1" * 40), "proved": True}
    # None of them is there: what the snapshot says of them is gone.
    assert repository.changes(forged)["changed"] == sorted(names)
    assert repository.changes({**forged, "files": {}, "modules": {"..": head}})["changed"] == [".."]
    gone = {**SNAPSHOT, "head": "1" * 40}
    assert "skipped" in repository.changes(gone)


# What an agent submits in the place of a server.

STATUS = ' M src/a.py\n?? "\\303\\274 b.md"\n D gone.md\nA  "new\\nline"\n'


def test_what_an_agent_submits_is_only_claimed() -> None:
    before = read_snapshot({"head": "1" * 40 + "\n", "status": " M src/a.py\n", "proved": True}, served=False)
    assert before == {"head": "1" * 40, "files": {"src/a.py": "?"}, "total": 1, "proved": False}
    answer = {"diff": 'src/b.py\n"q\\"uote"\nsrc/a.py\n', "status": STATUS, "proved": True}
    found = read_changes(answer, {"since": before, "scopes": {"coder": ["src/"]}}, served=False)
    assert found["proved"] is False
    assert found["by_agent"] == {"coder": ["src/b.py"]}
    assert found["outside_scope"] == ["gone.md", "new\nline", 'q"uote', "ü b.md"]
    listed = read_changes({"changed": ["x"], "proved": True}, {}, served=False)
    assert (listed["changed"], listed["proved"], listed["outside_scope"]) == (["x"], False, [])
    assert read_changes({"skipped": "no git"}, {}, served=False)["skipped"] == "no git"
    assert read_snapshot({"skipped": "no git"}, served=False)["skipped"] == "no git"
    assert read_snapshot({"head": "fatal: no"}, served=False)["head"] is None
    assert read_changes("text", {}, served=False) == "text"


def test_a_server_that_looks_after_an_agent_proves_nothing(repository: Repository) -> None:
    repository.write("a", "dirty")
    head = repository.git("rev-parse", "HEAD")
    before = read_snapshot({"head": head, "status": " M a\n"}, served=False)
    repository.write("b", "2")
    found = repository.changes(before)
    assert (found["changed"], found["proved"]) == (["b"], False)


@pytest.mark.parametrize("flag", ["assume-unchanged", "skip-worktree"])
@pytest.mark.parametrize(("folder", "path"), [(".", "in/a b"), ("in", "a b")])
def test_a_file_that_git_was_told_to_overlook_is_seen(
    tmp_path: Path, flag: str, folder: str, path: str
) -> None:
    outer = Repository(tmp_path / "outer")
    outer.commit(**{"in/a b": "1", "in/c": "1"})
    repository = Repository.__new__(Repository)
    repository.folder = outer.folder / folder

    def hide() -> None:
        repository.git("update-index", f"--{flag}", path)
        repository.write(path, "hidden")

    assert changed(repository, hide) == [path]
    # It is hidden already, and only another content is a change.
    assert changed(repository, lambda: None) == []
    assert changed(repository, lambda: repository.write(path, "2")) == [path]
    assert changed(repository, lambda: repository.git("update-index", f"--no-{flag}", path)) == []


@pytest.mark.parametrize(("flag", "gone"), [("assume-unchanged", ["a"]), ("skip-worktree", [])])
def test_a_skipped_file_that_is_not_there_is_one_of_a_sparse_checkout(
    repository: Repository, flag: str, gone: list[str]
) -> None:
    assert changed(repository, lambda: repository.git("update-index", f"--{flag}", "a")) == []
    assert changed(repository, (repository.folder / "a").unlink) == gone


def link(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


ODD_WORK: dict[str, tuple[Callable[[Repository], object], list[str]]] = {
    "a name in another case": (lambda one: one.git("mv", "a", "A"), ["A", "a"]),
    "another case, committed": (
        lambda one: (one.git("mv", "a", "A"), one.git("commit", "-qam", "x")),
        ["A", "a"],
    ),
    "another case where git ignores it": (
        lambda one: (one.git("config", "core.ignoreCase", "true"), one.git("mv", "-f", "a", "A")),
        ["A", "a"],
    ),
    "a file becomes a folder": (
        lambda one: ((one.folder / "a").unlink(), one.write("a/b", "x")),
        ["a", "a/b"],
    ),
    "a file becomes a link": (lambda one: link(one.folder / "a", "/etc/passwd"), ["a"]),
    "a link to nowhere": (lambda one: link(one.folder / "n", "nowhere"), ["n"]),
    "a link to a folder": (lambda one: link(one.folder / "n", "."), ["n"]),
    "a pipe": (lambda one: os.mkfifo(one.folder / "pipe"), []),
    "names with spaces at the ends": (
        lambda one: (one.write("end ", "x"), one.write(" lead", "x")),
        [" lead", "end "],
    ),
    "names that are patterns": (
        lambda one: [one.write(name, "x") for name in (":!x", "[a]", "~")],
        [":!x", "[a]", "~"],
    ),
    "a status that shows no new files": (
        lambda one: (one.git("config", "status.showUntrackedFiles", "no"), one.write("n", "x")),
        ["n"],
    ),
    "a commit without a branch": (
        lambda one: (one.git("checkout", "-q", "--detach"), one.commit(n="x")),
        ["n"],
    ),
    "a branch without a past": (
        lambda one: (one.git("checkout", "-q", "--orphan", "z"), one.git("rm", "-rfq", ".")),
        ["a", "b", "c"],
    ),
    "a working tree inside": (lambda one: one.git("worktree", "add", "-q", "wt"), ["wt"]),
}


@pytest.mark.parametrize("name", ODD_WORK)
def test_odd_work_is_told_by_what_it_leaves(repository: Repository, name: str) -> None:
    work, paths = ODD_WORK[name]
    assert changed(repository, lambda: work(repository)) == paths


def test_a_change_behind_a_replacement_of_its_commit_is_seen(repository: Repository) -> None:
    before, old = repository.snapshot(), repository.git("rev-parse", "HEAD").strip()
    repository.commit(a="2")
    repository.git("replace", repository.git("rev-parse", "HEAD").strip(), old)
    assert repository.changes(before)["changed"] == ["a"]


def test_a_past_that_is_gone_proves_nothing_and_says_so(repository: Repository) -> None:
    before = repository.snapshot()
    repository.git("checkout", "-q", "--orphan", "z")
    repository.commit(a="2")
    repository.git("branch", "-qD", "main")
    repository.git("reflog", "expire", "--expire=now", "--all")
    repository.git("gc", "-q", "--prune=now")
    assert "bad object" in repository.changes(before)["skipped"]
