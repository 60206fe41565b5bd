"""Shipped workflows that a server executes alone, run with real git, node and SQLite in scratch repositories."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.blocks.support import result, run
from tests.blocks.test_shipped import git, repository, shipped, work

__all__ = ["repository", "work"]


@pytest.fixture(autouse=True)
def author(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands of a workflow commit as somebody, and by no settings of this machine."""
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\nname = t\nemail = t@example.com\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")


ENV = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")


def test_a_repository_is_cloned_brought_up_to_date_and_left_alone_where_it_has_changes(
    tmp_path: Path, repository: Path
) -> None:
    source = tmp_path / "source"
    git(repository, "clone", "-q", str(repository), str(source))
    git(source, "tag", "v1")

    def checkout(**inputs: str) -> Any:
        shutil.rmtree(tmp_path / "generated", ignore_errors=True)
        return result(
            tmp_path,
            shipped("git-checkout"),
            inputs={"url": str(source), "folder": "clone", **inputs},
            env=ENV,
        )

    clone = repository / "clone"
    found = checkout()
    assert (found["ready"], found["cloned"], found["found"]) == (True, True, "empty")
    assert found["commit"] == git(source, "rev-parse", "HEAD").strip()

    git(source, "commit", "-q", "--allow-empty", "-m", "Second")
    found = checkout(revision="main")
    assert (found["ready"], found["cloned"], found["found"]) == (True, False, "repository")
    assert (
        found["commit"] == git(source, "rev-parse", "main").strip() == git(clone, "rev-parse", "HEAD").strip()
    )
    assert checkout(revision="v1")["commit"] == git(source, "rev-parse", "v1").strip()

    # A revision that looks like an option, one that is not there, another repository, and changes: nothing moves.
    stands = git(clone, "rev-parse", "HEAD")
    for revision in ("--orphan=x", "no-such", "main; touch owned"):
        assert checkout(revision=revision)["unknown_revision"] is True
    assert checkout(url=str(repository))["kept"] is True
    (clone / "Makefile").write_text("mine\n", encoding="utf-8")
    found = checkout(revision="main")
    assert (found["ready"], found["kept"]) == (False, True)
    assert (clone / "Makefile").read_text(encoding="utf-8") == "mine\n"
    assert git(clone, "rev-parse", "HEAD") == stands

    (repository / "taken").mkdir()
    (repository / "taken" / "file").touch()
    assert checkout(folder="taken")["found"] == "occupied"
    assert checkout(folder="other", url=f"ext::sh -c touch% {tmp_path}/owned")["ready"] is False
    assert not (tmp_path / "owned").exists()
    assert not (repository / "owned").exists()


def test_changes_are_committed_and_pushed_only_without_secrets_and_with_a_yes(
    tmp_path: Path, repository: Path
) -> None:
    remote = tmp_path / "remote.git"
    git(repository, "clone", "-q", "--bare", str(repository), str(remote))
    git(repository, "remote", "add", "origin", str(remote))

    def push(answer: str = "yes", **inputs: str) -> Any:
        shutil.rmtree(tmp_path / "generated", ignore_errors=True)
        given = {"message": "Add `$(touch owned)`", **inputs}
        return result(
            tmp_path, shipped("commit-and-push"), inputs=given, answers={"approve": answer}, env=ENV
        )

    (repository / "new file.py").write_text("x = 1\n", encoding="utf-8")
    assert push()["protected"] is True
    git(repository, "checkout", "-q", "-b", "feature/x")
    refused = push("no")
    assert (refused["committed"], git(repository, "status", "--porcelain")) == (False, '?? "new file.py"\n')

    (repository / "keys.txt").write_text(f"a\nAKIA{'Q' * 16}\n", encoding="utf-8")
    found = push()
    assert (found["committed"], found["secrets"]) == (False, "keys.txt\n")
    (repository / "keys.txt").unlink()

    # A file without a textual diff, and one whose name is a pattern.
    (repository / ".gitattributes").write_text("*.pem -diff\n", encoding="utf-8")
    for name in ("key.pem", ":(top)x[a].txt"):
        (repository / name).write_text("-----BEGIN RSA PRIVATE KEY-----\n", encoding="utf-8")
        assert push()["secrets"] == f"{name}\n"
        (repository / name).unlink()

    # What somebody has staged beside the given paths is not committed with them.
    git(repository, "add", "new file.py")
    found = push(paths=".gitattributes")
    assert (found["committed"], "Other files are staged" in found["problem"]) == (False, True)
    assert git(repository, "diff", "--cached", "--name-only") == "new file.py\n"
    git(repository, "reset", "-q")

    found = push()
    assert (found["committed"], found["pushed"]) == (True, True)
    assert git(remote, "rev-parse", "feature/x").strip() == found["commit"]
    assert git(repository, "log", "-1", "--format=%s").strip() == "Add `$(touch owned)`"
    assert not (repository / "owned").exists()
    assert push()["committed"] is False

    # Somebody else has pushed in between: git refuses, and nothing is forced.
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    (repository / "other.py").touch()
    found = push()
    assert (found["committed"], found["pushed"]) == (True, False)
    assert "rejected" in found["problem"]


