"""Works a run in the terminal: takes results from a file, executes commands, and asks the user for the rest."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import click

from wfc.author.answers import Answers, NoAnswerError
from wfc.author.driver import Asked, Worker
from wfc.cli.run.console import Console, Person
from wfc.cli.shared.service import events_of
from wfc.testfiles.questions import misfit
from wfc_runtime.errors import RefusedError, WfcError
from wfc_runtime.service import actions_of

if TYPE_CHECKING:
    from wfc.config import Config
    from wfc_runtime.execute import Grant
    from wfc_runtime.service import Service

_WHEN = "_when"
_AFTER = {"recovered": "recovered", "deferred": "which fails the run at its end"}


class StepNames:
    """Maps the states in a history to the ids of steps in the YAML."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._names: dict[str, dict[str, str]] = {}

    def of(self, run: str, states: Iterable[str]) -> list[str]:
        """The work of a step and its retries are separate states, but one step here. A state that only evaluates
        `when` is left out, because a skipped step was not executed."""
        if run not in self._names:
            self._names[run] = self._read(run)
        known = self._names[run]
        names = [known.get(state, state) for state in states if not _is_guard(state, known)]
        names = [name for name in names if name]
        # A step with several states is shown once.
        return [name for index, name in enumerate(names) if index == 0 or names[index - 1] != name]

    def _read(self, run: str) -> dict[str, str]:
        try:
            machine = self._service.definition(run)[1]
        except WfcError:
            # The module of an old run may be gone; states are then shown by their ids.
            return {}
        names = {state.id: str(state.name) for state in machine.states_map.values()}
        # States without a step in the source are not shown; the block that they belong to is shown when it runs.
        # An empty name hides a state that the author never wrote.
        return names | dict.fromkeys(machine.added, "")


def _is_guard(state: str, names: dict[str, str]) -> bool:
    """Whether a state only evaluates the `when` of a step: its id is that of the step's own state with a suffix."""
    work = state.removesuffix(_WHEN)
    return work != state and names.get(work) == names.get(state, "")


class Trail:
    """Follows the history of a run and its children."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._seen: dict[str, int] = {}
        self._names = StepNames(service)
        self.messages: list[str] = []
        """Messages of the workflow to the user that have not been shown yet."""

    def news(self, run: str) -> list[str]:
        """The steps that a run has entered since the last call, and the failures that it has recovered from."""
        found: list[str] = []
        for event in events_of(self._service, run, self._seen.get(run, 0)):
            # Each event is shown once, regardless of questions in between.
            self._seen[run] = event["seq"]
            found += self._words(run, event)
        return found

    def _words(self, run: str, event: dict[str, Any]) -> list[str]:
        self.messages += [str(one["message"]) for one in event.get("messages", ())]
        notes = [_noted(note) for note in event.get("notes", ())]
        return notes + self._names.of(run, event.get("entered", ()))


def not_a_failure(note: dict[str, Any]) -> str:
    """The text of a note that is not about a failed step; empty for others."""
    if "left_after" in note:
        return f"{note['step_id']} left after {note['left_after']} turns"
    return f"{note['derived']} could not be computed ({note['message']})" if "derived" in note else ""


def _noted(note: dict[str, Any]) -> str:
    """A short summary of a note of the history."""
    if said := not_a_failure(note):
        return said
    after = next((word for key, word in _AFTER.items() if key in note), "tried again")
    return f"{note['step_id']} failed ({note['message']}), {after}"


class Executor:
    """Executes actions that the user has confirmed. The caller asks for confirmation."""

    def __init__(self, config: Config, store: Path) -> None:
        self._config = config
        self._store = store
        self._made: Grant | None = None
        self._tasks: dict[tuple[str, str], Task] = {}

    @property
    def _grant(self) -> Grant:
        if self._made is None:
            from wfc.cli.run.serving import terminal_grant

            # Commands get the whole environment, as if the user had typed them in the shell.
            self._made = replace(terminal_grant(self._config, self._store), env=tuple(os.environ))
        return self._made

    def can(self, asked: Asked) -> bool:
        from wfc_runtime.execute import can_execute

        return can_execute(asked.action, self._grant)

    def begin(self, asked: Asked) -> Task:
        """Start an action unless it has been started. Actions that are pending at the same time run in parallel."""
        key = (asked.run, asked.step_id)
        # It may have been started ahead of its turn.
        if key not in self._tasks:
            self._tasks[key] = Task(asked, self._grant)
        return self._tasks[key]

    def execute(self, asked: Asked) -> Any:
        """Wait for the result. Ctrl-C ends the command and its children before it is raised again."""
        task = self.begin(asked)
        try:
            result = task.wait()
        except KeyboardInterrupt:
            self.close()
            raise
        # Only now, so that a second call for the same action waits for the same task.
        del self._tasks[(asked.run, asked.step_id)]
        return result

    def close(self) -> None:
        """Stop all actions in progress."""
        for task in self._tasks.values():
            task.stop()
        self._tasks.clear()


class Task:
    """One action in progress."""

    def __init__(self, asked: Asked, grant: Grant) -> None:
        from wfc_runtime.execute import execute

        self._stop = Event()
        self._found: dict[str, Any] = {}
        self._thread = Thread(
            target=lambda: self._found.update(execute(asked.action, grant, asked.run, self._stop))
        )
        self._thread.start()

    def wait(self) -> dict[str, Any]:
        while self._thread.is_alive():
            # On some platforms, a join without a timeout blocks Ctrl-C.
            self._thread.join(0.5)
        return self._found

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


_TEXTS = ("command", "message", "instructions", "tool")


class StuckError(click.ClickException):
    """The run waits for a result that can't be obtained here."""

    exit_code = 2


