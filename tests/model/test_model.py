"""Generated workflows on the real service, beside a plain interpreter that knows nothing of how it is done.

Two servers share a file and are restarted; answers come late, twice, wrong or not at all; time jumps. After each call
both must be at the same point. This is the short version; `make torture` looks at thousands.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.model.serving import ServingWorld, without_pauses
from tests.model.world import World, make_world, result_for
from tests.property.grammar import Tree, workflows

SEEDS = st.integers(0, 2**32)
SHORT = settings(max_examples=settings().max_examples // 5, stateful_step_count=20)


class Model(RuleBasedStateMachine):
    """Everything that can happen to a run."""

    figures: ClassVar[Counter[str]] = Counter()
    seen: ClassVar[Callable[[int], None]] = staticmethod(lambda count: None)

    def __init__(self) -> None:
        super().__init__()
        self.world: World | None = None
        self.folder = tempfile.TemporaryDirectory(prefix="wfc-model-")

    @initialize(tree=workflows(returns=True), room=st.sampled_from([100, 1, 2]))
    def start(self, tree: Tree, room: int) -> None:
        self._begin(tree, room, World)

    def _begin(self, tree: Tree, room: int, kind: type[World]) -> None:
        self.world = make_world(Path(self.folder.name), tree, room, kind)
        assume(self.world is not None)
        assert self.world is not None
        self.world.start(tree)

    def teardown(self) -> None:
        if self.world is not None:
            self.figures.update(self.world.figures())
            self.seen(self.figures["workflows"])
            self.world.close()
        self.folder.cleanup()

    def _questions(self) -> list[Any]:
        return self.world.questions() if self.world is not None else []

    def _chosen(self, seed: int) -> tuple[World, Any, Random]:
        assert self.world is not None
        random = Random(seed)
        return self.world, random.choice(self._questions()), random

    def _answer(self, seed: int) -> None:
        world, (run, wait), random = self._chosen(seed)
        world.submit(run, wait, *result_for(world, run, wait, random))

    @precondition(lambda self: self._questions())
    @rule(seed=SEEDS)
    def answer(self, seed: int) -> None:
        self._answer(seed)

    @precondition(lambda self: self._questions())
    @rule(seed=SEEDS)
    def answer_on_the_other_server(self, seed: int) -> None:
        assert self.world is not None
        self.world.change_server()
        self._answer(seed)

    @precondition(lambda self: self._questions())
    @rule(seed=SEEDS, much=st.booleans())
    def answer_late(self, seed: int, much: bool) -> None:
        assert self.world is not None
        self.world.pass_(400 if much else 3)
        self._answer(seed)

    @precondition(lambda self: self.world is not None and self.world.answered)
    @rule(seed=SEEDS)
    def answer_twice(self, seed: int) -> None:
        assert self.world is not None
        self.world.submit_again(Random(seed).choice(self.world.answered))

    @precondition(lambda self: self.world is not None and self.world.answered)
    @rule(seed=SEEDS)
    def answer_what_is_not_asked(self, seed: int) -> None:
        assert self.world is not None
        self.world.submit_stale(Random(seed).choice(self.world.answered), {"other": seed})

    @precondition(lambda self: self._questions())
    @rule(seed=SEEDS, child=st.sampled_from([True, True, True, False]))
    def cancel(self, seed: int, child: bool) -> None:
        world, _, random = self._chosen(seed)
        runs = [run for run in world.ids if not child or run.parent is not None]
        if runs and (not child or random.random() < 0.3):
            world.cancel(random.choice(runs))

    @precondition(lambda self: self.world is not None)
    @rule(seconds=st.sampled_from([0.5, 1, 31, 91, 1000]))
    def look_later(self, seconds: float) -> None:
        assert self.world is not None
        self.world.pass_(seconds)
        self.world.look()

    @precondition(lambda self: self.world is not None and self.world.can_retry())
    @rule(is_named=st.booleans())
    def retry(self, is_named: bool) -> None:
        assert self.world is not None
        self.world.retry(is_named)

    @precondition(lambda self: self._questions())
    @rule(seed=SEEDS, is_named=st.booleans())
    def fail_and_retry(self, seed: int, is_named: bool) -> None:
        world, (run, wait), _ = self._chosen(seed)
        if wait.items is None and not wait.ends_by_itself:
            world.submit(run, wait, {"error": "could not"}, True)
        if world.can_retry():
            world.retry(is_named)

    @precondition(lambda self: self.world is not None)
    @rule()
    def restart(self) -> None:
        assert self.world is not None
        self.world.restart()


class ServingModel(Model):
    """The same, with servers that run commands and write files by themselves."""

    @initialize(tree=workflows(returns=True, served=3), room=st.sampled_from([100, 1, 2]))
    def start(self, tree: Tree, room: int) -> None:
        self._begin(without_pauses(tree), room, ServingWorld)


def agreement(
    kind: type[Model], how: settings, seen: Callable[[int], None] = lambda count: None
) -> Counter[str]:
    """What the examples came to that were worked through; `seen` hears of each. A difference is an AssertionError."""
    figures: Counter[str] = Counter()
    counted = type("Counted", (kind,), {"figures": figures, "seen": staticmethod(seen)})
    run_state_machine_as_test(counted, settings=how)
    return figures


def test_the_service_and_the_plain_interpreter_agree_after_every_call() -> None:
    figures = agreement(Model, SHORT)
    assert figures["workflows"] >= SHORT.max_examples // 2
    assert figures["calls"] > 20 * figures["workflows"]
    assert figures["retries"] > 0, "no run was retried"
    assert figures["unclear"] < figures["workflows"] / 4


def test_servers_that_work_themselves_agree_with_the_plain_interpreter_too() -> None:
    figures = agreement(ServingModel, SHORT)
    assert figures["workflows"] >= SHORT.max_examples // 2
    assert figures["served"] > 0, "no server has done anything"
