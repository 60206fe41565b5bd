"""`wfc worker`."""

from __future__ import annotations

import asyncio
import logging
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wfc.cli.run.costs import ended_words
from wfc.cli.shared.options import refuse_on_temporal
from wfc.cli.shared.service import collect_in_portions
from wfc.config import load_config
from wfc.project import limit_plugins
from wfc.render.style import printable
from wfc.workspace.runtime import engine_of, modules_at_start
from wfc_runtime.errors import WfcError
from wfc_runtime.interrupt import INTERRUPTED

if TYPE_CHECKING:
    from wfc.config import Config
    from wfc_runtime.agents.base import Outcome
    from wfc_runtime.agents.settings import Assignment
    from wfc_runtime.service.temporal.agent_work import AgentWorker
    from wfc_runtime.service.temporal.modules import Modules
    from wfc_runtime.service.temporal.settings import TemporalSettings
    from wfc_runtime.service.workers import RunnableAction


# Actions of agents.


@dataclass(frozen=True, slots=True)
class AgentOptions:
    agent: str
    parallel: int | None
    budget: str | None
    lease: float | None


def agent_worker(
    options: AgentOptions, config: Config, settings: TemporalSettings, modules: Modules
) -> AgentWorker:
    """The programs and their rights come from the operator's file, as with `wfc run --agent`."""
    from wfc.cli.plan_agents import agents_of
    from wfc.cli.run.headless import parse_budget
    from wfc_runtime.machine.values import Limits
    from wfc_runtime.service.interface import LEASE_SECONDS
    from wfc_runtime.service.temporal.agent_work import AgentWorker
    from wfc_runtime.service.temporal.engine import TemporalService

    agents = agents_of(options.agent, config)
    limits = {} if options.budget is None else parse_budget(options.budget)
    made = AgentWorker(
        TemporalService(settings, modules, Limits.of(config.run_limits)),
        agents,
        folder=Path.cwd(),
        state_folder=config.root / ".wfc",
        parallel=options.parallel or agents.wishes.parallel,
        seconds=options.lease or LEASE_SECONDS,
        budget=limits,
    )
    made.calls.observer = _CallLines()
    return made


class _CallLines:
    """A line on standard error for the beginning and the end of each call."""

    def call_began(self, runnable: RunnableAction, assignment: Assignment, attempt: int) -> None:
        who = " ".join(one for one in (assignment.program.name, assignment.agent, assignment.model) if one)
        self._say(runnable, f"{who}, attempt {attempt}")

    def call_said(self, runnable: RunnableAction, words: str) -> None:
        """The log of the call has it."""

    def call_ended(self, runnable: RunnableAction, outcome: Outcome, record: dict[str, Any]) -> None:
        self._say(runnable, ended_words(outcome, record, runnable.mask))

    def call_refused(self, runnable: RunnableAction, reason: str) -> None:
        self._say(runnable, f"{reason}; asking again")

    def _say(self, runnable: RunnableAction, text: str) -> None:
        click.echo(f"wfc worker: {runnable.run} {runnable.visit}: {printable(text)}", err=True)


@click.command("worker")
@click.option(
    "--generated",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the compiled workflows; defaults to the project's generated folder.",
)
@click.option(
    "--modules",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with older versions that runs are pinned to. May be repeated.",
)
@click.option("--task-queue", help="Task queue to serve; overrides the settings (default: wfc).")
@click.option(
    "--agent",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Let an agent's command line do actions of the runs, such as `claude`. Prompts are left to people. Without "
    "NAME: the default of [tool.wfc.agents].",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 64),
    metavar="N",
    help="With --agent: do at most this many actions at the same time. Defaults to the project's, or 4.",
)
@click.option(
    "--budget",
    metavar="KIND=NUMBER",
    help="With --agent: lower or set what each run may spend, such as usd=5,steps=40; also tokens, seconds.",
)
@click.option(
    "--lease",
    type=click.FloatRange(1, 3600),
    metavar="SECONDS",
    help="With --agent: how long an action stays reserved after this worker was killed. Default: 60.",
)
@click.option(
    "--allow-exec",
    is_flag=False,
    flag_value="*",
    multiple=True,
    metavar="[PATTERN]",
    help="Not supported, like the next four options: on Temporal an agent executes every step.",
)
@click.option("--allow-read", multiple=True, metavar="PATTERN", help="Not supported.")
@click.option("--allow-write", multiple=True, metavar="PATTERN", help="Not supported.")
@click.option("--allow-http", multiple=True, metavar="HOST", help="Not supported.")
@click.option("--allow-block", multiple=True, metavar="NAME", help="Not supported.")
def command(
    generated: Path | None,
    modules: tuple[Path, ...],
    task_queue: str | None,
    agent: str | None,
    parallel: int | None,
    budget: str | None,
    lease: float | None,
    allow_exec: tuple[str, ...],
    allow_read: tuple[str, ...],
    allow_write: tuple[str, ...],
    allow_http: tuple[str, ...],
    allow_block: tuple[str, ...],
) -> int:
    """Execute this project's runs on a Temporal server until interrupted.

    Any number of workers can serve one task queue, and each can be killed at any time. If a worker lacks the version
    of a workflow that a run was started with, it logs that, and the run waits for a worker that has it. Modules
    that appear or change after the start are loaded only if the project's sources compile to them.

    With --agent, the worker also does actions of all runs of the task queue, in the current folder: it reserves an
    action, lets the agent do it, and submits the result. If the worker ends, its actions are pending again. Any
    number of such workers never do the same action at the same time.

    The server is set in [tool.wfc.temporal] or with WFC_TEMPORAL_ADDRESS, WFC_TEMPORAL_NAMESPACE and so on. Payloads
    are encrypted with the keys from WFC_TEMPORAL_KEY or key_file; without a key they are stored unencrypted.
    """
    if allow_exec or allow_read or allow_write or allow_http or allow_block:
        raise refuse_on_temporal()
    for option, given in (("--parallel", parallel), ("--budget", budget), ("--lease", lease)):
        if given is not None and agent is None:
            raise click.UsageError(f"{option} goes with --agent")
    # SECURITY: with --agent, the settings may come from a stranger, and a block type of a plugin is code.
    limit_plugins(None if agent is None else ())
    config = load_config(Path("."))
    told = engine_of(config, "temporal", generated=generated, modules=modules)
    engine = replace(told, trust=modules_at_start(config, [told.generated, *modules], "worker"))
    logging.basicConfig(format="wfc worker: %(message)s", level=logging.WARNING)
    try:
        from wfc_runtime.engines import require_temporal

        require_temporal()
        from wfc_runtime.service.temporal.worker import serve

        def ready(workflows: list[str]) -> None:
            names = ", ".join(workflows) or "no compiled workflows yet"
            click.echo(f"wfc worker: {settings}: {names}", err=True)

        collect_in_portions()
        settings = engine.temporal.on_queue(task_queue)
        companion = None
        if agent is not None:
            wanted = AgentOptions(agent, parallel, budget, lease)
            companion = agent_worker(wanted, config, settings, engine.modules())
        signals = (signal.SIGINT, signal.SIGTERM)
        stopped = asyncio.run(serve(settings, engine.modules(), ready, signals, companion))
    except WfcError as error:
        raise click.ClickException(str(error)) from error
    return INTERRUPTED if stopped is signal.SIGINT else 0