def test_the_first_bad_commit_is_found_in_a_tree_of_its_own(tmp_path: Path, repository: Path) -> None:
    commits = []
    for number in range(6):
        (repository / "value").write_text(f"{number}\n", encoding="utf-8")
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", f"Value {number}")
        commits.append(git(repository, "rev-parse", "HEAD").strip())
    (repository / "value").write_text("being edited\n", encoding="utf-8")
    answer = {"response": {"cause": "The value.", "fix": "Put it back."}}

    def bisect(check: str, good: str = commits[0]) -> Any:
        shutil.rmtree(tmp_path / "generated", ignore_errors=True)
        text = shipped("bisect-regression")
        return result(
            tmp_path, text, inputs={"good": good, "check": check}, answers={"explain": answer}, env=ENV
        )

    found = bisect("test $(cat value) -lt 4")
    assert (found["found"], found["commit"], found["cause"]) == (True, commits[4], "The value.")
    # A command that can't fail, one that always does, and one that is not there are told apart.
    assert (always := bisect("true"))["found"] is False
    assert always["fails_in_bad"] is False
    assert bisect("false")["works_in_good"] is False
    assert bisect("no-such-program")["fails_in_bad"] is False
    assert (repository / "value").read_text(encoding="utf-8") == "being edited\n"
    assert len(git(repository, "worktree", "list").splitlines()) == 1


