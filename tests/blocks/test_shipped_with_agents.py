"""Shipped workflows that need an agent, run with real commands in scratch repositories: the agent executes each command
that it is given, and does in the repository what a brief asks for, well or badly."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.blocks.support import compiled
from tests.blocks.test_shipped import git, repository, shipped, work
from tests.support import ROOT, load
from wfc_runtime.execute import Grant
from wfc_runtime.registry import Registry
from wfc_runtime.service.sqlite.serving import ServingService
from wfc_runtime.store import Store

__all__ = ["repository", "work"]

Answer = Callable[[str, dict[str, Any]], Any]
"""What an agent or a person answers to a step, by its id without the number of its visit, and its parameters."""


@pytest.fixture(autouse=True)
def author(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\nname = t\nemail = t@example.com\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")


def drive(folder: Path, name: str, inputs: dict[str, Any], answer: Answer, *called: str) -> dict[str, Any]:
    """The last reply of a run, with the messages of all replies and the ids of the steps that were answered."""
    work, place = folder / "work", folder / name
    texts = [shipped(one) for one in (name, *called)]
    grant = Grant.all_commands(work).extended((), ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "PATH"))
    if not place.exists():
        place.mkdir()
        compiled(place, *texts)
    service = ServingService(Store(place / "state.db"), Registry(place / "generated"), grant)
    messages: list[str] = []
    steps: list[str] = []

    def finish(run: str, reply: dict[str, Any]) -> dict[str, Any]:
        while reply["status"] in ("pending_action", "running"):
            for action in reply.get("actions") or ([reply["action"]] if "action" in reply else []):
                for child in action["parameters"].get("children", ()):
                    finish(child["workflow_id"], service.next_step(child["workflow_id"]))
                if "children" in action["parameters"]:
                    continue
                step = action["step_id"].partition("@")[0]
                steps.append(step)
                given = action["parameters"]
                result = executed(work, given) if action["type"] == "shell" else answer(step, given)
                heard(service.submit(run, action["step_id"], result))
            reply = heard(service.next_step(run))
        return reply

    def heard(reply: dict[str, Any]) -> dict[str, Any]:
        new = [one["message"] for one in reply.get("messages", ())]
        if new and messages[-len(new) :] != new:
            messages.extend(new)
        return reply

    try:
        started = heard(service.start(load(texts[0]).files[0].name or "", inputs))
        return {**finish(str(started["workflow_id"]), started), "said": messages, "steps": steps}
    finally:
        service.close()


def executed(work: Path, given: dict[str, Any]) -> dict[str, Any]:
    folder = work / (given.get("working_dir") or ".")
    done = subprocess.run(
        given["command"], shell=True, cwd=folder, capture_output=True, text=True, check=False
    )
    return {"stdout": done.stdout, "stderr": done.stderr, "exit_code": done.returncode}


def nobody(step: str, given: dict[str, Any]) -> Any:
    raise AssertionError(f"{step} was asked for: {given}")


def commit(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add files")


ODD = ("-rf.py", "a b.py", "größe.py", "$(touch owned).py")
"""Names of files that commands must not take for anything else."""


def test_a_campaign_commits_batches_that_stay_green_and_takes_the_others_back(
    tmp_path: Path, repository: Path
) -> None:
    commit(repository, **dict.fromkeys(ODD, "old = 1\n"), **{"bad.py": "old = 2\n"})
    inputs = {
        "change": "The name old becomes new.",
        "pattern": "^old",
        "test_command": "! grep -rq broken --include=*.py .",
        "batch_size": 2,
    }

    def answer(step: str, given: dict[str, Any]) -> Any:
        if step == "ask":
            return {"selected": "start"}
        name = given["instructions"].partition("<file>")[2].partition("</file>")[0]
        text = "broken = 2\n" if name == "bad.py" else "new = 1\n"
        (repository / name).write_text(text, encoding="utf-8")
        return {"places": 1, "left_alone": []}

    ended = drive(tmp_path, "refactor-campaign", inputs, answer)
    assert ended["status"] == "completed", ended
    found = ended["result"]
    assert sorted([*found["committed"], *found["taken_back"]]) == sorted([*ODD, "bad.py"])
    assert "bad.py" in found["taken_back"]
    for name in found["committed"]:
        assert (repository / name).read_text(encoding="utf-8") == "new = 1\n"
    assert (repository / "bad.py").read_text(encoding="utf-8") == "old = 2\n"
    assert git(repository, "status", "--porcelain") == ""
    assert "Failed batch" in git(repository, "stash", "list")
    assert not (repository / "owned").exists()

    # A wrong pattern, nothing to change, uncommitted work, tests that fail already: nobody is asked to change a file.
    wrong = drive(tmp_path, "refactor-campaign", {**inputs, "pattern": "(["}, nobody)
    assert "git can't search" in wrong["said"][0]
    none = drive(tmp_path, "refactor-campaign", {**inputs, "pattern": "--no-such"}, nobody)
    assert none["said"] == ["No file matches --no-such."]
    red = drive(
        tmp_path, "refactor-campaign", {**inputs, "test_command": "false"}, lambda *_: {"selected": "start"}
    )
    assert "The tests fail before anything is changed" in red["said"][0]
    (repository / "open.py").touch()
    assert drive(tmp_path, "refactor-campaign", inputs, nobody)["said"][0].startswith("Commit or stash first")


def test_only_pages_that_are_newer_than_their_translations_are_translated(
    tmp_path: Path, repository: Path
) -> None:
    commit(repository, **{"docs/-a b.md": "One.\n", "docs/größe.md": "Two.\n", "docs/old.md": "Three.\n"})
    commit(repository, **{"de/old.md": "Drei.\n"})
    # A clone makes every file now, in any order.
    os.utime(repository / "de/old.md", (1, 1))
    inputs = {"folder": "docs", "target": "de", "language": "German"}
    translated = []

    def answer(step: str, given: dict[str, Any]) -> Any:
        name = given["instructions"].partition("<file>")[2].partition("</file>")[0]
        if step == "compare":
            return {"problems": []}
        translated.append(name)
        (repository / name).write_text("Ja.\n", encoding="utf-8")
        return {"unsure": []}

    ended = drive(tmp_path, "docs-translate", inputs, answer)
    assert ended["status"] == "completed", ended
    assert sorted(translated) == ["de/-a b.md", "de/größe.md"]
    again = drive(tmp_path, "docs-translate", inputs, nobody)
    assert again["said"] == ["Every page has a current translation."]
    commit(repository, **{"docs/old.md": "Another.\n"})
    os.utime(repository / "de/old.md", (1, 1))
    git(repository, "-c", "user.name=t", "commit", "-q", "--amend", "--no-edit", "--date=now")
    drive(tmp_path, "docs-translate", {**inputs, "target": "fr"}, answer)
    assert "fr/old.md" in translated

    # Translations beside the pages are not pages, neither the target's own nor those in other languages.
    translated.clear()
    commit(repository, **{"docs/it/old.md": "Tre.\n", "docs/es/old.md": "Tres.\n"})
    inside = {**inputs, "target": "docs/it", "leave_out": ["es/*"], "max_pages": 200}
    drive(tmp_path, "docs-translate", inside, answer)
    assert sorted(translated) == ["docs/it/-a b.md", "docs/it/größe.md"]


def test_the_standards_of_changed_files_are_fixed_whatever_their_names_are(
    tmp_path: Path, repository: Path
) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, **dict.fromkeys(ODD, "x=1\n"))
    seen = []

    def answer(step: str, given: dict[str, Any]) -> Any:
        seen.append(given["instructions"].partition("<file>")[2].partition("</file>")[0])
        return {"fixed": 1, "remaining": []}

    ended = drive(tmp_path, "standards-fix", {"base": "main"}, answer)
    assert sorted(seen) == sorted(ODD)
    assert ended["said"][-1] == "All 4 files are clean."
    assert drive(tmp_path, "standards-fix", {"base": "HEAD"}, nobody)["said"] == [
        "No code changed since HEAD."
    ]
    # What others have changed on the base since then is theirs.
    git(repository, "checkout", "-q", "main")
    commit(repository, **{"theirs.py": "y=1\n"})
    git(repository, "checkout", "-q", "feature")
    seen.clear()
    drive(tmp_path, "standards-fix", {"base": "main"}, answer)
    assert sorted(seen) == sorted(ODD)
    # What looks like an option is a commit that does not exist.
    refused = drive(tmp_path, "standards-fix", {"base": "--output=owned"}, nobody)
    assert refused["status"] == "failed"
    assert not (repository / "owned").exists()


def test_a_changelog_begins_after_the_last_tag_and_options_are_no_commits(
    tmp_path: Path, repository: Path
) -> None:
    def answer(step: str, given: dict[str, Any]) -> Any:
        return {"text": given["instructions"]} if step == "write" else {"input": True}

    first = drive(tmp_path, "changelog-draft", {}, answer)
    assert "Begin" in first["result"]["draft"]
    git(repository, "tag", "v1")
    for subject in ("Fix the door", "Add `$(touch owned)`", "chore: tidy"):
        git(repository, "commit", "-q", "--allow-empty", "-m", subject)
    found = drive(tmp_path, "changelog-draft", {}, answer)["result"]
    assert found["entries"] == {"added": ["Add `$(touch owned)`"], "fixed": ["Fix the door"], "other": []}
    assert (found["skipped"], found["approved"]) == (1, True)
    for since in ("--output=owned", "no-such", "HEAD; touch owned"):
        assert drive(tmp_path, "changelog-draft", {"since": since}, nobody)["status"] == "failed"
    assert not (repository / "owned").exists()


def test_tests_are_repaired_from_what_they_print_and_a_stuck_repair_is_given_up(
    tmp_path: Path, work: Path
) -> None:
    (work / "broken").touch()
    inputs = {"command": "test ! -e broken || { echo the door is open >&2; exit 1; }"}

    def repair(step: str, given: dict[str, Any]) -> Any:
        assert "the door is open" in given["instructions"]
        (work / "broken").unlink()
        return {"response": "Closed it."}

    assert drive(tmp_path, "tests-until-green", inputs, repair)["said"] == ["The tests pass."]
    (work / "broken").touch()
    stuck = drive(tmp_path, "tests-until-green", inputs, lambda *_: {"response": "Did nothing."})
    assert stuck["said"] == ["The same tests fail as before.", "The tests still fail: the door is open"]


def test_updates_that_break_the_tests_are_taken_back_and_errors_of_npm_install_nothing(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def npm(outdated: str) -> None:
        script = f"""#!/bin/sh
