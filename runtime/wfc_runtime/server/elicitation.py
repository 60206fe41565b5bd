"""Elicitation: asking the user with a form while a call is in progress, in both versions of the protocol.

Up to 2025-11-25 the server sends a request of its own in the middle of the call. From 2026-07-28 on it ends the call
with its question, and the client repeats the call with the answer and a signed state. The run has already moved on
before the question, so the state names the run, and the repeated call does nothing else again.

Closing or declining a form is not an answer: the step stays pending, and the reply tells the agent to ask in the
conversation.

A form has little room: Claude Code shows one line of the message and cuts the rest. The agent shows a longer message in
the conversation first and confirms it by submitting `{"shown": true}`; then a short form asks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import cast

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    RequestParamsMeta,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from wfc_runtime.contract import Json
from wfc_runtime.errors import RefusedError
from wfc_runtime.server.front_messages import QUESTION
from wfc_runtime.server.tools import Call, RequestContext, in_thread, read_text
from wfc_runtime.service import Reply, actions_of

# Prompt steps as forms: what the user sees, and the conversion of what they entered into a result.

_TITLES = {"acknowledged": "Seen", "confirmed": "Answer", "input": "Answer", "selected": "Choice"}
_CHOICES: dict[str, dict[str, Json]] = {
    "acknowledged": {"seen": True},
    "confirmed": {"yes": True, "no": False},
}
"""Yes and no as a choice: with a box to tick, leaving the form as it is would be a no that nobody said."""
SHOWN: Json = {"shown": True}
"""The submission of the agent after it has shown a long message."""
# Characters that are certainly visible in a form.
_LONGEST_MESSAGE = 100
_BEGINNING = 60
_SIMPLE = ("string", "number", "integer", "boolean")
_SHOWN = ("type", "enum", "default", "minLength", "maxLength", "minimum", "maximum")
"""The keywords that a form may use for a field. All other constraints are checked once the answer has arrived."""


@dataclass(frozen=True)
class Question:
    """A prompt step that waits for the user."""

    run: str
    step_id: str
    message: str
    result_schema: dict[str, Json]
    problem: str = ""
    """The error of the previous answer."""
    was_shown: bool = False
    """Whether the agent has shown the message in the conversation."""
    asked: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    """The text and the options of each field, as the action's parameters have them."""

    @property
    def is_long(self) -> bool:
        # Any line break makes a message long: clients show the first line only.
        return len(self.message) > _LONGEST_MESSAGE or "\n" in self.message.strip()

    @property
    def text(self) -> str:
        message = self.message
        if self.is_long and self.was_shown:
            begins = " ".join(message[:_BEGINNING].split())
            message = f"{begins}... (whole message above)"
        # The problem comes first, since the rest may be cut.
        return f"This answer can't be used: {self.problem}\n\n{message}" if self.problem else message

    @property
    def form(self) -> dict[str, Json]:
        properties = {
            name: _field(name, one, self.asked.get(name, {}))
            for name, one in self.result_schema["properties"].items()
        }
        return {"type": "object", "properties": properties, "required": list(self.result_schema["required"])}

    @property
    def digest(self) -> str:
        """Binds an answer to exactly what was shown."""
        parts = [
            self.run,
            self.step_id,
            self.message,
            self.result_schema,
            *([self.asked] if self.asked else []),
        ]
        shown = json.dumps(parts, sort_keys=True)
        # Surrogates may come from names of files, and must not make the digest fail.
        return sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def question_in(reply: Reply, step_id: str | None = None) -> Question | None:
    """The first pending prompt of a run, or the named one, if a form can ask it."""
    for action in actions_of(reply):
        schema = action.get("result_schema")
        wanted = step_id is None or action["step_id"] == step_id
        if wanted and action["type"] == "prompt" and isinstance(schema, dict) and _fits_a_form(schema):
            parameters = action["parameters"]
            return Question(
                reply["workflow_id"],
                action["step_id"],
                parameters["message"],
                schema,
                # The texts of a question are part of the digest, so an answer to other options is not
                # accepted.
                asked=_asked(parameters),
            )
    return None


def _asked(parameters: Mapping[str, Json]) -> dict[str, Mapping[str, Json]]:
    if "questions" in parameters:
        return {one["id"]: one for one in parameters["questions"]}
    options = parameters.get("options") or ()
    return {"selected": {"choices": options}} if any(isinstance(one, dict) for one in options) else {}


