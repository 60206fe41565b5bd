"""Values marked `secret: true` work in a run, and are nowhere to be read but in its snapshot and its actions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.support import OK, Box, children, steps
from tests.runtime.test_versions import lose_module
from wfc_runtime.errors import RefusedError, RequestError
from wfc_runtime.machine.redaction import HIDDEN, Mask, mask_of
from wfc_runtime.server.elicitation import question_in
from wfc_runtime.server.toolsets.checkpoints import about, listed
from wfc_runtime.service.sqlite import SqliteService

TOKEN = "tk-9f8e7d6c5b4a"
PASSWORD = 'correct\'horse "battery"'
TEXT = """
name: w
version: 1.0.0
inputs:
  token: {type: string, required: true, secret: true, min_length: 4}
  account:
    type: object
    properties: {user: {type: string}, password: {type: string, secret: true, max_length: 30}}
steps:
  - {id: log-in, type: shell, command: "login {{ inputs.token | shquote }}", output_to: out}
  - id: derive
    type: set_state
    needs_state: [out]
    updates: {header: "Bearer {{ inputs.token | upper }}", copied: "{{ state.out.stdout }}"}
  - {id: ask, type: prompt, prompt_type: text, message: Code?, output_to: code, secret: true,
     validation: {pattern: "^[0-9a-z-]+$", max_length: 20}}
  - id: use
    type: mcp_call
    needs_state: [header, code]
    tool: put
    parameters: {auth: "{{ state.header }}", code: "{{ state.code.input }}"}
    output_to: put
