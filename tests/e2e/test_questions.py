"""Labelled options and sets of questions: one gate and one answer, in the terminal, with --answer, in the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.support import Desk
from tests.e2e.terminal import Terminal
from tests.golden.test_golden import HERE
from tests.runtime.support import Box
from wfc_runtime.errors import RefusedError

TEXT = (HERE / "prompt_questions/workflow.yaml").read_text(encoding="utf-8")
INPUTS = {"environments": ["staging"]}


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_answers_are_checked_and_defaults_fill_what_is_left_out(box: Box) -> None:
    service = box.compile(TEXT).service
    reply = service.start("prompt-questions", INPUTS)
    run = reply["workflow_id"]
    assert reply["action"]["parameters"]["options"][1] == {"value": "stage", "label": "Stage on staging"}
    assert "submit the `value`" in reply["action"]["instruction"]
    with pytest.raises(RefusedError, match="does not fit"):
        service.submit(run, "how", {"selected": "Ship it"})
    reply = service.submit(run, "how", {"selected": "stage"})
    place = reply["action"]["parameters"]["questions"][3]
    assert place == {"id": "place", "text": "Where, for stage?", "choices": ["staging", "other"]}
    wrong = [
        {"owner": "me"},
        {"owner": "", "place": "other"},
        {"owner": "me", "place": "production"},
        {"owner": "me", "place": "other", "database": "SQLite"},
        {"owner": "me", "place": "other", "more": "x"},
        {"owner": 5, "place": "other"},
        "me",
    ]
    for result in wrong:
        with pytest.raises(RefusedError, match="does not fit"):
            service.submit(run, "setup", result)
    reply = service.submit(run, "setup", {"owner": "me", "place": "other"})
    assert reply["result"] == "stage: sqlite, me, "
    box.close()


def test_a_person_answers_them_one_after_the_other_and_can_go_back(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    (tmp_path / "w.yaml").write_text(TEXT)
    terminal = Terminal("run", "w.yaml", "--input", 'environments=["staging"]', cwd=tmp_path)
    terminal.expect("1. Ship it")
    terminal.expect("Deploys to production at once.")
    terminal.answer("number or name:", "ship")
    terminal.expect("1 of 4: Which database?")
    terminal.expect("1. SQLite  (default)")
    terminal.answer("number or name:", "2")
    terminal.answer("2 of 4: Who owns it?", "")
    terminal.expect("this needs an answer")
    terminal.answer(">", ":b")
    terminal.answer("number or name:", "1")
    terminal.answer("2 of 4: Who owns it?", "me")
    terminal.answer("3 of 4: Anything else?", "")
    terminal.expect("4 of 4: Where, for ship?")
    terminal.answer("number or name:", "3")
    terminal.expect("`3` is not an option")
    terminal.answer("number or name:", "other")
    terminal.expect("ship: sqlite, me, ")
    assert terminal.wait() == 0


def test_the_command_line_answers_single_questions_or_all_of_them(desk: Desk) -> None:
    (desk.project / "workflows/w.yaml").write_text(TEXT.replace("prompt-questions", "w"))
    given = ("--input", 'environments=["staging"]')
    done = desk.run(
        *given, "--answer", "how=ship", "--answer", "setup.owner=me", "--answer", "setup.place=other"
    )
    assert (done.status, done.out.strip()) == (0, "ship: sqlite, me,")
    whole = desk.run(
        *given, "--answer", "how=wait", "--answer", "setup={owner: you, place: staging, note: 1 o'clock}"
    )
    assert (whole.status, whole.out.strip()) == (0, "wait: sqlite, you, 1 o'clock")
    for wrong in ("setup.owner=", "setup.database=mysql", "setup.place=", "setup.nothing=x", "setup=yes"):
        refused = desk.run(*given, "--answer", "how=ship", "--answer", wrong)
        assert refused.status == 2, wrong
    single = TEXT.replace("prompt-questions", "w")
    for line in [one for one in single.splitlines() if "{id: place" in one]:
        single = single.replace(f"{line}\n", "")
    (desk.project / "workflows/w.yaml").write_text(single)
    for answer in ("setup.owner=me", "setup=me", "setup={owner: me}"):
        done = desk.run(*given, "--answer", "how=ship", "--answer", answer)
        assert (done.status, done.out.strip()) == (0, "ship: sqlite, me,"), answer
    # What is not answered waits for a person, also in part.
    assert desk.run(*given, "--answer", "how=ship").status == 4


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
