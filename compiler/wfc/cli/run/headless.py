"""`wfc run --agent`: an agent's command line does the actions, and people are asked only at prompts."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from wfc.author.answers import Answers, NoAnswerError, questions_of
from wfc.author.driver import Asked
from wfc.cli.plan_agents import agents_of
from wfc.cli.run.console import Console, LeftError, Person
from wfc.cli.run.inputs import parse_value
from wfc.cli.run.live import Live
from wfc.cli.run.operator import Trail
from wfc.cli.run.serving import file_grant, terminal_grant
from wfc.cli.shared.options import RunOptions
from wfc.suggest import did_you_mean
from wfc.testfiles.questions import Questions, misfit
from wfc.testfiles.scripts import Answer, Script, fill
from wfc_runtime.agents.base import Outcome
from wfc_runtime.contract import ENDED, HUMAN_KINDS
from wfc_runtime.errors import RefusedError
from wfc_runtime.interrupt import INTERRUPTED
from wfc_runtime.machine.budget import GATE_VISIT, KINDS
from wfc_runtime.machine.values import Limits
from wfc_runtime.service import actions_of
from wfc_runtime.service.sqlite.agent_work import AgentService
from wfc_runtime.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wfc.cli.run.sources import SourceRegistry
    from wfc_runtime.machine.chart import Workflow
    from wfc_runtime.service import Reply
    from wfc_runtime.service.sqlite import SqliteService

COMPLETED, FAILED, PERSON_NEEDED, BUDGET_USED_UP, NO_AGENT = 0, 1, 4, 5, 6
"""Exit codes."""
_GATE_KEY = "wfc:budget"
"""How an answers file and `--answer` name the question whether a used-up budget is extended."""
_LOOK_EVERY = 0.2
_YES, _NO = ("yes", "y", "true"), ("no", "n", "false")


# The service.


def agent_service(path: Path, registry: SourceRegistry, options: RunOptions) -> AgentService:
    """Commands and files are granted by the command line alone: a pull request can change the project's settings."""
    config = registry.config
    agents = agents_of(options.agent or "", config)
    grant = file_grant(
        terminal_grant(config, path), options, config.root, options.exec_root, options.exec_env
    )
    grant = replace(grant, parallel=options.parallel or agents.wishes.parallel)
    return AgentService(Store(path), registry, grant, agents, Path.cwd(), Limits.of(config.run_limits))


# Answers of the command line.


def given_answers(pairs: tuple[str, ...], file: Answers | None, workflows: Iterable[Workflow]) -> Answers:
    """The answers of a file, and those of `--answer`, which take precedence. Mistakes end the command."""
    scripts = dict(file.scripts) if file is not None else {}
    questions = questions_of(workflows)
    # `--answer` has precedence over the file.
    for pair in _whole(pairs, questions):
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--answer takes step=value, not `{pair}`")
        asks = [questions.asks[place] for place in questions.matching(key, questions.asks)]
        # A step of the workflow may be called `budget`.
        if key == _GATE_KEY or (key == "budget" and not asks):
            if text.strip().lower() not in (*_YES, *_NO):
                raise click.UsageError(f"--answer {key} takes yes or no")
            # Once: an answer for every time would be no budget.
            scripts[_GATE_KEY] = Script((Answer(text.strip().lower() in _YES),))
            continue
        if not asks:
            known = {step for _, step in questions.asks}
            raise click.UsageError(
                f"--answer: there is no step `{key}` that asks; {did_you_mean(key, known)}"
            )
        schema = asks[0].schema
        value = _value(text, schema, asks[0].parameters.get("prompt_type"))
        # Before the run starts: a wrong answer would only be noticed when it is needed.
        if wrong := misfit(fill(asks[0].kind, schema, value), schema):
            raise click.UsageError(f"--answer {key}: {wrong}")
        scripts[key] = Script((Answer(value),), repeats=True)
    return Answers(scripts, *([file.taken] if file is not None else []))


def _whole(pairs: tuple[str, ...], questions: Questions) -> list[str]:
    """The pairs, with `step.question=value` for the questions of one step combined into one object."""
    found: list[str] = []
    parts: dict[str, dict[str, str]] = {}
    for pair in pairs:
        key, _, text = pair.partition("=")
        step, _, question = key.rpartition(".")
        asked = [questions.asks[place].parameters for place in questions.matching(step, questions.asks)]
        # Only if the step has such a question; a dot may also be part of a step's name.
        if any(one["id"] == question for given in asked for one in given.get("questions") or ()):
            parts.setdefault(step, {})[question] = text
        else:
            found.append(pair)
    return found + [f"{step}={json.dumps(given)}" for step, given in parts.items()]