"""
INPUTS = {"token": TOKEN, "account": {"user": "bob", "password": PASSWORD}}
ECHOED = {**OK, "stdout": f"hello, your token is {TOKEN}\n"}
CODE = "code-4711"


def work(service: SqliteService) -> tuple[str, list[dict[str, Any]]]:
    replies = [service.start("w", INPUTS)]
    run = replies[0]["workflow_id"]
    replies.append(service.submit(run, "log-in", ECHOED))
    replies.append(service.submit(run, "ask", {"input": CODE}))
    return run, replies


def stored(box: Box) -> dict[str, str]:
    """All that the store holds beside snapshots and fields, by table."""
    connection = box.service.store._read_connection
    tables = {"history": "run, seq, kind, visit, actor, data", "modules": "text", "runs": "id, pending, due"}
    return {
        name: repr(connection.execute(f"SELECT {what} FROM {name}").fetchall())
        for name, what in tables.items()
    }


def test_the_agent_gets_what_it_needs_to_do_the_action(box: Box) -> None:
    _, (started, asked, used) = work(box.compile(TEXT).service)
    assert started["action"]["parameters"]["command"] == f"login {TOKEN}"
    assert asked["action"]["result_schema"]["writeOnly"] is True
    assert used["action"]["parameters"]["parameters"] == {"auth": f"Bearer {TOKEN.upper()}", "code": CODE}


def test_nothing_but_snapshots_and_fields_has_a_secret_in_clear(file_box: Box) -> None:
    run, _ = work(file_box.compile(TEXT).service)
    for name, text in stored(file_box).items():
        for secret in (TOKEN, TOKEN.upper(), "correct", CODE):
            assert secret not in text, (name, secret)
    assert HIDDEN in stored(file_box)["history"]
    shown = json.dumps(
        [file_box.service.history(run), file_box.service.state(run, ["out", "header", "copied", "code"])]
    )
    for secret in (TOKEN, TOKEN.upper(), "correct", CODE):
        assert secret not in shown
    started, submitted, asked = file_box.service.history(run)["events"]
    assert started["inputs"] == {"token": HIDDEN, "account": {"user": "bob", "password": HIDDEN}}
    assert submitted["result"]["stdout"] == f"hello, your token is {HIDDEN}\n"
    assert submitted["written"] == {
        "out": {**OK, "stdout": f"hello, your token is {HIDDEN}\n"},
        "header": HIDDEN,
        "copied": f"hello, your token is {HIDDEN}\n",
    }
    assert (asked["result"], asked["written"]) == (HIDDEN, {"code": HIDDEN})


def test_whoever_only_looks_at_a_run_sees_its_actions_masked(box: Box) -> None:
    run, _ = work(box.compile(TEXT).service)
    action = box.service.status(run, masked=True)["action"]
    assert action["parameters"]["parameters"]["code"] == HIDDEN
    assert box.service.status(run)["action"]["parameters"]["parameters"]["code"] == CODE


@pytest.mark.parametrize("secret", ["true", "false"])
def test_a_secret_is_never_asked_for_in_a_form(file_box: Box, secret: str) -> None:
    line = f"{{id: a, type: prompt, prompt_type: text, message: Code?, output_to: c, secret: {secret}}}"
    use = "{id: b, type: mcp_call, needs_state: [c], tool: t, parameters: {c: '{{ state.c.input }}'}}"
    asked = file_box.compile(steps(line, use)).service.start("w")
    assert (question_in(asked) is None) is (secret == "true")


def test_a_question_that_quotes_a_secret_is_listed_without_it(file_box: Box) -> None:
    text = steps(
        "{id: a, type: prompt, prompt_type: confirm, message: 'Use {{ inputs.token }}?'}",
        head="inputs: {token: {type: string, required: true, secret: true}}",
    )
    service = file_box.compile(text).service
    run = service.start("w", {"token": TOKEN})["workflow_id"]
    assert listed(service, "", "", 9)[0]["prompt"] == f"Use {HIDDEN}?"
    assert TOKEN not in json.dumps([listed(service, "w", "", 9), about(service, f"{run}:1")])


def test_a_run_goes_on_in_another_process_with_its_secrets(file_box: Box) -> None:
    run, (*_, used) = work(file_box.compile(TEXT).service)
    assert file_box.restart().next_step(run) == used
    assert file_box.service.definition(run)[2].state["out"] == ECHOED


def test_a_repeated_submit_of_a_secret_is_known_and_another_one_is_refused(box: Box) -> None:
    service = box.compile(TEXT).service
    run, (_, _, used) = work(service)
    assert service.submit(run, "ask", {"input": CODE}) == {**used, "repeated": True}
    with pytest.raises(RefusedError, match="with a different result"):
        service.submit(run, "ask", {"input": "code-4712"})
    assert service.submit(run, "log-in", ECHOED) == {**used, "repeated": True}
    with pytest.raises(RefusedError, match="with a different result"):
        service.submit(run, "log-in", {**ECHOED, "stdout": f"hello, your token is {HIDDEN}\n"})


def test_a_run_that_has_ended_has_forgotten_its_secrets(file_box: Box) -> None:
    service = file_box.compile(TEXT).service
    run, _ = work(service)
    reply = service.submit(run, "use", {"ok": True, "echo": f"{TOKEN} {CODE}"})
    assert reply["status"] == "completed"
    assert reply["result"]["put"] == {"ok": True, "echo": f"{HIDDEN} {HIDDEN}"}
    assert reply["result"]["header"] == HIDDEN
    file_box.close()
    data = file_box.state.read_bytes()
    assert not file_box.state.with_name("state.db-wal").exists()
    for secret in (TOKEN, TOKEN.upper(), "correct", CODE):
        assert secret.encode() not in data
    again = file_box.service.submit(run, "use", {"ok": True, "echo": f"{TOKEN} {CODE}"})
    assert again == {**reply, "repeated": True}


@pytest.mark.parametrize("count", [100, 1_000, 10_000])
def test_a_long_secret_is_overwritten_as_well(file_box: Box, count: int) -> None:
    token = "".join(f"{number:05}-{TOKEN}\n" for number in range(count))
    service = file_box.compile(TEXT).service
    for run in [service.start("w", {"token": token})["workflow_id"] for _ in range(3)]:
        service.submit(run, "log-in", {**OK, "stdout": token})
        service.submit(run, "ask", {"input": CODE})
        assert service.submit(run, "use", {"ok": True})["status"] == "completed"
    file_box.close()
    assert TOKEN.encode() not in file_box.state.read_bytes()


def test_what_it_returns_keeps_no_other_secret_alive(file_box: Box) -> None:
    text = TEXT + "  - {id: give, type: return, needs_state: [put], value: '{{ state.put }}'}\n"
    service = file_box.compile(text).service
    run, _ = work(service)
    assert service.submit(run, "use", f"made with {CODE}")["result"] == f"made with {CODE}"
    assert service.status(run, masked=True)["result"] == f"made with {HIDDEN}"
    file_box.close()
    data = file_box.state.read_bytes()
    for secret in (TOKEN, TOKEN.upper(), "correct"):
        assert secret.encode() not in data


def test_no_part_of_an_error_that_is_reported_has_a_secret(box: Box) -> None:
    service = box.compile(TEXT).service
    run = service.start("w", INPUTS)["workflow_id"]
    error = {"code": TOKEN, "message": f"no {TOKEN}", "hint": f"try {PASSWORD}"}
    reply = service.submit(run, "log-in", {"error": error})
    assert (reply["error"]["code"], reply["error"]["message"]) == (HIDDEN, f"no {HIDDEN} try {HIDDEN}")
    shown = json.dumps([reply, service.history(run), service.status(run, masked=True)])
    for secret in (TOKEN, "horse"):
        assert secret not in shown


def test_a_run_that_is_ended_without_its_module_has_forgotten_them_too(file_box: Box) -> None:
    text = TEXT.replace("inputs:\n", "inputs:\n  pin: {type: integer, secret: true}\n", 1)
    text = text.replace("{{ inputs.token | shquote }}", "{{ inputs.token | shquote }} {{ inputs.pin }}")
    service = file_box.compile(text).service
    run = service.start("w", {**INPUTS, "pin": 47118})["workflow_id"]
    service.submit(run, "log-in", ECHOED)
    service.submit(run, "ask", {"input": CODE})
    lose_module(file_box)
    (file_box.generated / "w.py").unlink()
    reply = file_box.service.cancel(run, f"{TOKEN} is known, and so is {CODE}")
    assert reply["status"] == "cancelled"
    shown = json.dumps([file_box.service.history(run), file_box.service.state(run, ["out", "code"])])
    for secret in (TOKEN, "47118", CODE):
        assert secret not in shown
    assert "is known, and so is" in shown
    file_box.close()
    data = file_box.state.read_bytes()
    for secret in (TOKEN, TOKEN.upper(), "correct", CODE, "47118"):
        assert secret.encode() not in data


def test_a_run_that_fails_in_the_moment_of_its_return_has_forgotten_them_too(file_box: Box) -> None:
    text = steps(
        "{id: a, type: prompt, prompt_type: text, message: Code?, output_to: c, secret: true}",
        "{id: p, type: parallel, join: fail_fast, branches: {"
        "x: [{id: r, type: return, needs_state: [c], value: '{{ state.c.input }}'}],"
        " y: [{id: f, type: set_state, updates: {z: '{{ [] | first }}'}}]}}",
    )
    service = file_box.compile(text).service
    run = service.start("w")["workflow_id"]
    assert service.submit(run, "a", {"input": CODE})["status"] == "failed"
    file_box.close()
    assert CODE.encode() not in file_box.state.read_bytes()


def test_a_short_secret_is_hidden_by_its_name_and_forgotten_too(file_box: Box) -> None:
    text = steps(
        "{id: a, type: shell, command: 'unlock {{ inputs.pin }}', output_to: o}",
        head="inputs: {pin: {type: number, required: true, secret: true}}",
    )
    service = file_box.compile(text).service
    run = service.start("w", {"pin": 4711})["workflow_id"]
    assert service.history(run)["events"][0]["inputs"] == {"pin": HIDDEN}
    with pytest.raises(RefusedError, match="contains secrets"):
        service.export(run)
    service.submit(run, "a", OK)
    assert "4711" not in json.dumps(service.export(run)["runs"][0]["snapshot"])


def test_a_run_that_holds_secrets_is_exported_only_if_they_may_be_in_it(file_box: Box) -> None:
    service = file_box.compile(TEXT).service
    run, _ = work(service)
    with pytest.raises(RefusedError, match="--with-secrets"):
        service.export(run)
    assert TOKEN in json.dumps(service.export(run, secrets=True))
    service.cancel(run)
    assert TOKEN not in json.dumps(service.export(run))


def test_what_a_workflow_returns_on_purpose_is_returned_and_masked_for_onlookers(file_box: Box) -> None:
    text = steps(
        "{id: r, type: return, value: 'use {{ inputs.token }}'}",
        head="inputs: {token: {type: string, required: true, secret: true}}",
    )
    reply = file_box.compile(text).service.start("w", {"token": TOKEN})
    assert reply["result"] == f"use {TOKEN}"
    assert file_box.service.status(reply["workflow_id"], masked=True)["result"] == f"use {HIDDEN}"
    assert TOKEN not in stored(file_box)["history"]


FAILING: dict[str, tuple[str, Callable[[SqliteService, str], Any]]] = {
    "an expression quotes the beginning": (
        "{id: a, type: set_state, updates: {x: '{{ inputs.token | parse_json }}'}}",
        lambda service, run: None,
    ),
    "an expression quotes what it made of it": (
        "{id: a, type: set_state, updates: {x: '{{ {}[inputs.token | upper] }}'}}",
        lambda service, run: None,
    ),
    "the agent reports it": (
        "{id: a, type: shell, command: x}",
        lambda service, run: service.submit(run, "a", {"error": f"could not log in with {LONG}"}),
    ),
    "a cancel names it": (
        "{id: a, type: shell, command: x}",
        lambda service, run: service.cancel(run, f"{LONG} was wrong"),
    ),
}
LONG = "s3cr3t-" + "0123456789abcdef" * 20


@pytest.mark.parametrize("how", FAILING)
def test_errors_say_what_went_wrong_without_the_secret(box: Box, how: str) -> None:
    line, fail = FAILING[how]
    head = "inputs: {token: {type: string, required: true, secret: true}}"
    service = box.compile(steps(line, head=head)).service
    run = service.start("w", {"token": LONG})["workflow_id"]
    fail(service, run)
    shown = json.dumps([service.status(run), service.history(run)])
    assert "s3cr3t" not in shown.lower()
    assert "0123456" not in shown
    assert HIDDEN in shown


def test_a_result_that_does_not_fit_is_refused_without_quoting_it(box: Box) -> None:
    service = box.compile(TEXT).service
    run = service.start("w", INPUTS)["workflow_id"]
    service.submit(run, "log-in", OK)
    for wrong in ("NOT allowed", "x" * 21):
        with pytest.raises(RefusedError) as caught:
            service.submit(run, "ask", {"input": wrong})
        assert wrong[:8] not in str(caught.value)
    with pytest.raises(RefusedError):
        service.submit(run, "ask", {"input": 4711})
    shown = json.dumps([service.history(run), service.status(run)])
    assert not any(wrong in shown for wrong in ("NOT allowed", "xxxxxxxx", "4711"))
    assert "does not fit `pattern`, which is" in shown


@pytest.mark.parametrize(
    "inputs",
    [
        {"token": 12345678},
        {"token": "abc"},
        {"token": TOKEN, "account": {"password": 12345678}},
        {"token": TOKEN, "account": {"password": "12345678" * 9}},
    ],
)
def test_an_input_that_does_not_fit_is_refused_without_quoting_it(box: Box, inputs: Any) -> None:
    with pytest.raises(RequestError) as caught:
        box.compile(TEXT).service.start("w", inputs)
    assert "abc" not in str(caught.value)
    assert "12345678" not in str(caught.value)


FAMILY = """
name: w
version: 1.0.0
inputs: {token: {type: string, required: true, secret: true}}
steps:
  - {id: each, type: foreach, items: [a], task: t, agent: "%AGENT%", output_to: o,
     with: {n: "{{ item }}", t: "{{ inputs.token }}"}}
  - {id: show, type: prompt, prompt_type: info, needs_state: [o], message: "Got {{ state.o | tojson }}"}
