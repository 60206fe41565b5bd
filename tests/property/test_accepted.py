"""Generated workflows of the whole language: what wfc accepts must work, all the way to the end of a run."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.model.reading import all_steps
from tests.property.driver import Agent
from tests.property.grammar import HELPER, Tree, to_yaml, workflows
from tests.property.inputs import sample
from tests.property.modules import accepted, imported, samples
from tests.property.mutations import retyped_trees
from tests.property.survival import compiled, survived
from tests.support import is_black_stable
from tests.type_checker import mypy
from wfc.checker import has_errors
from wfc.language.shape import InputDecl
from wfc.language.steps import STEP_TYPES

EXPECTED = {
    "agent_error",
    "timeout",
    "deadline",
    "exit_code",
    "result_misfit",
    "max_iterations",
    "max_items",
    "child_failed",
    "branch_failed",
    "expression",
}
"""How a run of a right workflow may fail: by its agents, by a bound, by a field that a jump left unset, or by a value
that an expression can't be worked with."""
RISKY = ("parse_json", "10 /", "[1]")

few = settings(max_examples=settings.default.max_examples // 2 or 1)


def test_most_generated_workflows_are_right() -> None:
    trees = samples(workflows(), 60)
    assert sum(accepted(tree) is not None for tree in trees) >= 50


def test_every_step_type_and_every_field_of_the_language_is_generated() -> None:
    missing = {
        kind: {name.rstrip("_") for name in step.FIELDS if name not in step.without}
        for kind, step in STEP_TYPES.items()
    }
    inputs = set(InputDecl.FIELDS)
    # Most are seen in the first hundred workflows; a few take more than a thousand.
    for first in range(1, 17):
        for tree in samples(workflows(returns=True, served=3, whole=True), 100, first):
            for scope in (tree, *tree.get("tasks", {}).values()):
                for decl in scope["inputs"].values():
                    inputs -= {*decl, *decl.get("validation", {})}
                for step in all_steps(scope["steps"]):
                    missing[step["type"]] -= set(step)
        if not inputs and not any(missing.values()):
            return
    assert {kind: sorted(names) for kind, names in missing.items() if names} == {}
    assert not inputs


@given(workflows())
def test_a_generated_workflow_is_compiled_or_told_what_is_wrong_with_it(tree: Tree) -> None:
    result = survived(to_yaml(tree), HELPER)
    assert bool(result.modules) != has_errors(result.findings)


@given(workflows(), st.integers(0, 2**32))
def test_what_is_accepted_can_be_driven_to_an_end(tree: Tree, seed: int) -> None:
    result = compiled(to_yaml(tree), HELPER)
    assume(not has_errors(result.findings))
    workflow, helper = (module.text for module in result.modules)
    with imported(helper) as called, imported(workflow) as ours:
        needed = {name: sample(decl) for name, decl in tree["inputs"].items() if decl.get("required")}
        end = Agent({"helper": called}, Random(seed)).work(ours, needed)
    assert end.status in ("completed", "failed")
    if end.status == "failed":
        assert end.error is not None
        assert end.error["code"] in EXPECTED
        assert end.error["message"]
        assert str(end.error["step_id"]).split("@")[0] in to_yaml(tree)
        if end.error["code"] == "expression" and not any(part in end.error["message"] for part in RISKY):
            assert {found.code for found in result.findings} & {"WF304", "WF305"}, (
                "it should have been warned of"
            )


@few
@given(workflows())
def test_what_is_accepted_is_laid_out_as_black_would(tree: Tree) -> None:
    text = accepted(tree)
    assume(text is not None)
    assert is_black_stable(text or "")


@few
@given(workflows())
def test_the_same_source_gives_the_same_bytes(tree: Tree) -> None:
    assert compiled(to_yaml(tree), HELPER).modules == [] or accepted(tree) == accepted(tree)


@pytest.mark.parametrize("language", ["steps", "blocks"])
def test_modules_of_workflows_with_changed_types_pass_mypy_strict_and_can_be_imported(
    tmp_path: Path, language: str
) -> None:
    made: dict[str, None] = {}
    for text in samples(retyped_trees(language), 120):
        result = compiled(text)
        if not has_errors(result.findings):
            made |= dict.fromkeys(module.text for module in result.modules)
    for number, text in enumerate(made):
        with imported(text):
            (tmp_path / f"generated_{number}.py").write_text(text, encoding="utf-8")
    assert mypy(tmp_path) == ""
    assert len(made) >= 20


def test_modules_of_generated_workflows_pass_mypy_strict(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("generated")
    texts = [text for tree in samples(workflows(), 20) if (text := accepted(tree)) is not None][:15]
    for number, text in enumerate(texts):
        (folder / f"generated_{number}.py").write_text(text, encoding="utf-8")
    assert mypy(folder) == ""
    assert len(texts) == 15
