"""Forms of a worker that dies: the person's answer is neither lost nor used for another question."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.front.wire import Message, Wire, is_gone, wire
from tests.support import wait_until

YES = {"action": "accept", "content": {"confirmed": True}}
NO = {"action": "decline"}


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Wire]:
    with wire(tmp_path / "front") as made:
        made.greet()
        yield made


def form(front: Wire, number: int = 1) -> Message:
    """The form number so and so that the client was asked to show."""
    front.wait_for(lambda _: len(front.named("elicitation/create")) >= number, "a form")
    return front.named("elicitation/create")[number - 1]


def reply(front: Wire, shown: Message, result: Message) -> None:
    front.send({"id": shown["id"], "result": result})


def test_a_form_is_shown_and_its_answer_reaches_the_worker(front: Wire) -> None:
    number = front.call("ask", message="Deploy?")
    shown = form(front)
    assert shown["params"]["message"] == "Deploy?"
    reply(front, shown, YES)
    assert json.loads(front.text(number)) == YES


def test_a_form_stays_open_when_its_worker_dies_and_is_answered_once(front: Wire) -> None:
    number = front.call("ask")
    shown = form(front)
    front.kill_worker()
    front.wait_for_call("ask", 2)
    reply(front, shown, YES)
    assert json.loads(front.text(number)) == YES
    assert len(front.named("elicitation/create")) == 1


def test_an_answer_that_comes_while_no_worker_lives_is_given_to_the_next(front: Wire) -> None:
    number = front.call("ask")
    shown = form(front)
    # Both have happened when the front goes on.
    front.process.send_signal(signal.SIGSTOP)
    worker = front.worker()
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: is_gone(worker))
    reply(front, shown, YES)
    front.process.send_signal(signal.SIGCONT)
    assert json.loads(front.text(number)) == YES
    assert len(front.lines("starts")) == 2
    assert len(front.named("elicitation/create")) == 1


def test_an_answer_that_comes_after_the_end_of_a_workers_output_is_given_to_the_next(front: Wire) -> None:
    number = front.call("ask", then="first mute")
    shown = form(front)
    output = Path(f"/proc/{front.worker()}/fd/1")
    wait_until(lambda: not output.is_symlink())
    reply(front, shown, YES)
    assert json.loads(front.text(number)) == YES
    assert len(front.lines("starts")) == 2
    assert len(front.named("elicitation/create")) == 1


def test_an_answer_that_comes_before_the_next_worker_asks_is_kept_for_it(front: Wire) -> None:
    number = front.call("ask")
    shown = form(front)
    front.tell("pause")
    front.kill_worker()
    # The next worker is there, and asks only when it is allowed to.
    reply(front, shown, YES)
    front.answer(front.request("ping"))
    (front.folder / "pause").unlink()
    assert json.loads(front.text(number)) == YES
    assert front.lines("forms") == [json.dumps(YES)]
    assert len(front.named("elicitation/create")) == 1


def test_an_answer_that_was_handed_over_is_given_again_to_the_same_visit(front: Wire) -> None:
    number = front.call("ask", question="run-1/visit-1", then="wait")
    reply(front, form(front), YES)
    wait_until(lambda: front.lines("forms"))
    front.kill_worker()
    front.tell("release")
    assert json.loads(front.text(number)) == YES
    assert len(front.named("elicitation/create")) == 1


def test_an_answer_that_was_handed_over_is_not_given_to_a_question_that_only_looks_the_same(
    front: Wire,
) -> None:
    number = front.call("ask", then="wait")
    reply(front, form(front), YES)
    wait_until(lambda: front.lines("forms"))
    front.kill_worker()
    again = form(front, 2)
    assert front.answers(number) == []
    reply(front, again, NO)
    front.tell("release")
    assert json.loads(front.text(number)) == NO


def test_two_questions_with_the_same_words_get_two_forms(front: Wire) -> None:
    one, other = (front.call("ask", question=f"visit-{visit}") for visit in (1, 2))
    first, second = form(front), form(front, 2)
    front.kill_worker()
    front.wait_for_call("ask", 4)
    given = {first["params"]["_meta"]["wfc/question"]: YES, second["params"]["_meta"]["wfc/question"]: NO}
    for shown in (first, second):
        reply(front, shown, given[shown["params"]["_meta"]["wfc/question"]])
    assert json.loads(front.text(one)) == given["visit-1"]
    assert json.loads(front.text(other)) == given["visit-2"]
    assert len(front.named("elicitation/create")) == 2


def test_a_late_answer_never_reaches_a_question_of_the_next_worker(front: Wire) -> None:
    """All workers number their questions from 0."""
    number = front.call("ask", message="Delete everything?")
    late = form(front)
    front.send({"method": "notifications/cancelled", "params": {"requestId": number}})
    wait_until(lambda: front.lines("cancelled"))
    front.kill_worker()
    number = front.call("ask", message="Continue?")
    shown = form(front, 2)
    assert shown["id"] != late["id"]
    reply(front, late, YES)
    reply(front, shown, NO)
    assert json.loads(front.text(number)) == NO


def test_a_form_whose_call_is_given_up_is_taken_back(front: Wire) -> None:
    front.tell("tools.json", json.dumps([{"name": "ask"}]))
    front.ask("tools/list")
    number = front.call("ask")
    shown = form(front)
    front.kill_worker()
    assert "It may or may not have been executed" in front.text(number)
    cancelled = front.wait_for(lambda one: one.get("method") == "notifications/cancelled")
    assert cancelled["params"]["requestId"] == shown["id"]


def test_a_form_that_the_worker_takes_back_is_taken_back_at_the_client(front: Wire) -> None:
    front.call("ask", then="take back")
    shown = form(front)
    cancelled = front.wait_for(lambda one: one.get("method") == "notifications/cancelled")
    assert cancelled["params"]["requestId"] == shown["id"]


def test_an_error_in_the_place_of_an_answer_is_passed_on(front: Wire) -> None:
    number = front.call("ask")
    front.send({"id": form(front)["id"], "error": {"code": -1, "message": "no forms here"}})
    assert json.loads(front.text(number)) is None