tasks:
  t:
    inputs: {n: {type: string, required: true}, t: {type: string, required: true}}
    steps:
      - {id: s, type: shell, command: "echo {{ inputs.t | shquote }} {{ inputs.n | shquote }}",
         output_to: mine, secret: true}
      - {id: r, type: return, needs_state: [mine], value: "{{ state.mine.stdout }} {{ inputs.t }}"}
"""


@pytest.mark.parametrize("agent", ["@task", "@fixer"])
def test_secrets_are_hidden_in_children_and_in_what_comes_back_from_them(file_box: Box, agent: str) -> None:
    text = FAMILY.replace("%AGENT%", agent)
    service = file_box.compile(text).service
    reply = service.start("w", {"token": TOKEN})
    [child] = children(reply)
    action = service.next_step(child)["action"]
    assert TOKEN in json.dumps(action)
    result: Any = {**OK, "stdout": "child-secret"} if agent == "@task" else f"child {TOKEN}"
    service.submit(child, action["step_id"], result)
    ended = service.status(reply["workflow_id"])
    assert TOKEN in ended["action"]["parameters"]["message"]
    for text in stored(file_box).values():
        assert TOKEN not in text
        assert "child-secret" not in text
    shown = json.dumps([service.history(child), service.state(reply["workflow_id"], ["o"])])
    assert TOKEN not in shown
    assert "child-secret" not in shown


@pytest.mark.parametrize("secret", [PASSWORD, "a/b+c d~(e)!'x"])
def test_a_secret_is_found_in_the_forms_in_which_it_is_passed_on(secret: str) -> None:
    import base64
    import shlex
    from urllib.parse import quote, quote_plus

    mask = Mask([secret])
    for text in (
        secret,
        shlex.quote(secret),
        json.dumps(secret),
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        quote(secret, safe="!'()*~"),  # as JavaScript has it
        repr(secret),
        *(base64.b64encode(f"{before}{secret}:x".encode()).decode() for before in ("", "b", "bo", "bob:")),
    ):
        hidden = mask.text(f"before {text} after")
        assert HIDDEN in hidden
        assert len(hidden) < 40, hidden
        assert hidden.startswith("before ")
        assert hidden.endswith(" after")


def test_what_is_shorter_than_six_characters_is_looked_for_in_no_other_text() -> None:
    assert Mask(["12345"]).text("call 12345") == "call 12345"
    assert Mask(["123456"]).text("call 123456") == f"call {HIDDEN}"


UNBORN = """
name: w
version: 1.0.0
inputs: {key: {type: string, required: true, secret: true}}
steps:
  - {id: each, type: foreach, items: [a], task: t, with: {code: "%GIVEN%"}, on_error: continue, output_to: all}
  - {id: ask, type: shell, command: x}
