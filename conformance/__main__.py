"""`python -m conformance`: try an implementation, and print a table of requirements."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from conformance.client import serving
from conformance.report import Outcome, as_json, as_table, summary
from conformance.suite import LANGUAGES, Expanded, Suite, SuiteError, load
from conformance.trying import DifferenceError, Implementation, RefusedError, try_case

SERVER = "wfc serve --toolsets core,author,debug"
PREPARE = "wfc compile"


class PreparationError(Exception):
    """The command that prepares a project has failed."""


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        suites = [load(language) for language in given.language or LANGUAGES]
    except SuiteError as error:
        print(error, file=sys.stderr)
        return 2
    outcomes: list[Outcome] = []
    for suite in suites:
        chosen = [case for case in suite.cases() if given.only in case.id and _is_for(case, given.engine)]
        if chosen:
            try:
                outcomes += _try_all(suite, chosen, given)
            except (OSError, PreparationError) as error:
                # Nothing was tried, which is not a failing case.
                print(f"{suite.language}: {error}", file=sys.stderr)
                return 2
    if given.json:
        print(json.dumps(as_json(suites, outcomes), indent=2, ensure_ascii=False))
    else:
        print(as_table(suites, outcomes, failures_only=given.failures))
        print(summary(suites, outcomes))
    return 0 if all(one.passed for one in outcomes) else 1


def _is_for(case: Expanded, engine: str) -> bool:
    return not case.case.engines or engine in case.case.engines


def _try_all(suite: Suite, cases: list[Expanded], given: argparse.Namespace) -> list[Outcome]:
    """All cases of a language against one server, in its own project."""
    with tempfile.TemporaryDirectory(prefix=f"conformance-{suite.language}-") as name:
        folder = Path(name)
        prepare_project(suite, folder, given.prepare)
        with serving(shlex.split(given.server), folder, given.check) as server:
            return [outcome_of(server, case) for case in cases]


def prepare_project(suite: Suite, folder: Path, command: str) -> None:
    """The files that the cases of a language share, and whatever the implementation makes from them."""
    if suite.project.is_dir():
        shutil.copytree(suite.project, folder, dirs_exist_ok=True)
        # Git keeps no empty folder, and a project may share only agents.
        (folder / "workflows").mkdir(exist_ok=True)
        if command:
            done = subprocess.run(
                shlex.split(command), cwd=folder, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise PreparationError(f"`{command}` failed:\n{done.stdout}{done.stderr}")


def outcome_of(implementation: Implementation, case: Expanded) -> Outcome:
    try:
        try_case(implementation, case)
    except (DifferenceError, RefusedError) as difference:
        return Outcome(case, str(difference))
    return Outcome(case, None)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("language", nargs="*", choices=[*LANGUAGES, []], help="default: all")
    parser.add_argument(
        "--server", default=SERVER, help="the command line of an MCP server (default: %(default)s)"
    )
    parser.add_argument(
        "--prepare", default=PREPARE, help="a command to execute in a project before its server starts"
    )
    parser.add_argument("--check", help="a command that checks a file and prints {findings: [...]} as JSON")
    parser.add_argument("--engine", default="sqlite", help="leave out cases that are for other engines")
    parser.add_argument("--only", default="", help="only cases whose id contains this")
    parser.add_argument("--failures", action="store_true", help="show only requirements that fail")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