def _value(text: str, schema: Any, prompt: Any) -> Any:
    """A value as a person means it: yes and no for a confirmation, plain text where text is wanted."""
    if prompt == "confirm" and text.strip().lower() in (*_YES, *_NO):
        return text.strip().lower() in _YES
    if prompt == "questions" and isinstance(answers := parse_value(text), dict):
        # Also if there is only one question, whose answer could be given as it is.
        return answers
    required = schema.get("required") if isinstance(schema, dict) else None
    first = required[0] if isinstance(required, list) and len(required) == 1 else ""
    is_text = bool(first) and schema.get("properties", {}).get(first, {}).get("type") == "string"
    return text if is_text else parse_value(text)


# The driver.


class Headless:
    """Works a run until it ends, or until nothing can be done without a person or another agent."""

    def __init__(
        self,
        service: AgentService,
        run: str,
        answers: Answers,
        live: Live,
        *,
        is_interactive: bool,
        skips_waits: bool = False,
    ) -> None:
        self._service = service
        self._run = run
        self._answers = answers
        self._live = live
        self._person = Person(live.console)
        self._is_interactive = is_interactive
        self._skips_waits = skips_waits
        self._trail = Trail(service)
        self._told: set[tuple[str, str]] = set()
        self.waiting: list[tuple[Asked, str]] = []
        """The actions that nobody here can do, each with the reason."""

    def work(self) -> Reply | None:
        """The final reply; None if the run waits. Raises `LeftError` or `KeyboardInterrupt` if the person leaves."""
        row = self._service.store.queries.require(self._run)
        was_idle = False
        while True:
            # The claim of the action that failed is held until this process ends: waiting would never end.
            if self._service.workers.failure is not None:
                raise self._service.workers.failure
            self._service.tick(self._run)
            reply = self._service.status(self._run)
            self._live.moved(self._trail.news(self._run))
            if reply["status"] in ENDED:
                return self._service.next_step(self._run)
            pending = list(self._pending(reply))
            if self._answer(pending):
                continue
            self._live.refresh()
            view = self._service.look(row.root)
            busy = [
                one for one in view.runnables if one.owner is not None or self._service.calls.outage is None
            ]
            waits = [one for one in pending if "resume_at" in one.parameters]
            is_idle = not busy and (
                self._service.calls.outage is not None or bool(self.waiting and not waits)
            )
            # Once more: an action that has just ended may have led to one that has an answer.
            # Two idle looks in a row: between two actions there is a moment without any.
            if is_idle and was_idle:
                return None
            was_idle = is_idle
            if waits and not busy and self._skips_waits:
                # Simulated time moves to the end of the shortest wait.
                self._service.ahead += min(float(one.parameters["seconds_left"]) for one in waits)
            else:
                time.sleep(_LOOK_EVERY)

    @property
    def outage(self) -> Outcome | None:
        return self._service.calls.outage

    def _pending(self, reply: Reply) -> Iterator[Asked]:
        """The actions of a run and its children that are not in progress."""
        scope = reply.get("task") or reply["workflow"]
        for action in actions_of(reply):
            asked = Asked(reply["workflow_id"], scope, action)
            if "children" not in asked.parameters:
                yield asked
                continue
            for child in asked.parameters["children"]:
                inner = self._service.status(child["workflow_id"])
                if inner["status"] not in ENDED:
                    yield from self._pending(inner)

    def _answer(self, pending: list[Asked]) -> bool:
        """Answer what has an answer. Everything else that no agent does is left in `waiting`."""
        self.waiting = []
        for asked in pending:
            if "resume_at" in asked.parameters:
                continue
            if self._answers.knows(asked.scope, _answer_key(asked)):
                if self._scripted(asked):
                    return True
            elif "interrupted_since" in asked.action:
                since = asked.action["interrupted_since"]
                reason = f"it was interrupted; it began at {since} and may have taken effect"
                self._wait_for(asked, f'{reason}. {{"run_again": true}} as its answer starts it again')
            elif asked.kind not in HUMAN_KINDS:
                if self._service.calls.outage is None:
                    self._wait_for(asked, self._service.calls.refusal(asked.action) or "no agent does it")
            elif self._is_interactive:
                self._ask(asked)
                return True
            else:
                self._wait_for(asked, "a person must answer it")
        return False

    def _wait_for(self, asked: Asked, reason: str) -> None:
        self.waiting.append((asked, reason))
        if (asked.run, asked.step_id) not in self._told:
            self._told.add((asked.run, asked.step_id))
            self._live.gate(asked, reason)

    def _scripted(self, asked: Asked) -> bool:
        try:
            found = self._answers.take(asked.scope, _answer_key(asked), asked.kind, asked.schema)
        except NoAnswerError as error:
            is_again = "it is used up again, and each `--answer budget=yes` extends it once"
            self._wait_for(asked, is_again if _is_budget(asked) else str(error))
            return False
        wrong = misfit(found.value, asked.schema)
        if wrong:
            self._wait_for(asked, f"the answer that was given does not fit: {wrong}")
            return False
        return self._submit(asked, found.value, "wfc run --answer")

    def _ask(self, asked: Asked) -> None:
        with self._live.paused():
            self._live.question(asked)
            value = self._person.answer(asked)
        self._submit(asked, value, "person, wfc run")

    def _submit(self, asked: Asked, value: Any, actor: str) -> bool:
        try:
            self._service.submit(asked.run, asked.step_id, value, actor=actor)
        except RefusedError as refused:
            if refused.code not in ("not_pending", "answered", "finished", "claimed"):
                self._wait_for(asked, refused.message)
                return False
        else:
            self._live.answered(asked, value, actor)
        return True


