"""One function per step type: the steps of the core that a step becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeGuard

from wfc.dialects.base import Reports, made
from wfc.dialects.reactive import kinds
from wfc.dialects.reactive.build import mapping, words
from wfc.dialects.reactive.kinds import Handling, ReactiveStep, StateUpdate, Update
from wfc.dialects.reactive.names import Loop, Meaning, Place
from wfc.dialects.reactive.scopes import ScopeNames
from wfc.dialects.reactive.texts import Texts
from wfc.dialects.reactive.updates import Updates
from wfc.findings import Severity
from wfc.language.values import Literal, Text, Tree, Word
from wfc.struct import replace
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence, Span

Keys = dict[str, Any]

COMMAND_SECONDS, OTHER_SECONDS = 60, 300
"""The time limits of commands, and of prompts and children, where the file has none."""
_MILLISECONDS = 10_000
"""A time limit of this many seconds or more was meant in milliseconds."""

_SHELL = {name: Meaning(f"result.{name}") for name in ("stdout", "stderr", "exit_code")} | {
    "result": Meaning("result.value")
}
_WHOLE = {"result": Meaning("result")}
_RESPONSE = {"response": Meaning("result"), "result": Meaning("result")}
_HINTS = {"applied_count": Meaning("result.applied_count"), "result": Meaning("result")}
_LAST = ("changes", "fallback", "retry", "on_error", "error_changes")
"""Fields of a step that follow those which say what it does."""
_NO_OPERATION = "workflow.checkpoint"
_STATE_TOOLS = ("workflow_state.update", "workflow_state_update")


class Steps:
    """Translates the steps of one scope."""

    def __init__(
        self, scope: ScopeNames, reports: Reports, otherwise: str = "", collected_at: Word | None = None
    ) -> None:
        self.scope = scope
        self.reports = reports
        self._otherwise = otherwise
        """The reaction to a failed step without its own setting: `continue`, or nothing."""
        self._collected_at = collected_at
        """The list that gets the errors of steps after which the run continues by `otherwise`."""

    def block(self, steps: Iterable[ReactiveStep] | None, place: Place) -> Sequence:
        """A list of steps. An `agent_prompt` and the `agent_response` directly after it are one action."""
        listed = list(steps or ())
        found: list[Node] = []
        number = 0
        while number < len(listed):
            step, after = listed[number], listed[number + 1] if number + 1 < len(listed) else None
            here = replace(
                place,
                step=self.scope.id_of(step),
                passed=self.scope.passed,
                included=dict(self.scope.included),
            )
            if isinstance(step, kinds.AgentPrompt) and isinstance(after, kinds.AgentResponse):
                found += self._agent(step, after, here)
                number += 1
            else:
                found += self._of(step, here)
            number += 1
        span = listed[0].node.span if listed else self.scope.span
        return Sequence(span, found)

    def _of(self, step: ReactiveStep, place: Place) -> list[Node]:
        if step.execution_context and not step.takes_context:
            self._no_effect(step, "execution_context", f"{step.label} is always executed in the same place")
        make = self._MAKERS.get(type(step))
        if make is None:
            # WF007 reports it. The steps after it are still checked.
            return [mapping(step.span, id=place.step, type="say", message=made("", step.span))]
        return make(self, step, place)

    def _no_effect(self, step: ReactiveStep, key: str, why: str, help: str = "remove it") -> None:
        self.reports.add(
            "WF009",
            step.key_span(key),
            f"no effect: {why}",
            help,
            step=self.scope.id_of(step),
            severity=Severity.WARNING,
        )

    # -- parts that several types share

    def _core(self, step: ReactiveStep, place: Place, kind: str, keys: Keys, *texts: Texts) -> Mapping:
        """The step of the core, with the state that its texts read."""
        at = step.id.node.span if step.id else step.span
        reads = {name: None for one in texts for name in one.reads}
        if step.description:
            keys = {"description": step.description.node, **keys}
        last = {name: keys.get(name) for name in _LAST}
        keys = {name: value for name, value in keys.items() if name not in last}
        if reads:
            keys["needs_state"] = words(at, reads)
        entries = mapping(at, **keys, **last).entries
        identity = step.id.node if step.id else made(place.step, at)
        named = step.type.node if step.type else at
        self.scope.reads |= reads
        head = [Entry(made("id", at), identity), Entry(made("type", at), made(kind, named))]
        return Mapping(step.node.span, [*head, *entries])

    def _answered(
        self, step: Any, place: Place, result: dict[str, Meaning], whole: str, has_keys: bool = False
    ) -> tuple[Keys, Texts]:
        """The updates that the result makes, the handling of errors, and the texts of both."""
        texts = Texts(replace(place, result=result, has_keys=has_keys), self.reports)
        updates = Updates(texts, self.reports, whole)
        listed: list[Update] = [
            *([step.state_update] if step.state_update else ()),
            *(step.state_updates or ()),
        ]
        changes = updates.changes(listed)
        for name in ("store_result", "store_response"):
            stored: Word | None = step.values.get(name)
            change = updates.store(stored) if stored else None
            changes += [change] if change else []
        keys: Keys = {"changes": Sequence(step.span, changes) if changes else None}
        return keys | self._errors(step, place, texts), texts

    def _errors(self, step: ReactiveStep, place: Place, texts: Texts) -> Keys:
        keys: Keys = dict(_handling(step, self._otherwise))
        failed: Update | None = step.values.get("error_state_update")
        handled: Handling | None = step.values.get("error_handling")
        made_after = [failed] if failed else []
        if self._collected_at is not None and handled is None and "on_error" not in step.values:
            made_after.insert(0, _appended(self._collected_at))
        if made_after:
            inner = Texts(replace(place, local=place.local | {"error"}), self.reports)
            changes = Updates(inner, self.reports, "error").changes(made_after)
            keys["error_changes"] = Sequence(made_after[0].span, changes) if changes else None
            texts.reads |= inner.reads
        if handled and handled.error_message:
            inner = Texts(replace(place, local=place.local | {"error"}), self.reports)
            keys["failure_message"] = inner.words(handled.error_message.node)
            texts.reads |= inner.reads
        return keys

    def _times(self, step: Any, texts: Texts, default: int, unit: int = 1) -> Keys:
        """The time limit. One in `timeout_seconds` is a deadline; the default only makes the step overdue."""
        keys: Keys = {}
        limit, deadline = step.values.get("timeout"), step.values.get("timeout_seconds")
        if limit is not None:
            keys["timeout"] = self._seconds(step, "timeout", limit, texts, unit)
        if deadline is not None:
            keys["deadline"] = seconds = self._seconds(step, "timeout_seconds", deadline, texts)
            # The server that executes a command needs its limit; other steps have only fixed ones.
            if isinstance(deadline, Literal) or isinstance(step, kinds.ShellCommand):
                keys["timeout"] = keys.get("timeout") or seconds
        return {"timeout": default, **keys}

    def _seconds(
        self, step: ReactiveStep, key: str, value: Literal | Text, texts: Texts, unit: int = 1
    ) -> Node:
        if isinstance(value, Text):
            return texts.text(value.node)
        number = value.value / unit
        if unit == 1 and number >= _MILLISECONDS:
            self.reports.add(
                "WF006",
                value.span,
                f"`{key}` is in seconds: this is {_hours(number)}",
                f"write `{_short(number / 1000)}` if milliseconds were meant",
                step=self.scope.id_of(step),
                severity=Severity.WARNING,
            )
        return made(int(number) if number == int(number) else number, value.node)

    # -- steps that the agent, the user or the server answers

    def _shell(self, step: kinds.ShellCommand, place: Place) -> list[Node]:
        is_agents = isinstance(step, kinds.AgentShellCommand)
        keys, texts = self._answered(step, place, _SHELL, "result.value")
        own = Texts(place, self.reports)
        if step.command is None:
            return []
        keys["command"] = own.words(step.command.node)
        is_client = step.execution_context is not None and step.execution_context.text == "client"
        keys["runner"] = None if is_agents or is_client else "server"
        keys["fails_on_exit"] = True
        if step.output_format:
            keys["output_format"] = step.output_format.node
        elif _mentions(keys.get("changes"), "result.value"):
            keys["output_format"] = "text"
        if step.working_directory:
            keys["working_dir"] = own.words(step.working_directory.node)
        if step.env:
            keys["env"] = own.tree(step.node.get("env") or step.node)
        reason: Text | None = step.values.get("reason")
        if reason:
            keys["reason"] = own.words(reason.node)
        keys |= self._times(step, own, COMMAND_SECONDS, 1000 if is_agents else 1)
        return [self._core(step, place, "shell", keys, own, texts)]

    def _tool(self, step: kinds.McpCall, place: Place) -> list[Node]:
        tool = step.tool or step.method or (step.mcp.method if step.mcp else None)
        given = step.parameters or step.params or (step.mcp.params if step.mcp else None)
        if tool is None:
            return []
        if tool.node.text == _NO_OPERATION:
            return []
        if tool.node.text in _STATE_TOOLS:
            return self._update_by_tool(step, place)
        keys, texts = self._answered(step, place, _WHOLE, "result", has_keys=True)
        own = Texts(place, self.reports)
        keys["tool"] = own.text(tool.node)
        if given:
            parameters = [Entry(made(name, tree.span), own.tree(tree.node)) for name, tree in given.items()]
            keys["parameters"] = Mapping(step.span, parameters)
        keys |= self._times(step, own, COMMAND_SECONDS)
        return [self._core(step, place, "mcp_call", keys, own, texts)]

    def _update_by_tool(self, step: kinds.McpCall, place: Place) -> list[Node]:
        """The tool that wrote the state, as a state update."""
        from wfc.dialects.reactive.reading import read_shape

        given = step.parameters or step.params or (step.mcp.params if step.mcp else None) or {}
        listed = given["updates"].node if "updates" in given else None
        items = listed.items if isinstance(listed, Sequence) else ()
        updates = [read_shape(Update, item) for item in items if isinstance(item, Mapping)]
        return self._changed(step, place, updates)

    def _input(self, step: kinds.UserInput, place: Place) -> list[Node]:
        is_choice = step.setting("input_type") == "choice" or step.choices is not None
        answer = Meaning("result.selected" if is_choice else "result.input")
        keys, texts = self._answered(step, place, {"input": answer, "result": answer}, answer.code)
        own = Texts(place, self.reports)
        if step.prompt is None:
            return []
        keys |= {"prompt_type": "choice" if is_choice else "text", "message": own.words(step.prompt.node)}
        if step.instructions:
            keys["instructions"] = own.words(step.instructions.node)
        if is_choice:
            keys["options"] = own.tree(step.choices.node) if step.choices else Sequence(step.span, [])
        kind = step.setting("input_type")
        if not is_choice and kind in ("number", "integer", "boolean"):
            keys["input_type"] = "boolean" if kind == "boolean" else "number"
        if step.default is not None:
            keys["default"] = step.default.node
        keys |= self._rules(step)
        if step.max_retries is not None:
            keys["max_answers"] = int(step.max_retries.value) + 1
        keys |= {name: value for name, value in self._times(step, own, 0).items() if name == "deadline"}
        return [self._core(step, place, "prompt", keys, own, texts)]

    @staticmethod
    def _rules(step: kinds.UserInput) -> Keys:
        rules = step.validation
        pattern = step.validation_pattern
        if rules is None and pattern is None:
            return {}
        entries = [
            entry
            for entry in (rules.node.entries if rules else ())
            if rules and entry.key.text in rules.values
        ]
        kept = [entry for entry in entries if entry.key.text != "error_message"]
        if pattern and not any(entry.key.text == "pattern" for entry in kept):
            kept.append(Entry(made("pattern", pattern.node), pattern.node))
        message = rules.error_message if rules else None
        return {
            "validation": Mapping(step.span, kept) if kept else None,
            "error_message": message.node if message else None,
        }

    def _prompt(self, step: kinds.AgentPrompt, place: Place) -> list[Node]:
        return self._agent(step, None, place)

    def _agent(
        self, prompt: kinds.AgentPrompt, response: kinds.AgentResponse | None, place: Place
    ) -> list[Node]:
        """An `agent_prompt`, with the `agent_response` directly after it."""
        for step in (prompt, response):
            if step and step.execution_context:
                self._no_effect(step, "execution_context", f"{step.label} is always for the agent")
        keys, texts = self._answered(prompt, place, _RESPONSE, "result")
        own = Texts(place, self.reports)
        if prompt.prompt is None:
            return []
        if response is not None:
            more, inner = self._answered(
                response, replace(place, step=self.scope.id_of(response)), _RESPONSE, "result"
            )
            keys = _merged(keys, more)
            texts.reads |= inner.reads
            keys |= {k: v for k, v in self._times(response, own, 0).items() if v}
        keys["instructions"] = own.words(prompt.prompt.node)
        if prompt.context:
            context = [
                Entry(made(name, tree.span), own.tree(tree.node)) for name, tree in prompt.context.items()
            ]
            keys["context"] = Mapping(prompt.span, context)
        keys["result_schema"] = _both(
            prompt.expected_response, response.response_schema if response else None, prompt.span
        )
        if prompt.max_retries is not None and "retry" not in keys:
            keys["retry"] = mapping(prompt.span, max_attempts=int(prompt.max_retries.value) + 1)
        keys |= {k: v for k, v in self._times(prompt, own, OTHER_SECONDS).items() if k not in keys}
        return [self._core(prompt, place, "delegate", keys, own, texts)]

    def _response(self, step: kinds.AgentResponse, place: Place) -> list[Node]:
        """An answer without a prompt before it: the step itself asks."""
        keys, texts = self._answered(step, place, _RESPONSE, "result")
        keys["instructions"] = made("Answer with what the work so far has given.", step.span)
        keys["result_schema"] = _both(step.response_schema, None, step.span)
        keys |= self._times(step, texts, OTHER_SECONDS)
        return [self._core(step, place, "delegate", keys, texts)]

    def _hints(self, step: kinds.ApplyHints, place: Place) -> list[Node]:
        keys, texts = self._answered(step, place, _HINTS, "result")
        own = Texts(place, self.reports)
        if step.file is None or step.hints is None:
            return []
        keys["instructions"] = made(
            "Apply the hints to the file, and count those that you applied.", step.span
        )
        keys["context"] = mapping(step.span, file=own.text(step.file.node), hints=own.tree(step.hints.node))
        count = mapping(step.span, applied_count=mapping(step.span, type="integer"))
        keys["result_schema"] = mapping(
            step.span, type="object", properties=count, required=words(step.span, ["applied_count"])
        )
        keys |= self._times(step, own, OTHER_SECONDS)
        return [self._core(step, place, "delegate", keys, own, texts)]

    def _wait(self, step: kinds.WaitStep, place: Place) -> list[Node]:
        own = Texts(place, self.reports)
        keys: Keys = {"until_answer": True}
        if step.message:
            keys["message"] = own.words(step.message.node)
        if step.timeout_seconds is not None:
            keys["duration_seconds"] = self._seconds(step, "timeout_seconds", step.timeout_seconds, own)
        return [self._core(step, place, "wait", keys, own)]

    # -- steps that work on the state

    def _say(self, step: kinds.UserMessage, place: Place) -> list[Node]:
        own = Texts(place, self.reports)
        if step.message is None:
            return []
        keys: Keys = {"message": own.words(step.message.node)}
        keys["message_type"] = step.message_type.node if step.message_type else None
        keys["format"] = step.format.node if step.format else None
        return [self._core(step, place, "say", keys, own)]

    def _update(self, step: kinds.StateUpdate | kinds.BatchStateUpdate, place: Place) -> list[Node]:
        listed: list[Any] = [step] if isinstance(step, StateUpdate) and step.path else []
        return self._changed(step, place, [*listed, *(step.updates or ())])

    def _changed(self, step: ReactiveStep, place: Place, updates: Iterable[Any]) -> list[Node]:
        texts = Texts(place, self.reports)
        changes = Updates(texts, self.reports).changes(updates)
        keys: Keys = {"changes": Sequence(step.span, changes), **self._errors(step, place, texts)}
        if keys.pop("fallback", None) is not None:
            self._no_effect(step, _fallback_key(step), f"{step.label} has no result")
        return [self._core(step, place, "change", keys, texts)] if changes else []

    # -- control flow

    def _conditional(self, step: kinds.Conditional, place: Place) -> list[Node]:
        own = Texts(place, self.reports)
        if step.condition is None:
            return []
        keys: Keys = {
            "if": own.expression(step.condition.node),
            "then": self.block(step.then or step.then_steps, place),
        }
        other = step.else_ or step.else_steps
        keys["else"] = self.block(other, place) if other else None
        return [self._core(step, place, "condition", keys, own)]

    def _while(self, step: kinds.While, place: Place) -> list[Node]:
        if step.condition is None:
            return []
        loop, counter = self.scope.counted(step, place)
        inside = replace(place, loops=(*place.loops, loop))
        own = Texts(inside, self.reports)
        keys: Keys = {
            "if": own.expression(step.condition.node),
            "max_iterations": step.max_iterations.node if step.max_iterations else made(100, step.span),
            # In this language the run continues after the last iteration; in the core it would fail.
            "at_limit": "leave",
            "steps": self.block(step.body or step.steps, inside),
        }
        node = self._core(step, place, "while", keys, own)
        self.scope.loops[counter] = node
        self.scope.passed = loop
        return [node]

    def _foreach(self, step: kinds.Foreach, place: Place) -> list[Node]:
        own = Texts(place, self.reports)
        if step.items is None:
            return []
        item = step.variable_name.text if step.variable_name else "item"
        index = step.index_name.text if step.index_name else "index"
        # `item` and `index` stay valid beside the author's own names.
        names = {"item": Meaning(item), "index": Meaning(index), item: Meaning(item), index: Meaning(index)}
        inside = replace(place, loops=(*place.loops, Loop(names, Meaning(f"({index} + 1)"))))
        keys: Keys = {
            "items": self._items(step.items, own),
            "as": item,
            "index_as": index,
            "steps": self.block(step.body or step.steps, inside),
        }
        keys |= self.scope.loop_fields_of_items()
        return [self._core(step, place, "each", keys, own)]

    @staticmethod
    def _items(items: Tree, texts: Texts) -> Node:
        node = items.node
        return texts.expression(node) if isinstance(node, Scalar) else texts.tree(node)

    def _parallel(self, step: kinds.ParallelForeach, place: Place) -> list[Node]:
        # Accepted and reported rather than refused: the result is right, it only comes later.
        if step.wait_for_all and step.wait_for_all.value is False:
            why = "the run waits for all sub-agents: one that ended before them would lose what they do"
            self._no_effect(step, "wait_for_all", why)
        if step.items is None or step.sub_agent_task is None:
            return []
        keys, texts = self._answered(step, place, _WHOLE, "result")
        own = Texts(place, self.reports)
        given = Texts(replace(place, local=place.local | {"item", "index", "total", "task_id"}), self.reports)
        keys |= {"items": self._items(step.items, own), "task": step.sub_agent_task.node, "agent": "@task"}
        keys |= {"max_parallel": step.setting("max_parallel"), "numbered": True}
        keys["with"] = self.scope.tasks.given(step, given)
        shared = self.scope.tasks.shared(step.sub_agent_task.text)
        keys["shares"] = words(step.span, shared) if shared else None
        if step.sub_agent_prompt_override:
            keys["prompt"] = own.words(step.sub_agent_prompt_override.node)
        keys |= self._child_errors(step, own)
        limit = step.timeout_seconds or self.scope.tasks.limit(step.sub_agent_task.text)
        if limit is not None:
            keys["child_deadline"] = self._seconds(step, "timeout_seconds", limit, own)
        return [self._core(step, place, "foreach", keys, own, given, texts)]

    def _child_errors(self, step: kinds.ParallelForeach, texts: Texts) -> Keys:
        errors = step.on_sub_agent_error
        if errors is None:
            return {}
        strategy = errors.setting("strategy")
        path = None
        if errors.error_state_path and (errors.collect_errors is None or errors.collect_errors.value):
            target = Updates(texts, self.reports).target(errors.error_state_path)
            path = Sequence(errors.span, target[0]) if target else None
        retries = errors.setting("max_retries") if strategy == "retry_failed" else None
        keys: Keys = {}
        # The core has no default here, so that a module does not repeat one.
        if retries or path:
            keys["on_child_error"] = mapping(errors.span, retries=retries, collect=path)
        if strategy == "continue":
            keys["on_error"] = made("continue", errors.span)
        if strategy == "fail_all":
            keys["join"] = made("fail_fast", errors.span)
        return keys

    def _include(self, step: kinds.IncludeWorkflow, place: Place) -> list[Node]:
        if step.workflow is None:
            return []
        name = self.scope.include(step)
        keys, texts = self._answered(step, place, _WHOLE, "result", has_keys=True)
        own = Texts(place, self.reports)
        keys["workflow"] = step.workflow.node
        keys["output_to"] = made(name, step.id.node if step.id else step.span)
        if step.inputs:
            given = [Entry(made(name, tree.span), own.tree(tree.node)) for name, tree in step.inputs.items()]
            keys["with"] = Mapping(step.span, given)
        keys |= self._times(step, own, OTHER_SECONDS)
        # A default timeout is meant for an agent's answer; a called workflow may take as long as its own
        # steps.
        if "deadline" not in keys:
            keys.pop("timeout")
        node = self._core(step, place, "call", keys, own, texts)
        self.scope.included[name] = step.workflow.text
        after = self.block(step.on_complete, place) if step.on_complete else None
        return [node, *(after.items if after else ())]

    def _jump(self, step: ReactiveStep, place: Place) -> list[Node]:
        return [self._core(step, place, step.kind, {})]

    def _exit(self, step: kinds.Exit, place: Place) -> list[Node]:
        end = self._core(step, place, "return", {"state": True})
        if step.message is None:
            return [end]
        own = Texts(place, self.reports)
        told = mapping(
            step.span,
            id=self.scope.free(f"{place.step}_message"),
            type="say",
            message=own.words(step.message.node),
        )
        if own.reads:
            told.entries.append(Entry(made("needs_state", step.span), words(step.span, own.reads)))
        return [told, end]

    _MAKERS: ClassVar[dict[type[ReactiveStep], Callable[..., list[Node]]]] = {
        kinds.UserInput: _input,
        kinds.UserMessage: _say,
        kinds.McpCall: _tool,
        kinds.ShellCommand: _shell,
        kinds.AgentShellCommand: _shell,
        kinds.AgentPrompt: _prompt,
        kinds.AgentResponse: _response,
        kinds.StateUpdate: _update,
        kinds.BatchStateUpdate: _update,
        kinds.Conditional: _conditional,
        kinds.While: _while,
        kinds.WhileLoop: _while,
        kinds.Foreach: _foreach,
        kinds.ParallelForeach: _parallel,
        kinds.WaitStep: _wait,
        kinds.IncludeWorkflow: _include,
        kinds.Break: _jump,
        kinds.Continue: _jump,
        kinds.Exit: _exit,
        kinds.ApplyHints: _hints,
    }


def _merged(keys: Keys, more: Keys) -> Keys:
    """The keys of a prompt and of its response: updates of both, and the handling of the response first."""
    changes = [
        change
        for one in (keys, more)
        if isinstance(one.get("changes"), Sequence)
        for change in one["changes"].items
    ]
    at = next((one["changes"].span for one in (keys, more) if one.get("changes")), None)
    merged = {**keys, **{name: value for name, value in more.items() if value is not None}}
    return {**merged, "changes": Sequence(at, changes) if at else None}


def _both(expected: Tree | None, response: Tree | None, at: Span) -> Node:
    """The schema of an answer that must fit two schemas; any answer fits none."""
    found = [tree.node for tree in (expected, response) if tree is not None]
    first, second = (*found, None, None)[:2]
    if first is None or second is None:
        return first or Mapping(at)
    # `allOf` would be right as well, but the analyses do not look inside it.
    if _is_plain_object(first) and _is_plain_object(second):
        return _merged_objects(first, second)
    return mapping(at, allOf=Sequence(at, list(found)))


def _is_plain_object(node: Node) -> TypeGuard[Mapping]:
    """Whether a schema only lists properties of an object."""
    if not isinstance(node, Mapping):
        return False
    kind = node.get("type")
    keys = {entry.key.text for entry in node.entries}
    return isinstance(kind, Scalar) and kind.text == "object" and keys <= {"type", "properties", "required"}


def _merged_objects(first: Mapping, second: Mapping) -> Node:
    """One schema for both: analyses know the properties of a single one."""
    at = first.span
    properties = {
        entry.key.text: entry for one in (second, first) for entry in _entries(one.get("properties"))
    }
    required = {item.text: item for one in (first, second) for item in _items(one.get("required"))}
    return mapping(
        at,
        type="object",
        properties=Mapping(at, list(properties.values())) if properties else None,
        required=Sequence(at, list(required.values())) if required else None,
    )


def _entries(node: Node | None) -> list[Entry]:
    return node.entries if isinstance(node, Mapping) else []


def _items(node: Node | None) -> list[Scalar]:
    return [item for item in node.items if isinstance(item, Scalar)] if isinstance(node, Sequence) else []


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours"


def _short(seconds: float) -> str:
    return f"{seconds:g}"


def _mentions(node: Node | None, word: str) -> bool:
    match node:
        case Scalar():
            return word in node.text
        case Sequence():
            return any(_mentions(item, word) for item in node.items)
        case Mapping():
            return any(_mentions(entry.value, word) for entry in node.entries)
    return False


# Error handling of steps: retries, fallbacks, what is written when a step fails.

_RETRIES = 3
"""The number of retries if `retry` gives none."""


def _handling(step: ReactiveStep, otherwise: str = "") -> dict[str, Node | str | None]:
    """The fields of the core's step for `on_error` and `error_handling`; `otherwise` is the workflow's own handling."""
    inner: Handling | None = step.values.get("error_handling")
    outer = step.values.get("on_error")
    strategy = inner.setting("strategy") if inner else outer.text if outer else otherwise
    at = step.key_span("error_handling" if inner else "on_error")
    found: dict[str, Node | str | None] = {}
    retries = _number(step, inner, "retry_count", "max_retries")
    if strategy == "retry" or (retries and strategy != "continue"):
        found["retry"] = _retry(step, inner, retries if retries is not None else _RETRIES, at)
    if strategy == "continue":
        found["on_error"] = made("continue", at)
    fallback = step.values.get("fallback_value") or (inner.fallback_value if inner else None)
    if fallback is not None:
        found["fallback"] = fallback.node
    elif strategy == "fallback":
        found["fallback"] = made(None, at)
    return found


def _fallback_key(step: ReactiveStep) -> str:
    return "fallback_value" if "fallback_value" in step.values else "error_handling"


def _appended(path: Word) -> Update:
    """The update that appends the error of a step to a list."""
    from wfc.dialects.reactive.reading import read_shape

    at = path.node.span
    given = {"path": path.node, "operation": made("append", at), "value": made("{{ error }}", at)}
    return read_shape(Update, mapping(at, **given))


def _retry(step: ReactiveStep, inner: Handling | None, retries: int, at: Span) -> Node:
    delay = _number(step, inner, "retry_delay") or 0
    return mapping(at, max_attempts=retries + 1, delay_seconds=_whole(delay / 1000) if delay else None)


def _whole(number: float) -> float | int:
    return int(number) if number == int(number) else number


def _number(step: ReactiveStep, inner: Handling | None, *names: str) -> int | None:
    """A number of the mapping `error_handling`, or of the step itself."""
    given = [inner.values.get(name) for name in names] if inner else []
    found = next((value for value in (*given, step.values.get(names[0])) if value is not None), None)
    return int(found.value) if found is not None else None