tasks:
  t:
    inputs: {code: {type: string, required: true, pattern: "^[0-9]+$"}}
    steps: [{id: look, type: shell, command: x}]
"""


@pytest.mark.parametrize("given", ["{{ inputs.key | parse_json }}", "{{ inputs.key }}"])
def test_why_a_child_could_not_begin_tells_no_part_of_a_secret(box: Box, given: str) -> None:
    key = "-".join(f"part{number}of-a-long-key" for number in range(40))
    service = box.compile(UNBORN.replace("%GIVEN%", given)).service
    run = service.start("w", {"key": key})["workflow_id"]
    [failed] = service.state(run, ["all"])["state"]["all"]
    assert failed["error"]["message"]
    assert "part0of" not in json.dumps([failed, service.history(run)])


def test_each_line_of_a_key_is_hidden() -> None:
    key = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA\nt7w9Qx\n-----END KEY-----\n"
    assert Mask([key]).text("line 2: t7w9Qx") == f"line 2: {HIDDEN}"


def test_short_values_hide_nothing_beside_themselves_and_numbers_are_hidden_whole() -> None:
    assert Mask(["on"]).text("once upon") == "once upon"
    assert Mask(["1234567"]).value({"n": 1234567, "m": 1, "t": "x1234567", "b": True}) == {
        "n": HIDDEN,
        "m": 1,
        "t": f"x{HIDDEN}",
        "b": True,
    }


def test_what_has_no_secret_in_it_stays_the_very_same_object() -> None:
    value = {"a": ["b", {"c": 1}]}
    assert mask_of((TOKEN,)).value(value) is value
    assert mask_of(()).value(value) is value


def test_a_child_that_ends_without_a_return_keeps_its_secrets_to_itself(box: Box) -> None:
    text = (
        steps(
            "{id: each, type: foreach, items: [1], task: t, output_to: o}", "{id: b, type: shell, command: x}"
        )
        + """
tasks:
  t:
    inputs: {n: {type: number, required: true}}
    steps: [{id: s, type: shell, command: "echo {{ inputs.n }}", output_to: code, secret: true}]
"""
    )
    service = box.compile(text).service
    reply = service.start("w")
    [child] = children(reply)
    service.submit(child, "s", {**OK, "stdout": CODE})
    parent = reply["workflow_id"]
    assert service.status(parent)["action"]["step_id"] == "b"
    assert service.state(parent, ["o"])["state"]["o"] == [{"code": HIDDEN}]
