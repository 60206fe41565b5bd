"""Flows and pictures for the tests."""

from __future__ import annotations

from functools import cache
from random import Random

from tests.support import ROOT, file_of
from wfc.ir import Module
from wfc.picture import to_picture
from wfc_runtime.picture.model import Flow, Line, Link, Node, Picture, Shape

SHIPPED = sorted(path.stem for path in (ROOT / "workflows").glob("*.yaml") if ".test" not in path.stem)

HOSTILE = (
    "\"quoted\" & <b>bold</b> ]]> </svg> 'single'",
    "a]b[c](d){e}{{f}}|g|",
    "end",
    "x" * 100,
    "ünïcödé 中文字 🎉👩‍👩‍👧",
    "new\nline\r\ttab\x00\x07\x1b[31m\u202eedirrevo",
    "1. list",
    "- item; # comment %% --> \\N \\n",
    "`code` **bold** __x__ &amp; #quot;",
    "\ud800 lone \ufffe",
)


@cache
def shipped(name: str) -> Module:
    module = file_of((ROOT / "workflows" / f"{name}.yaml").read_text(encoding="utf-8")).module
    assert module is not None
    return module


def picture_of(steps: str) -> Picture:
    """The picture of a workflow with these steps."""
    module = file_of(f"name: sample\nversion: 1.0.0\nsteps:\n{steps}").module
    assert module is not None
    return to_picture(module)


def flow_of(steps: str) -> Flow:
    return picture_of(steps).panels[0].flow


def random_flow(random: Random, most: int = 40, depth: int = 2, prefix: str = "") -> Flow:
    """Any graph at all: loops into loops, jumps everywhere, steps that nothing reaches, frames in frames."""
    count = random.randint(1, most)
    nodes = [_random_node(random, f"{prefix}n{number}", depth) for number in range(count)]
    links: dict[tuple[str, str], Link] = {}
    ways = {Shape.BOX: (1, 1, 2), Shape.CHOICE: (2, 2, 3), Shape.JUMP: (1, 2), Shape.PARALLEL: (1,)}
    for number, node in enumerate(nodes):
        for _ in range(random.choice(ways.get(node.shape, (0,)))):
            near = min(count - 1, number + random.choice((1, 1, 1, 2, 5)))
            target = nodes[near if random.random() < 0.8 else random.randrange(count)].id
            label = random.choice(("", "yes", "no", "again, at most 3", "on error"))
            links[node.id, target] = Link(node.id, target, label, random.choice(list(Line)))
    return Flow("random", nodes, list(links.values()))


def _random_node(random: Random, name: str, depth: int) -> Node:
    shapes = [Shape.BOX] * 5 + [Shape.CHOICE] * 3 + [Shape.JUMP, Shape.END] + [Shape.PARALLEL] * bool(depth)
    shape = random.choice(shapes)
    if shape is Shape.END:
        return Node(name, shape)
    title = random.choice((name, "check-" + name, "a-very-long-name-for-a-step-" + name, *HOSTILE))
    detail = "state.x == 3 " * random.randint(0, 7)
    branches = random.randint(1, 4) if shape is Shape.PARALLEL else 0
    return Node(
        name,
        shape,
        title,
        detail.strip(),
        badge=random.choice(("", "", "3 tries")),
        loop=random.random() < 0.3,
        branches=tuple(random_flow(random, 5, depth - 1, f"{name}b{number}") for number in range(branches)),
    )