case $1 in
  outdated) printf '%s' '{outdated}'; exit 1;;
  install) echo "$3" >> package.json;;
  ci) echo "$*" >> ../ci;;
esac
"""
        (programs / "npm").write_text(script, encoding="utf-8")
        (programs / "npm").chmod(0o755)

    commit(repository, **{"package.json": "{}\n", "package-lock.json": "{}\n"})
    outdated = (
        '{"left": {"current": "1.2.0", "latest": "1.3.0"}, "right": {"current": "1.9.0", "latest": "2.0.1"}}'
    )
    npm(outdated)
    leave = lambda *_: {"selected": "leave"}  # noqa: E731
    green = drive(tmp_path, "deps-audit", {"test_command": "true"}, leave)
    assert (repository / "package.json").read_text(encoding="utf-8") == "{}\nleft@1.3.0\n"
    assert green["steps"] == ["install_minor", "ask"]
    git(repository, "checkout", "-q", ".")
    red = drive(tmp_path, "deps-audit", {"test_command": "false"}, leave)
    assert "the updates are taken back" in " ".join(red["said"])
    assert (repository / "package.json").read_text(encoding="utf-8") == "{}\n"
    assert (tmp_path / "ci").read_text(encoding="utf-8") == "ci\n"
    commit(repository, **{"web/package.json": "{}\n", "web/package-lock.json": "{}\n"})
    drive(tmp_path, "deps-audit", {"test_command": "true", "folder": "web"}, leave)
    assert (repository / "web/package.json").read_text(encoding="utf-8") == "{}\nleft@1.3.0\n"
    assert (repository / "package.json").read_text(encoding="utf-8") == "{}\n"
    # A failed update would take back the person's own changes as well.
    changed = drive(tmp_path, "deps-audit", {"test_command": "false", "folder": "web"}, nobody)
    assert changed["said"][0].startswith("Commit package.json and package-lock.json first")
    for failure in ('{"error": {"code": "ENOTFOUND", "summary": "no registry"}}', ""):
        npm(failure)
        failed = drive(tmp_path, "deps-audit", {}, nobody)
        assert failed["said"][0].startswith("npm could not list the dependencies")


def test_a_bug_is_fixed_from_its_report_to_a_commit(tmp_path: Path, repository: Path) -> None:
    commit(repository, **{"calc.py": "def half(n):\n    return n // 2\n"})
    command = f"{sys.executable} -B test_half.py"
    attempts = iter(["    return n * 2\n", "    return n / 2\n"])

    def answer(step: str, given: dict[str, Any]) -> Any:
        match step:
            case "write-test":
                test = "from calc import half\nassert half(3) == 1.5, 'half of 3'\n"
                (repository / "test_half.py").write_text(test, encoding="utf-8")
                told = "" if "expected_failure is empty" not in given["instructions"] else "half of 3"
                return {"file": "test_half.py", "command": command, "expected_failure": told, "obstacle": ""}
            case "write-fix":
                (repository / "calc.py").write_text(f"def half(n):\n{next(attempts)}", encoding="utf-8")
                return {"cause": "It rounds.", "summary": "Keep the fraction of a half"}
            case _:
                return {"selected": "commit"}

    inputs = {"report": "half(3) gives 1 instead of 1.5.", "test_command": command}
    ended = drive(tmp_path, "fix-bug", inputs, answer, "reproduce-bug")
    assert ended["result"]["status"] == "committed", ended
    # An expectation that any failure meets is refused, and so is a fix with which the test fails.
    assert (ended["steps"].count("write-test"), ended["steps"].count("write-fix")) == (2, 2)
    assert git(repository, "log", "-1", "--format=%s").strip() == "Keep the fraction of a half"
    assert git(repository, "status", "--porcelain") == ""
    (repository / "open.py").touch()
    assert (
        drive(tmp_path, "fix-bug", inputs, nobody, "reproduce-bug")["error"]["code"]
        == "working_tree_not_clean"
    )


def test_flaky_tests_are_told_from_broken_ones_and_proved_by_many_runs(
    tmp_path: Path, repository: Path
) -> None:
    suite = (
        "n=$(cat ../n 2>/dev/null || echo 0); echo $((n + 1)) > ../n; echo 'FAILED t.py::broken[a b] - no'; "
        "[ $((n % 2)) = 0 ] || echo 'FAILED t.py::flaky[$(touch owned) -x] - sometimes'; exit 1"
    )
    inputs = {
        "test_command": suite,
        "single_command": "test -e ../stable && echo",
        "runs": 4,
        "proof_runs": 3,
    }

    def answer(step: str, given: dict[str, Any]) -> Any:
        assert "<test>t.py::flaky[$(touch owned) -x]</test>" in given["instructions"]
        if "1st" in (tmp_path / "tries").read_text(encoding="utf-8"):
            (tmp_path / "stable").touch()
        (tmp_path / "tries").write_text("1st", encoding="utf-8")
        return {"cause": "Order.", "in_code": False}

    (tmp_path / "tries").write_text("", encoding="utf-8")
    found = drive(tmp_path, "fix-flaky-tests", inputs, answer)["result"]
    assert found["broken"] == ["t.py::broken[a b]"]
    assert [(one["test"], one["stable"]) for one in found["tests"]] == [
        ("t.py::flaky[$(touch owned) -x]", True)
    ]
    assert not (repository / "owned").exists()
    no_suite = drive(tmp_path, "fix-flaky-tests", {**inputs, "test_command": "no-such-program"}, nobody)
    assert no_suite["result"]["status"] == "suite_does_not_run"


def test_rounds_of_a_linter_are_committed_or_set_aside(tmp_path: Path, repository: Path) -> None:
    commit(repository, **{"a.py": "bad\nbad\n"})
    inputs = {"lint_command": "! grep -n bad a.py", "test_command": "test -s a.py"}
    texts = iter(["", "bad\n", "good\n"])

    def answer(step: str, given: dict[str, Any]) -> Any:
        (repository / "a.py").write_text(next(texts), encoding="utf-8")
        return {"response": "Done."}

    found = drive(tmp_path, "fix-standards", inputs, answer)["result"]
    assert (found["outcome"], found["commits"]) == ("clean", 2)
    assert "round 1 broke the tests" in git(repository, "stash", "list")
    assert (repository / "a.py").read_text(encoding="utf-8") == "good\n"
    gone = drive(tmp_path, "fix-standards", {**inputs, "lint_command": "no-such-linter"}, nobody)["result"]
    assert gone["outcome"] == "linter_not_runnable"


def test_a_version_is_found_in_the_changelog_only_as_a_whole_word(tmp_path: Path, repository: Path) -> None:
    commit(repository, **{"CHANGELOG.md": "# 11.2.3\n# 1.2.30\n"})
    inputs = {"version": "1.2.3", "commands": {"tests": "true", "style": "true"}}

    def answer(step: str, given: dict[str, Any]) -> Any:
        return {"findings": []} if step == "review-changes" else {"response": "# 1.2.3"}

    found = drive(tmp_path, "release-checks", inputs, answer)["result"]
    assert (found["ready"], found["changelog_draft"]) == (False, "# 1.2.3")
    commit(repository, **{"CHANGELOG.md": "# 1.2.3\n"})
    assert drive(tmp_path, "release-checks", inputs, answer)["result"]["ready"] is True


def test_reviews_read_real_repositories_with_odd_names_and_with_nothing_to_review(
    tmp_path: Path, repository: Path
) -> None:
    git(repository, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert drive(tmp_path, "review-branch", {}, nobody)["result"]["status"] == "nothing_changed"
    commit(repository, **dict.fromkeys(ODD, "x = 1\n"), **{"a.html": "<img src=x>\n"})
    place = {"file": "-rf.py", "line": 1, "severity": "major", "problem": "It is wrong."}

    def review(step: str, given: dict[str, Any]) -> Any:
        match step:
            case "merge-findings":
                return [place]
            case "refute-finding":
                assert "Add files" in given["instructions"]
                return {"stands": True, "reason": "It does."}
            case _:
                return {"angle": "all", "findings": [place]}

    assert drive(tmp_path, "review-branch", {"angles": ["all"]}, review)["result"]["findings"]
    assert drive(tmp_path, "review-branch", {"base": "none"}, nobody)["result"]["status"] == "no_diff"

    def read(step: str, given: dict[str, Any]) -> Any:
        match step:
            case "judge-file":
                return {"findings": []}
            case "write-report":
                return {"report": "Fine.", "next_steps": []}
            case _:
                return {"findings": []}

    found = drive(tmp_path, "analyze-codebase", {"file_patterns": ["*.py"]}, read)["result"]
    assert (found["status"], found["files_reviewed"], found["files_failed"]) == ("reviewed", 4, [])
    none = drive(tmp_path, "analyze-codebase", {"file_patterns": ["*.none"]}, nobody)["result"]
    assert none["status"] == "nothing_to_review"
    assert drive(tmp_path, "analyze-codebase", {"repository": "-x"}, nobody)["result"]["status"] == "failed"
    clean = drive(tmp_path, "review-accessibility", {"files": "*.html"}, read)["result"]
    assert clean["status"] == "clean"
    assert (
        drive(tmp_path, "review-accessibility", {"files": "*.none"}, nobody)["result"]["status"] == "no_files"
    )
    assert not (repository / "owned").exists()


def test_coverage_is_measured_and_an_upgrade_that_fails_is_put_into_the_stash(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "percent").write_text("70", encoding="utf-8")
    measured = "printf 'TOTAL 10 3 %s%%\\n' $(cat ../percent)"

    def raise_it(step: str, given: dict[str, Any]) -> Any:
        (tmp_path / "percent").write_text("90", encoding="utf-8")
        return (
            {"accepted": True, "objections": []}
            if step == "judge-tests"
            else {"test_files": [], "summary": "x"}
        )

    found = drive(tmp_path, "raise-coverage", {"coverage_command": measured}, raise_it)["result"]
    assert (found["status"], found["coverage"]) == ("reached", 90)
    assert (
        drive(tmp_path, "raise-coverage", {"coverage_command": "echo none"}, nobody)["result"]["status"]
        == "not_measured"
    )

    programs = tmp_path / "bin"
    programs.mkdir()
    outdated = json.dumps([{"name": name, "version": "1", "latest_version": "2"} for name in ("good", "bad")])
    script = (
        f"#!/bin/sh\ncase $3 in list) echo '{outdated}';; *) echo \"$*\" >> {tmp_path}/installed;; esac\n"
    )
    (programs / "python3").write_text(script, encoding="utf-8")
    (programs / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def upgrade(step: str, given: dict[str, Any]) -> Any:
        name = given["instructions"].partition("<package>")[2].partition("</package>")[0]
        (repository / name).write_text("2", encoding="utf-8")
        return {"changed_files": [name], "notes": "Raised."}

    found = drive(tmp_path, "upgrade-dependencies", {"test_command": "test ! -e bad"}, upgrade)["result"]
    assert [one["package"] for one in found["upgraded"]] == ["good"]
    assert [one["package"] for one in found["failed"]] == ["bad"]
    assert git(repository, "log", "-1", "--format=%s").strip() == "Upgrade good to 2"
    assert "Failed upgrade: bad to 2" in git(repository, "stash", "list")
    assert "bad==1" in (tmp_path / "installed").read_text(encoding="utf-8")


def test_labels_are_set_only_after_a_person_has_agreed(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    reports = [
        {"number": 7, "title": "`$(touch owned)`", "body": None},
        {"number": 8, "title": "x", "body": "y"},
    ]
    listed = f"list) printf %s '{json.dumps(reports)}';;"
    script = f'#!/bin/sh\ncase $2 in {listed} *) echo "$*" >> {tmp_path}/labels;; esac\n'
    (programs / "gh").write_text(script, encoding="utf-8")
    (programs / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def answering(decision: str) -> Answer:
        def answer(step: str, given: dict[str, Any]) -> Any:
            if step == "ask":
                return {"selected": decision}
            priority = "urgent" if "touch owned" in given["instructions"] else "low"
            return {"priority": priority, "reason": "So.", "missing": [], "duplicate_of": 0}

        return answer

    left = drive(tmp_path, "bugs-triage", {}, answering("leave"))
    assert left["said"][-1] == "2 reports were read, 0 have a label now."
    assert not (tmp_path / "labels").exists()
    drive(tmp_path, "bugs-triage", {"label": "p: "}, answering("label"))
    assert (tmp_path / "labels").read_text(encoding="utf-8").splitlines() == [
        "label create -- p: urgent",
        "issue edit 7 --add-label p: urgent",
        "label create -- p: low",
        "issue edit 8 --add-label p: low",
    ]
    assert not (work / "owned").exists()


PROGRAM = """\
#!/bin/sh
{{ printf %s "${{0##*/}}"; printf ' <%s>' "$@"; echo; }} >> {folder}/calls
case "${{0##*/}} $1 $2" in
  "kubectl get"*) printf old:1;;
  "kubectl set"*) test -e {folder}/set || {{ touch {folder}/set; exit 1; }};;
  "gh pr view") cat {folder}/pr.json;;
  "gh pr checks") echo '[{{"name": "ci", "bucket": "pass"}}]';;
  "gh label create") exit 1;;
  "gh issue create") echo https://github.com/acme/incidents/issues/1;;
