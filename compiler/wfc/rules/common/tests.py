"""Test files compared with the workflow that they are about."""

from __future__ import annotations

import os
from collections.abc import Iterator

from wfc.caching import cached_per_file
from wfc.findings import Note
from wfc.ir import Chart, Module
from wfc.language.dialect import Report
from wfc.project import SourceFile
from wfc.rules.base import Finding
from wfc.rules.common.inputs import RuleSet, misfits
from wfc.suggest import did_you_mean, nearest
from wfc.testfiles import tested_names
from wfc.testfiles.cases import Case, ExpectedAction, TestFile
from wfc.testfiles.questions import Questions, check_scripts
from wfc.testfiles.scripts import Given


def findings_in_tests(file: SourceFile, code: str) -> Iterator[Finding]:
    """The findings of one check in a test file; none in a workflow."""
    for one in _reports(file) if file.tests is not None else ():
        if one.code == code:
            yield Finding(one.span, one.message, one.help, one.notes)


@cached_per_file(1)
def _reports(file: SourceFile) -> list[Report]:
    tests = file.tests
    assert tests is not None
    tested = file.project.tested_by(file)
    if tested is None:
        # An empty name has been reported already.
        is_named = tests.workflow is None or tests.workflow.value != ""
        return [_no_workflow(file, tests)] if is_named else []
    if tested.problems or tested.module is None:
        return []  # What it has cannot be known before it can be read; its own findings say why.
    modules = [one.module for one in file.project.with_called(tested) if one.module is not None]
    return list(_mistakes(tests, tested.module, modules))


def _no_workflow(file: SourceFile, tests: TestFile) -> Report:
    folder, name = os.path.split(file.source.path)
    span = tests.workflow.span if tests.workflow else file.source.start
    wanted = tests.workflow.value if tests.workflow else tested_names(name)[0]
    near = nearest(
        os.path.basename(wanted), file.project.workflows_in(os.path.join(folder, os.path.dirname(wanted)))
    )
    help = f"did you mean `{near}`?" if near else "name it with `workflow:`, relative to the test file"
    message = f"there is no workflow `{os.path.normpath(os.path.join(folder, wanted))}`"
    return Report("WF111", span, message, help)


def _mistakes(tests: TestFile, module: Module, modules: list[Module]) -> Iterator[Report]:
    questions = Questions.of(modules)
    yield from check_scripts(tests.scripts, questions)
    yield from _inputs(tests.given, module.main)
    for case in tests.cases:
        yield from check_scripts({key: case.scripts[key] for key in case.own}, questions)
        # Inputs of the whole file have been checked above, once.
        own = {name: one for name, one in case.given.items() if one is not tests.given.get(name)}
        yield from _inputs(own, module.main)
        yield from _missing_inputs(case, module.main)
        yield from _expectations(case, module.main, questions)


def _inputs(given: dict[str, Given], chart: Chart) -> Iterator[Report]:
    for name, one in given.items():
        decl = chart.inputs.get(name)
        if decl is None:
            help = did_you_mean(name, chart.inputs) or "the workflow has no inputs"
            yield Report("WF119", one.key, f"the workflow has no input `{name}`", help)
        elif one.value is not None and not decl.setting("convert"):
            # Such an input accepts text for a number, so its rules can't be compared here.
            for bad in misfits(RuleSet.of(decl), one.node, f"the input `{name}`"):
                notes = (Note("the rule", bad.rule),) if bad.rule else ()
                yield Report("WF120", bad.span, bad.message, "change the value, or the workflow", notes)


def _missing_inputs(case: Case, chart: Chart) -> Iterator[Report]:
    missing = [name for name, decl in chart.inputs.items() if decl.is_required and name not in case.given]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        inputs = "input" if len(missing) == 1 else "inputs"
        yield Report(
            "WF120", case.span, f"the run can't start without the {inputs} {names}", "add to `inputs`"
        )


def _expectations(case: Case, chart: Chart, questions: Questions) -> Iterator[Report]:
    expect = case.expect
    named = [(step, expect.spans[step]) for step in expect.by_step]
    named += [(action.step, action.name or action.span) for action in expect.in_order or ()]
    known = questions.names()
    for step, span in named:
        # A visit number names a later visit of the same step.
        if step.partition("@")[0] not in known:
            message = f"there is no step `{step}` that produces an action"
            yield Report("WF119", span, message, did_you_mean(step, known))
    fields = {info.name for info in chart.fields}
    for name, wanted in expect.state.items():
        if name not in fields:
            message = f"the state has no field `{name}`"
            yield Report("WF119", wanted.key or wanted.span, message, did_you_mean(name, fields))
    failing = expect.failing_step
    steps = {step for _, step in (*questions.asks, *questions.silent)}
    if failing is not None and failing.value not in steps:
        yield Report(
            "WF119", failing.span, f"there is no step `{failing.value}`", did_you_mean(failing.value, steps)
        )
    actions = list(expect.in_order or ())
    for one in expect.by_step.values():
        actions += one if isinstance(one, list) else [one]
    for action in actions:
        yield from _parameters(action, questions)


def _parameters(action: ExpectedAction, questions: Questions) -> Iterator[Report]:
    """Keys that can't match, because no action of the step has them."""
    places = questions.matching(action.step.partition("@")[0], questions.asks)
    known = {name for place in places for name in questions.asks[place].parameters}
    # Without such a step there is nothing to compare; that is reported above.
    for key, span in action.keys.items() if places else ():
        # Null means that it is absent.
        if key != "contains" and key not in known and action.value.get(key) is not None:
            message = f"an action of `{action.step}` has no parameter `{key}`"
            yield Report("WF120", span, message, did_you_mean(key, {*known, "contains"}))
