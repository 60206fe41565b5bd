"""The plain interpreter of tests/model as an implementation that cases are tried on.

Each language becomes steps first, as everywhere. What the interpreter has no notion of is an `UnknownError`; nothing
else is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import jsonschema
from conformance.suite import Finding
from conformance.trying import RefusedError, Reply
from jinja2.sandbox import SandboxedEnvironment

from tests.model.flow import Step, Tree, Wait
from tests.model.interpreter import Family, Run
from tests.model.likeness import HIDDEN
from tests.model.reading import all_steps, as_graph, steps_in, with_defaults
from wfc.config import Config
from wfc.language.values import plain
from wfc.project import Project, load_file
from wfc_runtime.reports import UnreadableReportError, read_report

TOP = {
    "name",
    "version",
    "description",
    "author",
    "tags",
    "facts",
    "inputs",
    "initial_state",
    "steps",
    "tasks",
}
TOP |= {"expressions", "derived", "start_values", "internal", "deadline"}
TOP |= {"on_failure", "completes_on_failure", "collect_errors", "restarts"}
COMMON = {"id", "type", "description", "needs_state", "when", "on_error", "retry", "output_to"}
ASKED = COMMON | {"timeout", "deadline", "changes", "error_changes", "runner", "secret", "fallback"}
KNOWN: dict[str, set[str]] = {
    "set_state": COMMON | {"updates"},
    "condition": COMMON | {"if", "then", "else"},
    "while": COMMON | {"if", "max_iterations", "steps", "at_limit", "count_to"},
    "each": COMMON | {"items", "steps", "as", "index_as", "max_items"},
    "change": COMMON | {"changes", "error_changes"},
    "say": COMMON | {"message"},
    "fail": COMMON | {"message", "code"},
    "break": COMMON,
    "continue": COMMON,
    "goto": COMMON | {"target", "max_iterations", "else"},
    "return": COMMON | {"value", "state"},
    "parallel": COMMON | {"branches", "join", "after"},
    "foreach": COMMON
    | {"items", "task", "with", "agent", "sequential", "max_items", "deadline"}
    | {"max_parallel", "numbered", "join", "shares", "on_child_error"},
    "call": COMMON
    | {"workflow", "choose", "among", "with", "timeout", "only_declared", "facts", "max_depth", "deadline"},
    "shell": ASKED | {"command", "fails_on_exit", "env", "working_dir", "reason", "output_format", "outputs"},
    "mcp_call": ASKED | {"tool", "parameters", "result_schema"},
    "prompt": ASKED
    | {"prompt_type", "message", "options", "validation", "error_message", "input_type", "default"}
    | {"questions"},
    "delegate": ASKED
    | {"instructions", "agent", "result_schema", "context", "subagent_type", "result", "evidence"},
    "check_files": ASKED | {"paths", "folder", "otherwise"},
    "create_file": ASKED | {"path", "content"},
    "read_file": ASKED | {"path"},
    "render_template": ASKED | {"template", "variables", "strict"},
    "read_json_state": ASKED | {"path"},
    "write_json_state": ASKED | {"path", "data"},
    "merge_json_state": ASKED | {"path", "updates"},
    "create_worktree": ASKED | {"branch", "path", "base_branch"},
    "edit_file": ASKED | {"path", "operations"},
    "http_call": ASKED | {"url", "method", "headers", "json"},
    "sql": ASKED | {"path", "sql", "params"},
    "wait": COMMON | {"duration_seconds", "message", "until_answer"},
}
"""The step types and fields that the interpreter knows."""
PROMPTS = ("info", "confirm", "text", "choice", "questions")
PARTS: dict[str, dict[str, type]] = {
    "shell": {"stdout": str, "exit_code": int},
    "info": {"acknowledged": bool},
    "confirm": {"confirmed": bool},
    "text": {"input": str},
    "choice": {"selected": str},
    "delegate": {"response": str},
}
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


class UnknownError(Exception):
    """The interpreter does not know this."""


class _Unsaid(str):
    """A text that nobody has worded: it may be any."""

    def __contains__(self, text: object) -> bool:
        return True

    def __str__(self) -> str:
        return self


class Plain:
    """One case at a time: `start` forgets the one before."""

    def __init__(self, others: dict[str, Tree], project: Path) -> None:
        self._project = project
        self._others = others
        """Workflows that can be called."""

    def check(self, text: str) -> list[Finding]:
        raise UnknownError("verdicts")

    def start(self, text: str, inputs: dict[str, Any] | None) -> Reply:
        tree = tree_of(text, self._project)
        given = {
            name: _converted(tree["inputs"].get(name, {}), value) for name, value in (inputs or {}).items()
        }
        for name, value in given.items():
            if name not in tree["inputs"] or not is_allowed(tree["inputs"][name], value):
                raise RefusedError(_Unsaid(name))
        missing = [name for name, one in tree["inputs"].items() if one.get("required") and name not in given]
        if [name for name in missing if "default" not in tree["inputs"][name]]:
            raise RefusedError(_Unsaid(missing[0]))
        called = [step["workflow"] for step in all_steps(steps_in(tree)) if "workflow" in step]
        if unknown := [name for name in called if name not in self._others]:
            raise UnknownError(f"the workflow {unknown[0]}")
        self._accepted: dict[tuple[str, str], Any] = {}
        self._family = Family({**self._others, tree["name"]: tree}, 1_000_000.0, _told)
        root = Run(self._family, tree, tree, with_defaults(tree["inputs"], given))
        root.start()
        self._family.settle()
        self._serve()
        return self._reply(root)

    def submit(self, run: str, step: str, result: Any) -> Reply:
        found = self._run(run)
        if self._accepted.get((run, step), found) == result:
            return {**self._reply(found), "repeated": True}
        if found.status != "running" or step not in found.pending:
            raise RefusedError(_Unsaid(step))
        found.said.clear()
        wait = found.pending[step]
        told = _understood(_step_of(found, wait), result)
        if not found.submit(step, told, self._fits(found, wait, told)):
            raise RefusedError(_Unsaid(step))
        self._serve()
        self._accepted[run, step] = result
        return self._reply(found)

    def status(self, run: str) -> Reply:
        """Some time passes between two looks."""
        self._family.now += 0.1
        for one in list(self._family.runs):
            if one.status == "running":
                one.clock()
        self._serve()
        return self._reply(self._run(run))

    def state(self, run: str, fields: list[str]) -> Reply:
        found = self._run(run)
        return {name: _shown(found, found.state[name]) for name in fields if name in found.state}

    def retry(self, run: str) -> Reply:
        found = self._run(run)
        if found.status != "failed":
            raise RefusedError(_Unsaid(run))
        if not found.can_be_retried():
            raise UnknownError("this retry")
        found.retry()
        self._serve()
        return self._reply(found)

    def cancel(self, run: str) -> Reply:
        found = self._run(run)
        found.cancel()
        self._family.settle()
        return self._reply(found)

    def _serve(self) -> None:
        """A server renders templates by itself, before anybody sees the run."""
        while waiting := [
            (run, wait)
            for run in self._family.runs
            if run.status == "running"
            for wait in run.pending.values()
            if wait.type == "render_template"
        ]:
            run, wait = waiting[0]
            run.submit(wait.visit, _rendered(wait.parameters), True)

    def _run(self, name: str) -> Run:
        return self._family.runs[int(name)]

    def _reply(self, run: Run) -> Reply:
        reply: Reply = {"workflow_id": str(self._family.runs.index(run)), "status": run.status}
        if run.said:
            reply["messages"] = [{"message": one} for one in run.said]
        match run.status:
            case "running":
                reply["status"] = "pending_action"
                reply["actions"] = [self._action(run, wait) for wait in run.pending.values()]
            case "completed":
                reply["result"] = _shown(run, run.result)
            case "failed":
                assert run.error is not None
                reply["error"] = {"code": run.error[0], "step_id": run.error[1], "message": _Unsaid()}
        return reply

    def _action(self, run: Run, wait: Wait) -> Reply:
        shown = {name: value for name, value in wait.parameters.items() if value is not None}
        if run.brief:
            shown["instructions"] = _Unsaid()
        if wait.items is not None:
            shown["agent"] = _step_of(run, wait).get("agent")
            shown["sequential"] = wait.sequential
            shown["children"] = [
                {
                    "workflow_id": str(self._family.runs.index(child)),
                    "index": index,
                    "item": wait.items[index],
                    "prompt": _Unsaid(),
                }
                for index, child in enumerate(wait.children)
                if child is not None and index not in wait.results
            ]
        if wait.type == "wait" and wait.due is not None:
            shown["resume_at"] = "2026-01-01T00:00:00Z"
        return {"step_id": wait.visit, "type": wait.type, "parameters": shown}

    def _fits(self, run: Run, wait: Wait, result: Any) -> bool:
        if run.brief:
            return True
        step = _step_of(run, wait)
        if step.get("result") == "report":
            return isinstance(result, dict) and all(
                result.get("evidence", {}).get(one) for one in step.get("evidence", ())
            )
        if "result_schema" in step:
            schema: Any = step["result_schema"]
            return bool(jsonschema.Draft202012Validator(schema).is_valid(result))
        if "questions" in step:
            return isinstance(result, dict) and all(_is_answered(one, result) for one in step["questions"])
        parts = PARTS.get(step.get("prompt_type", step["type"]))
        if parts is None:
            return True
        if not isinstance(result, dict):
            return False
        if (kind := step.get("input_type", "string")) != "string":
            rules = {"type": kind, "validation": step.get("validation", {})}
            return not isinstance(result.get("input"), str) and is_allowed(rules, result.get("input"))
        if any(not _is(kind, result.get(part)) for part, kind in parts.items()):
            return False
        if "options" in step:
            return result["selected"] in step["options"]
        return "validation" not in step or is_allowed(
            {"type": "string", "validation": step["validation"]}, result["input"]
        )


def tree_of(text: str, project: Path) -> Tree:
    """A workflow as steps. Its agents are those of the project."""
    agents = {
        str(path.relative_to(project)): path.read_text(encoding="utf-8")
        for path in sorted(project.glob(".claude/agents/*.md"))
    }
    config = Config(project)
    file = load_file("w.yaml", text.encode(), config, Project(config, companions=lambda: agents))
    assert file.workflow is not None
    assert file.document.root is not None
    tree: Tree = plain(file.workflow.node)
    if blocks := plain(file.document.root).get("blocks"):
        tree["steps"] = as_graph(tree["steps"], blocks)
    for step in all_steps(steps_in(tree)):
        # Of a key that stands twice, the last value is here.
        if step["type"] in PROMPTS:
            step |= {"type": "prompt", "prompt_type": step["type"]}
    if unknown := [
        *_unknown(tree, TOP),
        *(one for task in tree.get("tasks", {}).values() for one in _unknown(task, TOP)),
    ]:
        raise UnknownError(", ".join(unknown))
    for scope in (tree, *tree.get("tasks", {}).values()):
        scope.setdefault("inputs", {})
        scope.setdefault("initial_state", {})
    return tree


def _unknown(scope: Tree, known: set[str]) -> Iterator[str]:
    yield from sorted(set(scope) - known)
    for step in all_steps(steps_in(scope)):
        if step["type"] not in KNOWN:
            yield step["type"]
        else:
            yield from (f"{step['type']}.{name}" for name in sorted(set(step) - KNOWN[step["type"]]))


def is_allowed(declared: Step, value: Any) -> bool:
    """Whether a value is of its declared type, and satisfies its validation."""
    rules = {**declared, **declared.get("validation", {})}
    kind = TYPES.get(declared["type"])
    if kind is not None and not any(_is(one, value) for one in kind):
        return False
    items = TYPES.get(rules.get("item_type", ""), ())
    properties = rules.get("properties", {})
    return not (
        ("pattern" in rules and not re.search(rules["pattern"], value))
        or ("enum" in rules and value not in rules["enum"])
        or ("min" in rules and value < rules["min"])
        or ("max" in rules and value > rules["max"])
        or ("min_length" in rules and len(value) < rules["min_length"])
        or ("max_length" in rules and len(value) > rules["max_length"])
        or ("min_items" in rules and len(value) < rules["min_items"])
        or ("max_items" in rules and len(value) > rules["max_items"])
        or (items and any(not any(_is(one, item) for one in items) for item in value))
        or any(key not in value for key in rules.get("required_keys", ()))
        or any(key in value and not is_allowed(one, value[key]) for key, one in properties.items())
    )


def _converted(declared: Step, value: Any) -> Any:
    match declared.get("convert", False), declared.get("type"), value:
        case True, "string", int():
            return str(value)
        case True, "integer" | "number" | "boolean", str():
            try:
                return json.loads(value)
            except ValueError:
                return value
    return value


def _is(kind: type, value: Any) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _step_of(run: Run, wait: Wait) -> Step:
    name = wait.visit.partition("@")[0]
    return next((step for step in all_steps(steps_in(run.scope)) if step["id"] == name), {"type": "delegate"})


def _is_answered(question: Step, answers: dict[str, Any]) -> bool:
    if question["id"] not in answers:
        return not question.get("required", True)
    return answers[question["id"]] in question.get("choices", [answers[question["id"]]])


def _rendered(parameters: dict[str, Any]) -> Any:
    """A template and its own variables, by Jinja itself."""
    undefined = jinja2.StrictUndefined if parameters.get("strict", True) else jinja2.Undefined
    template = SandboxedEnvironment(undefined=undefined, keep_trailing_newline=True)
    try:
        return {
            "content": template.from_string(parameters["template"]).render(parameters.get("variables", {}))
        }
    except jinja2.TemplateError as error:
        return {"error": str(error)}


def _shown(run: Run, value: Any) -> Any:
    """A value without the secrets in it."""
    if isinstance(value, str):
        for secret in sorted(run.secrets, key=len, reverse=True):
            value = value.replace(secret, HIDDEN) if secret else value
    elif isinstance(value, dict):
        value = {name: _shown(run, one) for name, one in value.items()}
    elif isinstance(value, list):
        value = [_shown(run, one) for one in value]
    return value


def _understood(step: Step, result: Any) -> Any:
    """Agents send objects as JSON text, and reports as their own text; people send text."""
    if step.get("result") == "report":
        try:
            return read_report(result)
        except UnreadableReportError:
            return None
    if step["type"] in PARTS and isinstance(result, str):
        try:
            return json.loads(result)
        except ValueError:
            return result
    if "questions" in step and isinstance(result, dict):
        return {**{one["id"]: one["default"] for one in step["questions"] if "default" in one}, **result}
    if step["type"] == "prompt" and isinstance(result, dict):
        return {name: _said(step, value) for name, value in result.items()}
    return result


def _said(step: Step, value: Any) -> Any:
    if value == "" and "default" in step:
        return step["default"]
    match step.get("input_type"), value:
        case "number", str() if re.fullmatch(r"-?[0-9]+", value):
            return int(value)
        case "boolean", "yes" | "no":
            return value == "yes"
    return value


def _told(run: Run) -> Any:
    if run.status == "completed":
        return run.result
    code, step = run.error or ("cancelled", "")
    return {"code": code, "message": _Unsaid(), "step_id": step}
