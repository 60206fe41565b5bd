"""`wfc run`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wfc.author.answers import Answers
from wfc.cli.run.console import Console
from wfc.cli.run.inputs import given_inputs
from wfc.cli.run.session import read_answers_file, terminal_service, work
from wfc.cli.run.sources import SourceRegistry, called_by, module_to_run
from wfc.cli.shared.names import FILES, WORKFLOWS
from wfc.cli.shared.options import RunOptions, run_options, state_option
from wfc.cli.shared.service import opened
from wfc.config import load_config
from wfc.project import limit_plugins
from wfc.workspace.files import store_path
from wfc.workspace.runtime import modules_at_start
from wfc_runtime.errors import WfcError
from wfc_runtime.machine.effects import Ask
from wfc_runtime.machine.spawn import Spawn
from wfc_runtime.registry import Module
from wfc_runtime.service.sqlite import SqliteService


@click.command("run")
@click.argument("workflow", shell_complete=WORKFLOWS)
@click.option(
    "--input", "-i", "pairs", multiple=True, metavar="NAME=VALUE", help="An input. May be repeated."
)
@click.option(
    "--inputs",
    metavar="FILE",
    shell_complete=FILES,
    help="Inputs from a YAML or JSON file; `-` is standard input.",
)
@run_options
@state_option
def command(
    workflow: str,
    pairs: tuple[str, ...],
    inputs: str | None,
    options: RunOptions,
    state: Path | None,
) -> int:
    """Run a workflow in the terminal; you act as the agent.

    WORKFLOW is the name of a compiled workflow or a YAML file, which is compiled in memory. wfc asks you for each
    result, and executes commands only after you confirm or with --allow-exec. The run is stored like any other: after
    Ctrl-C, `wfc runs resume` continues it. A step times out only at its `deadline`, a `call` also at its `timeout`.

    With --agent, an agent's command line acts instead of you: in a terminal it asks you only at prompts, elsewhere it
    takes --answer and --answers and otherwise leaves the run waiting. The agents are set up in
    ~/.config/wfc/agents.toml (or WFC_AGENTS).

    Exits with 0 if the run completed, 1 if it failed or was cancelled or the workflow has errors, 130 after Ctrl-C.
    With --agent also: 4 if a person is needed, 5 if a budget is used up, 6 if no agent is available.
    """
    if inputs == "-" and options.answers == "-":
        raise click.UsageError("only one of --inputs and --answers can be standard input")
    limit_plugins(options.allow_block if options.agent is not None else None)
    config = load_config(Path("."))
    registry = SourceRegistry(config, modules_at_start(config, [config.generated_dir], "command"))
    try:
        module = module_to_run(registry, workflow)
    except WfcError as error:
        raise click.ClickException(str(error)) from error
    if module is None:
        return 1
    workflows = called_by(module, registry)
    file = read_answers_file(options, workflows)
    given = given_inputs(module.workflow, pairs, inputs, file.inputs if file else {})
    nobody = file is None and not options.executes and options.agent is None and not sys.stdin.isatty()
    if nobody and _asks(module):
        raise click.UsageError(
            "standard input is not a terminal, so prompts can't be answered; use --answers FILE"
        )
    console = Console()
    answered = Answers(file.scripts) if file else None
    if options.agent is not None:
        from wfc.cli.run.headless import given_answers, parse_budget

        parse_budget(options.budget) if options.budget is not None else {}
        answered = given_answers(options.answer, answered, workflows)
    path = store_path(state, config)
    with opened(lambda: terminal_service(path, registry, options, console)) as service:
        # The plain service: actions that it executes itself begin only after the run has been printed.
        run = SqliteService.start_module(service, module, given, actor="wfc run")["workflow_id"]
        console.say(f"{module.workflow.name} {module.workflow.version}, run {run}", "bold")
        return work(service, run, options, answered, console, config, state)


def _asks(module: Module) -> bool:
    """Whether a run may need a result."""
    machines = [module.workflow.machine, *module.workflow.tasks.values()]
    effects = [effect for machine in machines for effect in machine.steps.values()]
    return any(
        isinstance(effect, Spawn) or (isinstance(effect, Ask) and effect.wait_seconds is None)
        for effect in effects
    )