@pytest.mark.skipif(shutil.which("npm") is None, reason="node is not installed")
def test_the_scripts_of_a_node_project_run_and_a_failing_one_is_counted(tmp_path: Path, work: Path) -> None:
    scripts = {"test": "node --test", "lint": "node -e 'process.exit(process.env.CI === \"true\" ? 3 : 0)'"}
    about = {"name": "x", "version": "1.0.0", "scripts": scripts}
    (work / "package.json").write_text(json.dumps(about), encoding="utf-8")
    (work / "x.test.js").write_text("require('node:test').test('x', () => {});\n", encoding="utf-8")
    lock = {"name": "x", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": about}}
    (work / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    found = result(tmp_path, shipped("node-ci"))
    assert found == {"passed": False, "installed": True, "scripts": ["lint", "test"], "failed": 1}
    shutil.rmtree(tmp_path / "generated")
    # Where nothing was checked, nothing passed.
    none = result(tmp_path, shipped("node-ci"), inputs={"scripts": ["none", "toString"], "install": False})
    assert (none["passed"], none["scripts"]) == (False, [])


def test_every_kind_of_problem_of_a_csv_file_is_found_with_its_line(tmp_path: Path, work: Path) -> None:
    (work / "good.csv").write_text('id,name\n1,Ada\n2,"Grace, H"\n', encoding="utf-8-sig")
    (work / "bad.csv").write_text("id,name\n1,Ada\n1, \n2\n", encoding="utf-8")
    (work / "latin.csv").write_bytes(b"id,name\n1,J\xf6rg\n")

    def scan(file: str, **inputs: Any) -> Any:
        shutil.rmtree(tmp_path / "generated", ignore_errors=True)
        return result(
            tmp_path, shipped("check-csv"), inputs={"file": file, "required": ["name"], "key": "id", **inputs}
        )

    good = scan("good.csv")
    assert (good["valid"], good["rows"], good["problems"]) == (True, 2, [])
    bad = scan("bad.csv", min_rows=9, required=["name", "mail"])
    assert [(one["line"], one["problem"]) for one in bad["problems"]] == [
        (1, "there is no column `mail`"),
        (3, "`name` is empty"),
        (3, "`id` '1' occurs again"),
        (4, "1 fields instead of 2"),
        (4, "3 rows instead of at least 9"),
    ]
    assert "# bad.csv: 3 rows, 5 problems" in bad["report"]
    for file in ("latin.csv", "no-such.csv", "."):
        assert "can't be read" in scan(file)["problems"][0]["problem"]
    assert "can't be read" in scan("good.csv", delimiter="")["problems"][0]["problem"]


def test_a_database_is_checked_on_a_copy_that_no_rule_can_escape(tmp_path: Path, work: Path) -> None:
    with sqlite3.connect(work / "app.db") as made:
        made.executescript(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, price);"
            "CREATE TABLE part (item REFERENCES item); INSERT INTO item VALUES (1, -2); INSERT INTO part VALUES (9);"
        )
    before = (work / "app.db").read_bytes()

    def check(database: str, **rules: str) -> Any:
        shutil.rmtree(tmp_path / "generated", ignore_errors=True)
        return result(tmp_path, shipped("check-database"), inputs={"database": database, "rules": rules})

    found = check(
        "app.db", prices="SELECT 1 FROM item WHERE price < 0", gone="DELETE FROM item", typo="SELEC"
    )
    assert (found["readable"], found["passed"]) == (True, False)
    assert found["problems"] == ["1 rows of part refer to rows that item does not have"]
    assert [(one["rule"], one["kept"]) for one in found["rules"]] == [
        ("prices", False),
        ("gone", False),
        ("typo", False),
    ]
    assert (work / "app.db").read_bytes() == before
    # Nor by way of another file.
    rules = {"attach": f"ATTACH '{work}/app.db' AS other", "delete": "DELETE FROM other.item"}
    assert check("app.db", **rules, copy=f"VACUUM INTO '{work}/copy.db'")["passed"] is False
    assert (work / "app.db").read_bytes() == before
    assert not (work / "copy.db").exists()
    with sqlite3.connect(work / "app.db") as made:
        made.execute("DELETE FROM part")
    assert check("app.db")["passed"] is True
    assert check("no-such.db") == {"readable": False, "problems": [], "rules": [], "passed": False}


def test_a_migration_that_breaks_the_data_is_taken_back(tmp_path: Path, work: Path) -> None:
    (work / "data").write_text("one\ntwo\n", encoding="utf-8")
    inputs = {
        "migration": "migrate.sh",
        "backup_command": "cp data backup && echo backup; echo late >> data",
        "rehearse_command": 'cp "$BACKUP" copy && sed -i s/o/0/g copy',
        "migrate_command": "sed -i 1d data",
        "verify_command": "grep one data",
        "restore_command": 'cp "$BACKUP" data',
    }
    review = {"dangers": [], "stop": False, "reason": ""}
    reply = run(
        tmp_path,
        shipped("migrate-database").replace("    command:", "    runner: server\n    command:"),
        inputs=inputs,
        answers={"review-migration": review, "decide": {"confirmed": True}},
    )
    assert reply["result"]["status"] == "restored"
    # What was written while the person decided is in the second backup.
    assert (work / "data").read_text(encoding="utf-8") == "one\ntwo\nlate\n"