def _fits_a_form(schema: dict[str, Json]) -> bool:
    fields = schema.get("properties", {}).values()
    # The protocol forbids asking for secrets in forms.
    if schema.get("writeOnly"):
        return False
    return bool(fields) and all(one.get("type") in _SIMPLE for one in fields)


def _field(name: str, schema: dict[str, Json], asked: Mapping[str, Json]) -> dict[str, Json]:
    shown = {key: schema[key] for key in _SHOWN if key in schema}
    # A question may have the name of an answer of another kind, such as `confirmed`.
    if name in _CHOICES and not asked:
        shown = {"type": "string", "enum": list(_CHOICES[name])}
    shown["title"] = asked.get("text") or _TITLES.get(name, name)
    if "pattern" in schema:
        shown["description"] = f"Must match {schema['pattern']}"
    options = [one if isinstance(one, dict) else {"value": one} for one in asked.get("choices") or ()]
    if any("label" in one for one in options):
        shown["enumNames"] = [str(one.get("label", one["value"])) for one in options]
    described = [
        f"{one.get('label', one['value'])}: {one['description']}" for one in options if "description" in one
    ]
    if described:
        shown["description"] = "; ".join(described)
    return shown


# The questions of a call.

Outcome = Reply | InputRequiredResult

_KEY = "answer"
_MOST = 8
"""The most questions in one call. Clients give up after ten rounds."""
_NO_ANSWER = {
    "decline": "The person was shown a form and declined to answer",
    "cancel": "The person was shown a form and closed it",
    "accept": "The person's form came back empty",
}


def can_ask(ctx: RequestContext) -> bool:
    """Whether the client can show a form. An empty `elicitation: {}` means forms, which were once the only kind."""
    capabilities = ctx.session.client_capabilities
    offered = capabilities.elicitation if capabilities else None
    return offered is not None and (offered.form is not None or offered.url is None)


