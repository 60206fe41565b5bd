"""Prompt steps that ask the person directly, in both protocol eras. No answer is never a yes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp_types import ElicitRequestParams, ElicitResult

from tests.server.driver import ERAS, Agent, Place, Reply

ACCEPT_ALL = [
    {"acknowledged": True},
    {"confirmed": True},
    {"input": "apple"},
    {"selected": "green"},
]
both_eras = pytest.mark.parametrize("mode", ERAS.values(), ids=ERAS)


@dataclass
class Person:
    """Answers forms, in this order: with content, or with "decline" or "cancel". After the last one: cancel."""

    answers: list[dict[str, Any] | str]
    seen: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def on_form(self, _: Any, form: ElicitRequestParams) -> ElicitResult:
        assert form.mode == "form"
        self.seen.append((form.message, form.requested_schema))
        answer = self.answers.pop(0) if self.answers else "cancel"
        if isinstance(answer, dict):
            return ElicitResult(action="accept", content=answer)
        return ElicitResult(action="decline" if answer == "decline" else "cancel")


def ask_all(agent: Agent) -> Reply:
    return agent.call("start_workflow", workflow="ask-all")


@both_eras
def test_answers_to_forms_go_into_the_run_and_the_agent_gets_what_comes_after(place: Place, mode: str) -> None:
    person = Person([*ACCEPT_ALL])
    with place.server("--elicit", "--toolsets", "core,debug", mode=mode, on_form=person.on_form) as agent:
        reply = ask_all(agent)
        assert reply["result"] == {"agreed": True, "name": "apple", "colour": "green"}
        assert reply["answered_by_person"] == ["tell", "agree", "name", "colour"]
        events = agent.call("get_workflow_history", workflow_id=reply["workflow_id"])["events"]
    assert [message for message, _ in person.seen] == [
        "Three questions follow.",
        "Shall we begin?",
        "What is it called?",
        "Which colour?",
    ]
    forms = [form["properties"] for _, form in person.seen]
    assert forms[1] == {"confirmed": {"type": "boolean", "title": "Yes"}}
    assert forms[2]["input"]["minLength"] == 2
    assert forms[3]["selected"]["enum"] == ["red", "green"]
    answered = [event for event in events if event["event"] == "submitted"]
    assert [event["actor"].split(",")[0] for event in answered] == ["person"] * 4
    # What was shown is bound to what was answered.
    assert all(len(event["shown"]) == 32 for event in answered)


@both_eras
@pytest.mark.parametrize(("how", "said"), [("decline", "declined to answer"), ("cancel", "closed it")])
def test_declining_or_closing_a_form_leaves_the_step_to_the_agent(
    place: Place, mode: str, how: str, said: str
) -> None:
    person = Person([{"acknowledged": True}, how])
    with place.server("--elicit", mode=mode, on_form=person.on_form) as agent:
        reply = ask_all(agent)
        run, action = reply["workflow_id"], reply["action"]
        assert reply["status"] == "pending_action"
        assert action["step_id"] == "agree"
        assert said in action["instruction"]
        assert "never a yes" in action["instruction"]
        assert reply["answered_by_person"] == ["tell"]
        assert len(person.seen) == 2
        # Whoever only looks is not asked again.
        assert agent.call("get_workflow_status", workflow_id=run)["action"]["step_id"] == "agree"
        assert len(person.seen) == 2
        # The agent asks in the conversation; what follows is asked with forms again.
        person.answers += [{"input": "apple"}, {"selected": "red"}]
        ended = agent.call("submit_result", workflow_id=run, step_id="agree", result={"confirmed": False})
        assert ended["result"] == {"agreed": False, "name": "apple", "colour": "red"}


@both_eras
def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reason(place: Place, mode: str) -> None:
    person = Person([{"acknowledged": True}, {"confirmed": True}, {"input": "APPLE"}, {"input": "pear"}])
    with place.server("--elicit", mode=mode, on_form=person.on_form) as agent:
        reply = ask_all(agent)
        assert reply["action"]["step_id"] == "colour"
    messages = [message for message, _ in person.seen]
    assert messages[3].startswith("That can't be used: ")
    assert messages[3].endswith("What is it called?")


@both_eras
def test_an_accepted_form_without_an_answer_is_no_yes(place: Place, mode: str) -> None:
    person = Person([{"acknowledged": True}, {}, "cancel"])
    with place.server("--elicit", mode=mode, on_form=person.on_form) as agent:
        reply = ask_all(agent)
        assert reply["action"]["step_id"] == "agree"


@both_eras
def test_a_client_that_shows_no_forms_gets_the_pending_action(place: Place, mode: str) -> None:
    with place.server("--elicit", mode=mode) as agent:
        reply = ask_all(agent)
        assert reply["action"]["type"] == "prompt"
        assert reply["action"]["instruction"] == "Show this message to the person."


@both_eras
def test_nobody_is_asked_unless_the_server_was_told_to(place: Place, mode: str) -> None:
    person = Person([*ACCEPT_ALL])
    with place.server(mode=mode, on_form=person.on_form) as agent:
        assert ask_all(agent)["action"]["step_id"] == "tell"
    assert person.seen == []


def test_the_project_settings_can_turn_asking_on_and_the_command_line_off_again(place: Place) -> None:
    (place.folder / "pyproject.toml").write_text("[tool.wfc]\nelicit = true\n", encoding="utf-8")
    person = Person([*ACCEPT_ALL])
    with place.server(on_form=person.on_form) as agent:
        assert ask_all(agent)["status"] == "completed"
    with place.server("--no-elicit", on_form=person.on_form) as agent:
        assert ask_all(agent)["status"] == "pending_action"


def test_a_question_outlives_the_server_that_asked_it(place: Place) -> None:
    """In the newer era the client brings the answer and the sealed state to whichever process is there then."""
    person = Person([])
    with place.server("--elicit", on_form=person.on_form) as first:
        asked = first.portal.call(
            lambda: first.client.session.call_tool(
                "start_workflow", {"workflow": "ask-all"}, allow_input_required=True
            )
        )
        assert asked.result_type == "input_required"
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
    from mcp import MCPError

    person = Person([])
    with place.server("--elicit", on_form=person.on_form) as agent, pytest.raises(MCPError, match="requestState"):
        agent.portal.call(
            lambda: agent.client.call_tool(
                "start_workflow", {"workflow": "ask-all"}, input_responses={}, request_state='{"run": "x"}'
            )
        )
