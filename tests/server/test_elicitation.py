"""Prompt steps that ask the person directly, in both protocol eras. No answer is never a yes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal
from mcp import MCPError
from mcp_types import ElicitRequestParams, ElicitResult, InputRequiredResult

from tests.server.conftest import make_place
from tests.server.driver import ERAS, Agent, Place, Reply

ACCEPT_ALL: tuple[dict[str, Any], ...] = (
    {"acknowledged": "seen"},
    {"confirmed": "yes"},
    {"input": "apple"},
    {"selected": "green"},
)
LONG = """
name: long
version: "1.0.0"
steps:
  - {id: build, type: shell, command: make, output_to: built}
  - id: approve
    type: prompt
    prompt_type: confirm
    needs_state: [built]
    message: "Deploy this? {{ state.built.stdout }}"
    output_to: approved
  - {id: end, type: return, needs_state: [approved], value: "{{ state.approved.confirmed }}"}
"""
both_eras = pytest.mark.parametrize("mode", ERAS.values(), ids=ERAS)


@dataclass
class Person:
    """Answers forms, in this order: with content, or with "decline" or "cancel". After the last one: cancel."""

    answers: list[dict[str, Any] | str] = field(default_factory=list)
    seen: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def on_form(self, context: Any, params: ElicitRequestParams) -> ElicitResult:
        assert params.mode == "form"
        self.seen.append((params.message, params.requested_schema))
        answer = self.answers.pop(0) if self.answers else "cancel"
        if isinstance(answer, dict):
            return ElicitResult(action="accept", content=answer)
        return ElicitResult(action="decline" if answer == "decline" else "cancel")


@dataclass(frozen=True)
class Meeting:
    """An agent, and the person whom the server may ask."""

    agent: Agent
    person: Person

    def start(self, *answers: dict[str, Any] | str) -> Reply:
        """Start the workflow with these answers lying ready."""
        self.person.answers[:] = answers
        self.person.seen.clear()
        return ask_all(self.agent)


def ask_all(agent: Agent) -> Reply:
    return agent.call("start_workflow", workflow="ask-all")


@pytest.fixture(scope="module", params=list(ERAS.values()), ids=list(ERAS))
def meeting(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    portal: BlockingPortal,
    modules: dict[str, str],
) -> Iterator[Meeting]:
    place, person = make_place(tmp_path_factory.mktemp("meeting"), portal, modules), Person()
    options = ("--elicit", "--toolsets", "core,debug,author")
    with place.server(*options, mode=request.param, on_form=person.on_form) as agent:
        yield Meeting(agent, person)


def test_answers_to_forms_go_into_the_run_and_the_agent_gets_what_comes_after(meeting: Meeting) -> None:
    reply = meeting.start(*ACCEPT_ALL)
    assert reply["result"] == {"agreed": True, "name": "apple", "colour": "green"}
    assert reply["answered_by_person"] == ["tell", "agree", "name", "colour"]
    assert list(reply)[-1] == "next"
    messages = [message for message, _ in meeting.person.seen]
    assert messages == ["Three questions follow.", "Shall we begin?", "What is it called?", "Which colour?"]
    forms = [form["properties"] for _, form in meeting.person.seen]
    assert forms[0] == {"acknowledged": {"type": "string", "enum": ["seen"], "title": "Seen"}}
    assert forms[1] == {"confirmed": {"type": "string", "enum": ["yes", "no"], "title": "Answer"}}
    assert forms[2]["input"]["minLength"] == 2
    assert forms[3]["selected"]["enum"] == ["red", "green"]


def test_no_is_a_choice_and_not_a_box_left_empty(meeting: Meeting) -> None:
    reply = meeting.start(
        {"acknowledged": "seen"}, {"confirmed": "no"}, {"input": "apple"}, {"selected": "red"}
    )
    assert reply["result"]["agreed"] is False


def test_neither_yes_nor_no_is_asked_again(meeting: Meeting) -> None:
    for neither in ("maybe", "", "Yes please", 1, None):
        reply = meeting.start({"acknowledged": "seen"}, {"confirmed": neither}, "cancel")
        assert reply["action"]["step_id"] == "agree"
        assert meeting.person.seen[2][0].startswith("This answer can't be used: ")


def build(meeting: Meeting, output: str, *answers: dict[str, Any] | str) -> Reply:
    """A run of the workflow with the long question, up to that question."""
    meeting.person.answers[:] = answers
    meeting.person.seen.clear()
    run = meeting.agent.call("execute_inline_workflow", yaml=LONG)["workflow_id"]
    result = {"stdout": output, "exit_code": 0}
    return meeting.agent.call("submit_result", workflow_id=run, step_id="build", result=result)


def test_a_long_message_is_shown_in_the_conversation_first_and_then_a_short_form_asks(
    meeting: Meeting,
) -> None:
    for long in ("x" * 100, "one\ntwo", "line\n" * 10):
        reply = build(meeting, long, {"confirmed": "yes"})
        run, action = reply["workflow_id"], reply["action"]
        assert meeting.person.seen == []
        assert action["parameters"]["message"] == f"Deploy this? {long}"
        call = f'submit_result(workflow_id="{run}", step_id="approve", result={{"shown": true}})'
        assert reply["next"] == call
        assert action["instruction"].startswith("Show the whole message to the person in the conversation")
        done = meeting.agent.call("submit_result", workflow_id=run, step_id="approve", result={"shown": True})
        assert (done["result"], done["answered_by_person"]) == (True, ["approve"])
        [(message, _)] = meeting.person.seen
        assert message.endswith("... (whole message above)")
        assert len(message) < 100
        assert "\n" not in message


def test_the_short_form_can_be_asked_for_in_json_text_and_again_after_no_answer(meeting: Meeting) -> None:
    run = build(meeting, "x" * 500, "cancel", {"confirmed": "maybe"}, {"confirmed": "no"})["workflow_id"]
    submit = partial(meeting.agent.call, "submit_result", workflow_id=run, step_id="approve")
    left = submit(result='{"shown": true}')
    assert "never a yes" in left["action"]["instruction"]
    assert submit(result={"shown": True})["result"] is False
    assert meeting.person.seen[2][0].endswith("... (whole message above)")


def test_saying_that_a_message_was_shown_answers_nothing(meeting: Meeting, place: Place) -> None:
    run = build(meeting, "x" * 500)["workflow_id"]
    wrong = {"shown": True, "confirmed": "yes"}
    assert "does not fit" in meeting.agent.refusal(
        "submit_result", workflow_id=run, step_id="approve", result=wrong
    )
    assert "has not been reached" in meeting.agent.refusal(
        "submit_result", workflow_id=run, step_id="end", result={"shown": True}
    )
    with place.server() as agent:
        run = ask_all(agent)["workflow_id"]
        assert "does not fit" in agent.refusal(
            "submit_result", workflow_id=run, step_id="tell", result={"shown": True}
        )


def test_the_history_shows_that_the_person_answered_and_binds_the_answer_to_what_was_shown(
    meeting: Meeting,
) -> None:
    run = meeting.start(*ACCEPT_ALL)["workflow_id"]
    events = meeting.agent.call("get_workflow_history", workflow_id=run)["events"]
    answered = [event for event in events if event["event"] == "submitted"]
    assert [event["actor"].split(",")[0] for event in answered] == ["person"] * 4
    assert len({event["shown"] for event in answered}) == 4


@pytest.mark.parametrize(("how", "said"), [("decline", "declined to answer"), ("cancel", "closed it")])
def test_declining_or_closing_a_form_leaves_the_step_to_the_agent(
    meeting: Meeting, how: str, said: str
) -> None:
    reply = meeting.start({"acknowledged": "seen"}, how)
    run, action = reply["workflow_id"], reply["action"]
    assert reply["status"] == "pending_action"
    assert action["step_id"] == "agree"
    assert said in action["instruction"]
    assert "never a yes" in action["instruction"]
    assert reply["answered_by_person"] == ["tell"]
    # Whoever only looks does not make the server ask again.
    assert meeting.agent.call("get_workflow_status", workflow_id=run)["action"]["step_id"] == "agree"
    assert len(meeting.person.seen) == 2
    # The agent asks in the conversation; what follows is asked with forms again.
    meeting.person.answers[:] = [{"input": "apple"}, {"selected": "red"}]
    ended = meeting.agent.call("submit_result", workflow_id=run, step_id="agree", result={"confirmed": False})
    assert ended["result"] == {"agreed": False, "name": "apple", "colour": "red"}


def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reason(meeting: Meeting) -> None:
    reply = meeting.start({"acknowledged": True}, {"confirmed": True}, {"input": "APPLE"}, {"input": "pear"})
    assert reply["action"]["step_id"] == "colour"
    messages = [message for message, _ in meeting.person.seen]
    assert messages[3].startswith("This answer can't be used: ")
    assert messages[3].endswith("What is it called?")


def test_somebody_who_never_gives_a_fitting_answer_is_not_asked_for_ever(meeting: Meeting) -> None:
    reply = meeting.start({"acknowledged": True}, {"confirmed": True}, *[{"input": "APPLE"}] * 20)
    assert reply["action"]["step_id"] == "name"
    assert len(meeting.person.seen) == 8


def test_an_accepted_form_without_an_answer_is_no_yes(meeting: Meeting) -> None:
    assert meeting.start({"acknowledged": True}, {}, "cancel")["action"]["step_id"] == "agree"


@both_eras
def test_a_client_that_shows_no_forms_gets_the_pending_action(place: Place, mode: str) -> None:
    with place.server("--elicit", mode=mode) as agent:
        reply = ask_all(agent)
        assert reply["action"]["type"] == "prompt"
        assert reply["action"]["instruction"] == "Show this message to the person."


def test_the_project_settings_can_turn_asking_on_and_the_command_line_off_again(place: Place) -> None:
    (place.folder / "pyproject.toml").write_text("[tool.wfc]\nelicit = true\n", encoding="utf-8")
    person = Person([*ACCEPT_ALL])
    with place.server(on_form=person.on_form) as agent:
        assert ask_all(agent)["status"] == "completed"
    seen = len(person.seen)
    with place.server("--no-elicit", on_form=person.on_form) as agent:
        assert ask_all(agent)["status"] == "pending_action"
    assert len(person.seen) == seen


def test_a_question_outlives_the_server_that_asked_it(place: Place) -> None:
    """In the newer era the client brings the answer and the sealed state to whichever process is there then."""
    person = Person()
    with place.server("--elicit", on_form=person.on_form) as first:
        call = partial(first.client.session.call_tool, "start_workflow", {"workflow": "ask-all"})
        asked = first.portal.call(partial(call, allow_input_required=True))
        assert isinstance(asked, InputRequiredResult)
        first.kill()
    key = place.state.with_name("state.db.key")
    assert key.stat().st_mode & 0o777 == 0o600
    answer = ElicitResult(action="accept", content={"acknowledged": True})
    with place.server("--elicit", on_form=person.on_form) as second:
        reply = second.portal.call(
            lambda: second.client.call_tool(
                "start_workflow",
                {"workflow": "ask-all"},
                input_responses={"answer": answer},
                request_state=asked.request_state,
            )
        ).structured_content
        assert reply["action"]["step_id"] == "agree"
        assert reply["answered_by_person"] == ["tell"]
        # It went on with the same run, and started no other.
        assert len(second.call("list_runs")["runs"]) == 1


def test_a_forged_state_is_refused(place: Place) -> None:
    person = Person()
    forged = pytest.raises(MCPError, match="requestState")
    with place.server("--elicit", on_form=person.on_form) as agent, forged:
        agent.portal.call(
            lambda: agent.client.call_tool(
                "start_workflow", {"workflow": "ask-all"}, input_responses={}, request_state='{"run": "x"}'
            )
        )


QUESTIONS = """
name: several
version: "1.0.0"
steps:
  - id: setup
    type: prompt
    prompt_type: questions
    message: Some details.
    questions:
      - id: database
        text: Which database?
        choices: [{value: sqlite, label: SQLite, description: One file.}, postgres]
        default: sqlite
      - {id: confirmed, text: Who owns it?}
      - {id: note, text: Anything else?, required: false}
    output_to: setup
  - {id: end, type: return, needs_state: [setup], value: "{{ state.setup }}"}
"""


def test_several_questions_are_one_form_with_labels_and_defaults(meeting: Meeting) -> None:
    meeting.person.seen.clear()
    meeting.person.answers[:] = [
        {"database": "mysql", "confirmed": "me"},
        {"database": "postgres", "confirmed": "yes", "note": ""},
    ]
    reply = meeting.agent.call("execute_inline_workflow", yaml=QUESTIONS)
    # The answers are the person's words, also where a field has the name of another kind of answer.
    assert reply["result"] == {"database": "postgres", "confirmed": "yes"}
    form = meeting.person.seen[0][1]
    assert form["required"] == ["confirmed"]
    assert form["properties"]["database"] == {
        "type": "string",
        "enum": ["sqlite", "postgres"],
        "default": "sqlite",
        "title": "Which database?",
        "enumNames": ["SQLite", "postgres"],
        "description": "SQLite: One file.",
    }
    assert form["properties"]["confirmed"] == {"type": "string", "minLength": 1, "title": "Who owns it?"}
    assert meeting.person.seen[1][0].startswith("This answer can't be used: ")