class Operator(Worker):
    def __init__(
        self,
        service: Service,
        console: Console,
        executor: Executor,
        *,
        answers: Answers | None = None,
        allow_exec: bool = False,
        is_interactive: bool = True,
        skip: Callable[[float], None] | None = None,
    ) -> None:
        self._console = console
        self._executor = executor
        self._person = Person(console)
        self._answers = answers
        self._allow_exec = allow_exec
        self._is_interactive = is_interactive
        self._skip = skip
        self._service = service
        self._trail = Trail(service)
        self._actor = "wfc run"
        self.path: list[str] = []
        self._passed: list[str] = []
        """The part of the path that has not been shown yet."""

    @property
    def actor(self) -> str:
        return self._actor

    @property
    def count(self) -> int:
        return self._console.actions

    # -- showing -----------------------------------------------------------------

    def moved(self, run: str) -> None:
        names = self._trail.news(run)
        self.path += names
        self._passed += names
        told, self._trail.messages = self._trail.messages, []
        for message in told:
            self._console.say(message, indent=2)

    def _show_path(self, at: Asked) -> None:
        """The steps between two actions."""
        step = at.step_id.partition("@")[0]
        between, self._passed = self._passed, []
        # The action itself is announced below.
        if between[-1:] == [step]:
            del between[-1]
        if between:
            self._console.say("→ " + " → ".join(between), "blue", indent=2)

    def _announce(self, asked: Asked) -> None:
        self._console.actions += 1
        self._show_path(asked)
        for parent in asked.parents[-1:]:
            self._console.say(parent[:200], "cyan", indent=2)
        self._console.say(f"{self.count}. {asked.step_id} ({asked.kind})", "bold", indent=2)
        for key, value in self._masked(asked).items():
            if key in _TEXTS:
                self._show_text(("$ " if key == "command" else "") + str(value))
            elif key not in ("prompt_type", "options", "questions", "timeout") and value is not None:
                self._show_text(
                    f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
                )

    def _masked(self, asked: Asked) -> dict[str, Any]:
        """The parameters with secrets redacted: terminals are watched, and logs are kept."""
        # Asked again from the service, which redacts; `asked` has the real values for execution.
        actions = actions_of(self._service.status(asked.run, masked=True))
        found = [action["parameters"] for action in actions if action["step_id"] == asked.step_id]
        return dict(found[0]) if found else {}

    def _show_text(self, text: str) -> None:
        self._console.show(text, "; `:e` shows them")

    # -- answering ---------------------------------------------------------------

    def answer(self, asked: Asked) -> Any:
        self._announce(asked)
        # An author who scripts the result of a step does not want it executed.
        if self._answers is not None and self._answers.knows(asked.scope, asked.step_id):
            return self._scripted(self._answers, asked)
        if "interrupted_since" in asked.action:
            return self._interrupted(asked)
        if self._executor.can(asked):
            if self._allow_exec:
                return self._executed(asked)
            # With a file of answers, nobody is asked.
            if self._answers is None and self._is_interactive and self._person.agrees("run it here? [y/n]"):
                return self._executed(asked)
        if self._answers is not None:
            return self._scripted(self._answers, asked)
        if not self._is_interactive:
            raise StuckError(
                f"step `{asked.step_id}` needs a result, and standard input is not a terminal; use --answers FILE"
            )
        self._actor = "person, wfc run"
        return self._person.answer(asked)

    def _interrupted(self, asked: Asked) -> Any:
        """Handle an interrupted action. It may have taken effect, so it is repeated only after confirmation."""
        since = asked.action["interrupted_since"]
        # Repeating it is a decision that only a person can take.
        if not self._is_interactive or self._answers is not None:
            raise StuckError(
                f"step `{asked.step_id}` was interrupted: it began at {since} and may have taken effect. Check, then "
                'give its result with --answers FILE; {"run_again": true} starts it again'
            )
        self._console.say(f"interrupted: it began at {since} and may have taken effect", "yellow", indent=2)
        self._actor = "person, wfc run"
        if self._person.agrees("run it again? [y/n]"):
            return {"run_again": True}
        return self._person.answer(asked)

    def ahead(self, pending: list[Asked]) -> None:
        """Start commands that need no confirmation in parallel, as a server does."""
        if not self._allow_exec or len(pending) < 2:
            return
        known = self._answers
        for asked in pending:
            scripted = known is not None and known.knows(asked.scope, asked.step_id)
            if not scripted and self._executor.can(asked):
                self._executor.begin(asked)

    def _scripted(self, answers: Answers, asked: Asked) -> Any:
        self._actor = "wfc run --answers"
        try:
            found = answers.take(asked.scope, asked.step_id, asked.kind, asked.schema)
        except NoAnswerError as error:
            more = ", or allow its execution with --allow-exec" if self._executor.can(asked) else ""
            raise StuckError(f"{error}{more}") from None
        wrong = misfit(found.value, asked.schema)
        if wrong:
            place = f"{found.span.source.path}:{found.span.line}:{found.span.column}: " if found.span else ""
            raise StuckError(f"{place}the answer for `{asked.step_id}` does not fit: {wrong}")
        shown = "(secret)" if asked.is_secret else json.dumps(found.value, ensure_ascii=False)[:200]
        self._console.say(f"= {shown}", "green", indent=4)
        return found.value

    def _executed(self, asked: Asked) -> Any:
        self._actor = "wfc run, executed"
        result = self._executor.execute(asked)
        for key in ("stdout", "stderr", "error"):
            if isinstance(result, dict) and result.get(key) and not asked.is_secret:
                self._show_text(result[key] if isinstance(result[key], str) else json.dumps(result[key]))
        if isinstance(result, dict) and "exit_code" in result:
            color = "green" if result["exit_code"] == 0 else "red"
            self._console.say(f"exit code {result['exit_code']}", color, indent=4)
        return result

    def refused(self, asked: Asked, error: RefusedError) -> None:
        """React to a refused result. If another process has submitted one first, the run has already continued."""
        if error.code in ("not_pending", "answered", "finished"):
            self._console.say(
                f"`{asked.step_id}` was completed elsewhere: {error.message}", "yellow", indent=4
            )
            return
        # A person can try again; a script would give the same answer.
        if self._actor.startswith("person"):
            self._console.say(error.message, "red", indent=4)
            return
        raise StuckError(f"the result of `{asked.step_id}` was refused: {error.message}")

    # -- waiting -----------------------------------------------------------------

    def busy(self, doing: list[dict[str, Any]]) -> None:
        if self._console.is_live:
            steps = ", ".join(f"{one['step_id']} {one.get('seconds', 0):.0f} s" for one in doing)
            self._console.countdown(f"{steps} (stop with Ctrl-C)")

    def wait(self, asked: Asked | None, seconds: float) -> None:
        what = "for another process" if asked is None else _reason(asked)
        if asked is not None:
            self._show_path(asked)
        # Time is simulated, but only for waits of the run itself.
        if self._skip is not None and asked is not None:
            self._console.say(f"{what}: {seconds:g} s skipped", "blue", indent=4)
            self._skip(seconds)
            return
        if not self._console.is_live:
            self._console.say(f"{what}: {seconds:g} s", "blue", indent=4)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self._console.is_live:
                self._console.countdown(f"{what}: {left:.0f} s left (Ctrl-C leaves the run as it is)")
            time.sleep(min(1.0, left))
        self._console.clear()


def _reason(asked: Asked) -> str:
    message = asked.parameters.get("message")
    return f"{asked.step_id} waits" + (f" ({message})" if message else "")