@dataclass
class Elicitation:
    """The questions of one call."""

    ctx: RequestContext
    call: Call
    asked: int = 0
    answered: list[str] = field(default_factory=list)
    top: str = ""
    """The run that the call is about. A question may belong to a child run of it."""

    async def resume(self, params: CallToolRequestParams) -> Outcome:
        """Continue with the client's answer to the question that ended the previous call."""
        state = json.loads(params.request_state or "")
        self.asked, self.answered, self.top = state["asked"], state["answered"], state["top"]
        question = question_in(await self._look(state["run"]), state["step_id"])
        if question is not None and state.get("was_shown"):
            question = replace(question, was_shown=True)
        # The step was answered in another way, or asks something else now: the answer must not be used for it.
        # Compared by content and not by id: the same step may ask again with another message.
        if question is None or question.digest != state["shown"]:
            return await self.go_on(await self._look(self.top))
        answer = (params.input_responses or {}).get(_KEY)
        return await self._settle(question, answer if isinstance(answer, ElicitResult) else None)

    async def go_on(self, reply: Reply) -> Outcome:
        """The reply, after the user has answered what can be asked with a form."""
        self.top = self.top or reply["workflow_id"]
        question = await self._question(reply) if self.asked < _MOST else None
        if question is None:
            # Also if forms are used up: the agent then asks what is left in the conversation.
            return self._with_answered(reply)
        return await self._let_show(question) if question.is_long else await self._ask(question)

    async def ask_after_showing(self, given: Mapping[str, Json]) -> Outcome | None:
        """Ask with a short form if a submit confirms that a long message has been shown; None for any other call."""
        result = given.get("result")
        # Models often send the object as text.
        shown = read_text(result) if isinstance(result, str) else result
        run, step_id = given.get("workflow_id"), given.get("step_id")
        if shown != SHOWN or not isinstance(run, str) or not isinstance(step_id, str):
            return None
        question = question_in(await self._look(run), step_id)
        self.top = run
        return await self._ask(replace(question, was_shown=True)) if question is not None else None

    async def _let_show(self, question: Question) -> Outcome:
        """Leave a long message to the agent, who shows it in the conversation."""
        call = f'submit_result(workflow_id="{question.run}", step_id="{question.step_id}", result={json.dumps(SHOWN)})'
        where = "" if question.run == self.top else f" of run {question.run}"
        said = f"Show the whole message{where} to the person in the conversation, then call {call}: a form asks them."
        now = self._with_answered(await self._look(self.top))
        for action in self._actions_about(question, now):
            action["instruction"] = said
        if len(actions_of(now)) == 1:
            now["next"] = call
        return now

    def _actions_about(self, question: Question, now: Reply) -> list[dict[str, Json]]:
        """The pending actions of the call's run that wait for an answer: the prompt itself, or calls of a workflow."""
        if question.run == self.top:
            return [one for one in actions_of(now) if one["step_id"] == question.step_id]
        return [one for one in actions_of(now) if one["type"] == "call"]

    async def _look(self, run: str) -> Reply:
        return await in_thread(lambda: self.call.context.service.next_step(run))

    async def _question(self, reply: Reply) -> Question | None:
        """The question of a run, or of a workflow that it called."""
        found = question_in(reply)
        calls = [one["parameters"] for one in actions_of(reply) if one["type"] == "call"]
        # Only workflows that were called. The children of a foreach are executed by agents, which ask their own
        # questions.
        for child in [child for one in calls for child in one["children"]] if found is None else ():
            found = found or await self._question(await self._look(child["workflow_id"]))
        return found

    async def _ask(self, question: Question) -> Outcome:
        self.asked += 1
        params = ElicitRequestFormParams(message=question.text, requested_schema=question.form)
        if self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return InputRequiredResult(
                input_requests={_KEY: ElicitRequest(params=params)}, request_state=self._state(question)
            )
        # A front passes an answer on to the next worker only if this value identifies the same visit.
        params.meta = cast(RequestParamsMeta, {QUESTION: question.digest})
        try:
            answer = await self.ctx.session.send_request(
                ElicitRequest(params=params),
                ElicitResult,
                metadata=ServerMessageMetadata(related_request_id=self.ctx.request_id),
            )
        except (MCPError, ValidationError):
            # The client could not show the form, or answered with something else: the step stays pending.
            return await self._settle(question, None)
        return await self._settle(question, answer)

    def _state(self, question: Question) -> str:
        state = {"run": question.run, "step_id": question.step_id, "shown": question.digest, "top": self.top}
        short = {"was_shown": True} if question.was_shown else {}
        return json.dumps({**state, **short, "asked": self.asked, "answered": self.answered})

    async def _settle(self, question: Question, answer: ElicitResult | None) -> Outcome:
        """Submit a valid answer, ask again after an invalid one, or else leave the step to the agent."""
        if answer is None or answer.action != "accept" or answer.content is None:
            # Leaving a form is never taken for an answer, and never for a no.
            return await self._leave(question, answer)
        given = {
            name: answer.content[name] if name in question.asked else _meant(name, answer.content[name])
            for name in question.form["properties"]
            if _is_given(answer.content.get(name), name, question)
        }
        problems = await in_thread(lambda: _problems(given, question))
        if not problems:
            reply = await in_thread(lambda: self._submit(question, given))
            # After an answer to a child, the reply is about the run that the call was about.
            return await self.go_on(reply if question.run == self.top else await self._look(self.top))
        if self.asked < _MOST:
            return await self._ask(replace(question, problem="; ".join(problems)))
        # Asked often enough: the agent continues in the conversation.
        return await self._leave(question, None)

    async def _leave(self, question: Question, answer: ElicitResult | None) -> Outcome:
        why = _NO_ANSWER[answer.action] if answer else "The person could not be asked with a form"
        said = f"{why}. This is not an answer, and never a yes. Ask in the conversation."
        now = await self._look(self.top)
        for action in self._actions_about(question, now):
            action["instruction"] = f"{said} {action.get('instruction', '')}".rstrip()
        return self._with_answered(now)

    def _submit(self, question: Question, given: dict[str, Json]) -> Reply:
        service = self.call.context.service
        try:
            reply = service.submit(question.run, question.step_id, given, actor=f"person, {self.call.actor}")
        except RefusedError:
            # Another submit came first.
            return service.next_step(question.run)
        self.answered.append(question.step_id)
        return reply

    def _with_answered(self, reply: Reply) -> Reply:
        if not self.answered:
            return reply
        # The actions that earlier answers made pending are new to the agent, too.
        reply.pop("new", None)
        following = reply.pop("next")
        return {**reply, "answered_by_person": self.answered, "next": following}


def _is_given(value: Json, name: str, question: Question) -> bool:
    """Whether a form has an answer. Clients send an empty text for a field that the person left empty."""
    is_left = value == "" and name in question.asked and name not in question.result_schema["required"]
    return value is not None and not is_left


def _meant(name: str, value: Json) -> Json:
    """The value of a choice."""
    return _CHOICES.get(name, {}).get(value, value) if isinstance(value, str) else value


def _problems(given: dict[str, Json], question: Question) -> list[str]:
    from wfc_runtime.results import UnusableSchemaError, problems

    try:
        return problems(given, question.result_schema)
    except UnusableSchemaError:
        # The service reports an unusable schema.
        return []
