"""A session works on a run until it ends, or leaves it so that it can be continued later."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from wfc.author.answers import Answers, questions_of, read_answers
from wfc.author.driver import drive
from wfc.cli.run.console import Console, LeftError
from wfc.cli.run.inputs import read_input_file, refuse_findings
from wfc.cli.run.operator import Executor, Operator, StuckError
from wfc.cli.shared.options import RunOptions
from wfc.cli.shared.output import data, say, to_json
from wfc.testfiles.questions import check_scripts
from wfc.testfiles.reader import to_diagnostic
from wfc.workspace.files import store_path
from wfc_runtime.interrupt import INTERRUPTED
from wfc_runtime.machine.values import Limits
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

if TYPE_CHECKING:
    from wfc.author.answers import AnswersFile
    from wfc.cli.run.sources import SourceRegistry
    from wfc.config import Config
    from wfc_runtime.machine.chart import Workflow
    from wfc_runtime.service import Reply, Service


def terminal_service(
    path: Path, registry: SourceRegistry, options: RunOptions, console: Console
) -> SqliteService:
    """Open the service for runs that a user works here, and therefore without timeouts. With `--allow-exec`, actions
    that this machine can execute run without a question and are shown."""
    limits = Limits.of(registry.config.run_limits)
    if options.agent is not None:
        from wfc.cli.run.headless import agent_service

        return agent_service(path, registry, options)
    if not options.executes:
        return SqliteService(Store(path), registry, limits)
    from wfc.cli.run.serving import serving_service

    return serving_service(path, registry, limits, console, options)


def read_answers_file(options: RunOptions, workflows: Iterable[Workflow]) -> AnswersFile | None:
    """Read the answers file, if there is one. Mistakes that can be found in advance end the command."""
    if options.answers is None:
        return None
    file = read_answers(options.answers, read_input_file(options.answers))
    reports = check_scripts(file.scripts, questions_of(workflows))
    refuse_findings(file.problems or [to_diagnostic(report) for report in reports])
    return file


def work(
    service: Service,
    run: str,
    options: RunOptions,
    answers: Answers | None,
    console: Console,
    config: Config,
    state: Path | None,
) -> int:
    """Work a run in this terminal and return the exit code. `state`: the file of the store, if one was named."""
    if options.agent is not None:
        from wfc.cli.run.headless import work_headless

        assert isinstance(service, SqliteService)
        resuming = f"{_resuming(run, state)} --agent {options.agent}".strip()
        return work_headless(service, run, options, answers or Answers(), console, resuming)
    store = store_path(state, config)
    if options.executes:
        from wfc.cli.run.serving import leave_to

        leave_to(service, answers)

    def skip(seconds: float) -> None:
        assert isinstance(service, SqliteService)
        service.ahead += seconds

    executor = Executor(config, store)
    operator = Operator(
        service,
        console,
        executor,
        answers=answers,
        allow_exec=options.allow_exec,
        is_interactive=options.answers is None and sys.stdin.isatty(),
        skip=skip if options.skip_waits else None,
    )
    try:
        reply = drive(service, run, operator)
    except (KeyboardInterrupt, LeftError):
        console.clear()
        console.say()
        console.say(f"the run is saved; continue it with `{_resuming(run, state)}`", "yellow")
        return INTERRUPTED
    except StuckError as error:
        if options.as_json:
            say(to_json(service.next_step(run)))
        raise StuckError(
            f"{error.message}\nThe run is saved; continue it with `{_resuming(run, state)}`."
        ) from None
    finally:
        executor.close()
    return _ended(reply, operator, options, console)


def _resuming(run: str, state: Path | None) -> str:
    """The command that continues a run."""
    # A shell that continues the run has the same variable, so the option would repeat it.
    is_known = state is None or str(state) == os.environ.get("WFC_STATE")
    return f"wfc runs {'' if is_known else f'--state {shlex.quote(str(state))} '}resume {run}"


def _ended(reply: Reply, operator: Operator, options: RunOptions, console: Console) -> int:
    status = reply["status"]
    color = "green" if status == "completed" else "red"
    asked = "1 action" if operator.count == 1 else f"{operator.count} actions"
    console.say(f"{status} after {asked}: {' → '.join(operator.path)}", color)
    if options.as_json:
        say(to_json(reply))
    elif status == "completed":
        result = reply["result"]
        say(data(result) if isinstance(result, str) else to_json(result))
    else:
        console.say(_why(reply), "red")
    return 0 if status == "completed" else 1


def _why(reply: Reply) -> str:
    error = reply.get("error")
    if error is None:
        return f"reason: {reply.get('reason', '')}"
    return f"step `{error.get('step_id', '')}`: {error['message']}\n{error['hint']}"