esac
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """docker, kubectl and gh only note how they were called. This returns what is new."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("docker", "kubectl", "gh"):
        (programs / name).write_text(PROGRAM.format(folder=tmp_path), encoding="utf-8")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def called() -> list[str]:
        lines = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
        (tmp_path / "calls").unlink()
        return lines

    return called


def test_an_image_that_can_not_be_rolled_out_is_replaced_by_the_one_before(
    tmp_path: Path, work: Path, calls: Callable[[], list[str]]
) -> None:
    image, target = "r.example.org/t/api:1.0.0", "<--namespace=default> <--> <deployment/api>"
    inputs = {"service_name": "api", "version": "1.0.0", "registry": "r.example.org/t"}
    found = drive(tmp_path, "deploy-service", {**inputs, "health_url": "https://api.example.org"}, nobody)
    assert found["result"]["status"] == "rolled_back", found
    assert calls() == [
        f"docker <build> <--tag={image}> <--> <.>",
        f"docker <run> <--rm> <--entrypoint=sh> <--> <{image}> <-c> <--> <make test>",
        f"docker <push> <--> <{image}>",
        "kubectl <get> <--namespace=default> "
        '<--output=jsonpath={..containers[?(@.name=="api")].image}> <--> <deployment/api>',
        f"kubectl <set> <image> {target} <api={image}>",
        f"kubectl <set> <image> {target} <api=old:1>",
    ]


TEXT = 'It\'s `$(touch owned)` -- "fine"'
"""What an agent may write, which no shell may take for a command."""


def test_an_incident_ends_with_a_record_in_the_tracker(
    tmp_path: Path, work: Path, calls: Callable[[], list[str]]
) -> None:
    said: dict[str, Any] = {
        "assess-facts": {
            "summary": "Down.",
            "likely_cause": "A release.",
            "confidence": "high",
            "advice": "x",
        },
        "choose-action": {"selected": "Roll back"},
        "confirm-roll-back": {"confirmed": True},
        "write-record": {"response": TEXT},
        "show-record": {"acknowledged": True},
    }
    inputs = {
        "service": "api",
        "alert": "The api is down.",
        "severity": "sev1",
        "tracker": {"owner": "acme", "repo": "incidents"},
        "probes": [{"label": "pods", "command": "echo 'two pods'; exit 3"}],
    }
    found = drive(tmp_path, "incident-triage", inputs, lambda step, given: said[step])
    assert found["result"]["issue_url"] == "https://github.com/acme/incidents/issues/1", found
    undone, *labels, issue = calls()
    assert undone == "kubectl <rollout> <undo> <--namespace=default> <--> <deployment/api>"
    assert labels == [
        f"gh <label> <create> <--repo=acme/incidents> <{label}>" for label in ("incident", "sev1")
    ]
    assert issue.endswith(f"<--label=incident> <--label=sev1> <--body={TEXT}>")
    assert not (work / "owned").exists()


def test_a_clean_pull_request_is_merged_as_it_was_reviewed(
    tmp_path: Path, work: Path, calls: Callable[[], list[str]]
) -> None:
    pull = {
        "title": "x",
        "body": None,
        "state": "OPEN",
        "isDraft": False,
        "changedFiles": 2,
        "headRefOid": "abc",
    }
    (tmp_path / "pr.json").write_text(json.dumps(pull), encoding="utf-8")
    inputs = {"owner": "acme", "repo": "api", "pr_number": 7, "auto_merge": True}
    verdict = {"blocking": [], "risk": "low", "summary": TEXT}
    found = drive(tmp_path, "pr-automation", inputs, lambda *_: verdict)
    assert found["result"]["decision"] == "merged", found
    assert calls()[2:] == [
        "gh <pr> <merge> <--squash> <--repo=acme/api> <--match-head-commit=abc> <--> <7>",
        f"gh <pr> <comment> <--repo=acme/api> <--body=Merged after review, low risk. {TEXT}> <--> <7>",
    ]
    assert not (work / "owned").exists()


NOT_EXECUTED = {
    "ship-release": "it waits for a healthy service",
    "interactive-planning": "it only makes a folder, before a tool of the client writes the plan",
}
"""Workflows whose commands are not executed in a scratch repository, and why."""


def test_the_commands_of_every_other_shipped_workflow_are_executed() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*ship*.py"))
    tests += Path(__file__).with_name("test_git_and_data.py").read_text(encoding="utf-8")
    tests = tests.partition("NOT_EXECUTED = {")[0] + tests.partition("NOT_EXECUTED = {")[2].partition("}")[2]
    for path in sorted((ROOT / "workflows").glob("*.yaml")):
        commands = re.search(r"^ +command: |type: Shell$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if commands and not path.stem.endswith(".test"):
            executed = f'"{path.stem}"' in tests
            assert executed != (path.stem in NOT_EXECUTED), path.stem