def _answer_key(asked: Asked) -> str:
    return _GATE_KEY if _is_budget(asked) else asked.step_id


def _is_budget(asked: Asked) -> bool:
    return asked.step_id.startswith(GATE_VISIT)


def parse_budget(text: str) -> dict[str, float]:
    """`usd=5,steps=40` as limits."""
    found: dict[str, float] = {}
    for part in text.split(","):
        kind, _, value = (one.strip() for one in part.partition("="))
        if kind not in KINDS or kind in found:
            raise click.UsageError(f"--budget takes each of {', '.join(KINDS)} once at most, not `{part}`")
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0 < number < 1e12:
            raise click.UsageError(f"--budget {kind} must be a number above 0, not `{value}`")
        if kind in ("steps", "tokens") and number != int(number):
            raise click.UsageError(f"--budget {kind} must be a whole number, not `{value}`")
        found[kind] = number
    return found


@contextmanager
def _terminated_like_interrupted() -> Iterator[list[int]]:
    """SIGTERM, as from `timeout` and CI, leaves the run as Ctrl-C does: the agents end in order, and their cost counts.
    Yields a list that gets the exit code. A second SIGTERM ends the process at once."""
    found: list[int] = []
    usual = signal.getsignal(signal.SIGTERM)

    def leave(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, usual)
        found.append(128 + number)
        raise KeyboardInterrupt

    # A process that ignores the signal, or handles it already, keeps doing so.
    is_ours = usual is signal.SIG_DFL
    if is_ours:
        signal.signal(signal.SIGTERM, leave)
    try:
        yield found
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, usual)


def work_headless(
    service: SqliteService, run: str, options: RunOptions, answers: Answers, console: Console, resuming: str
) -> int:
    """Work a run with an agent. `resuming` is the command that continues it."""
    assert isinstance(service, AgentService), "--agent opens one"
    service.leave = answers.knows
    if options.budget is not None:
        service.set_budget(run, parse_budget(options.budget), actor="wfc run --budget")
    with Live(service, run, console, options.events) as live:
        service.calls.observer = live
        service.workers.watch = live.commands
        driver = Headless(
            service,
            run,
            answers,
            live,
            is_interactive=sys.stdin.isatty() and options.answers != "-",
            skips_waits=options.skip_waits,
        )
        try:
            with _terminated_like_interrupted() as ended:
                reply = driver.work()
        except (KeyboardInterrupt, LeftError):
            live.left(f"the run waits; continue with `{resuming}`")
            return ended[0] if ended else INTERRUPTED
        except Exception:
            live.left(f"wfc failed and the run waits; continue with `{resuming}`")
            raise
        if reply is not None:
            live.ended(reply, options.as_json)
            return COMPLETED if reply["status"] == "completed" else FAILED
        if driver.outage is not None:
            live.no_agent(driver.outage, resuming)
            return NO_AGENT
        live.person_needed(driver.waiting, resuming)
        return BUDGET_USED_UP if any(_is_budget(asked) for asked, _ in driver.waiting) else PERSON_NEEDED
