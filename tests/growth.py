"""Work that must not grow faster than its input: tests count its calls, and `make bench` times it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.support import W, check, file_of, load, loaded
from tests.unit.graph.samples import flow_of
from wfc.analysis.call_graph import CallGraph
from wfc.findings import Diagnostic, Edit, Fix, Severity
from wfc.fixes import Checked, Group, apply, candidates
from wfc.suggest import Nearest
from wfc.template import Template
from wfc.yaml import Source
from wfc_runtime.machine.redaction import Mask
from wfc_runtime.picture.layout import fold_into_columns, lay_out
from wfc_runtime.plan import explain_plan
from wfc_runtime.results import problems

Work = Callable[[], object]


@dataclass(frozen=True)
class Growth:
    """Work on inputs of two sizes, and how many times the calls of the small one the large one may take at most."""

    make: Callable[[int], Work]
    """Prepares an input of a size, which is not counted, and returns the work."""
    small: int
    large: int
    most: float

    @classmethod
    def linear(cls, make: Callable[[int], Work], small: int, large: int) -> Growth:
        return cls(make, small, large, 1.06 * large / small)

    @classmethod
    def constant(cls, make: Callable[[int], Work], small: int, large: int) -> Growth:
        return cls(make, small, large, 1.1)


def _template(count: int) -> Work:
    text = "Deploy {{ inputs.service }} to {{ state['env'].name | default('x') }}.\n" * count
    return lambda: _is(len(Template(text).reads), 2 * count)


def _calls(count: int) -> Work:
    """Each calls the next: no recursion is as deep as that."""
    head = 'name: w{0}\nversion: "1.0.0"\nsteps:\n'
    call = "  - {{id: s, type: call, workflow: w{1}}}\n"
    texts = [(head + call).format(number, number + 1) for number in range(count)]
    made = load(*texts, head.format(count) + "  - {id: done, type: return}\n")

    def look() -> None:
        graph = CallGraph(made)
        found = [call for file in made.files for call in graph.calls(file)]
        _is(len(found), count)
        _is(any(graph.is_circular(call) for call in found), False)

    return look


def _fixes(count: int) -> Work:
    text = "word " * count
    source = Source("w.yaml", text)
    found = [
        Diagnostic(
            *("WF999", "test", Severity.ERROR, "wrong", source.start),
            fix=Fix("shorten", (Edit(source.span(at, at + 4), "x"),), True),
        )
        for at in range(0, len(text), 5)
    ]
    checked = {W: Checked(file_of(text), found)}

    def choose() -> None:
        chosen = list(candidates(checked, [W], Group.SAFE, unsafe=False))
        _is(apply(text, [change for one in chosen for change in one.changes]), "x " * count)

    return choose


_PANEL = """\
name: w
version: "1.0.0"
steps:
  - id: ask
    type: prompt
    prompt_type: choice
    message: Which?
    options: [on, other]
"""


def _comments(count: int) -> Work:
    [found] = check(_PANEL)
    text = _PANEL + "# wfc: ignore[WF003, WF301]\n" * count
    return lambda: _is(file_of(text).suppressions.cover(found), False)


def _plan(count: int) -> Work:
    steps = "".join(
        f"  - {{id: a{one}, type: shell, command: make, output_to: x}}\n"
        f"  - {{id: g{one}, type: goto, needs_state: [x], when: '{{{{ state.x.exit_code > {one} }}}}',"
        f" target: a{max(one - 3, 0)}, max_iterations: 2}}\n"
        for one in range(count)
    )
    found = loaded(f'name: w\nversion: "1"\nsteps:\n{steps}')
    return lambda: explain_plan(found["w"], found.get)


_CHARTS: dict[str, Callable[[int], str]] = {
    "a chain": lambda n: "".join(f"  - {{id: s{i}, type: shell, command: make}}\n" for i in range(n)),
    "one handler for all": lambda n: "".join(
        f"  - {{id: s{i}, type: shell, command: make, on_error: {{goto: s{n - 1}}}}}\n" for i in range(n)
    ),
    "a condition each": lambda n: "".join(
        f'  - id: c{i}\n    type: condition\n    if: "{{{{ inputs.x }}}}"\n'
        f"    then: [{{id: a{i}, type: shell, command: make}}]\n    else: [{{id: b{i}, type: shell, command: make}}]\n"
        for i in range(n // 3)
    ),
    "jumps all over": lambda n: "".join(
        f"  - {{id: s{i}, type: shell, command: make, on_error: {{goto: s{i * 7919 % n}}}}}\n"
        for i in range(n)
    ),
}


def _chart(kind: str) -> Callable[[int], Work]:
    def make(count: int) -> Work:
        flow = flow_of(_CHARTS[kind](count))
        return lambda: _is(len(fold_into_columns(lay_out(flow)).boxes) >= count - 1, True)

    return make


def _secrets(count: int) -> Work:
    text = "no such thing " * 5_000 + "secret-000499"
    mask = Mask([f"secret-{number:06}" for number in range(count)])
    return lambda: _is(mask.text(text).endswith(" ***"), True)


def _different(count: int) -> Work:
    values = [*({"a": number} for number in range(count)), 1, True, "1", None, [1], [True]]
    return lambda: _is(problems(values, {"uniqueItems": True}), [])


def _wrong_names(count: int) -> Work:
    """After so many comparisons no near name is looked for."""

    def look() -> None:
        names = Nearest(f"step-number-{number}" for number in range(1000))
        found = [names.to(f"stpe-nmuber-{number}x") for number in range(count)]
        _is((bool(found[0]), found[-1]), (True, None))

    return look


def _is(found: object, expected: object) -> None:
    assert found == expected


GROWTH: dict[str, Growth] = {
    "reading a template": Growth.linear(_template, 100, 800),
    "calls one below the other": Growth.linear(_calls, 150, 1500),
    "applying fixes": Growth.linear(_fixes, 1000, 10_000),
    "comments that hide findings": Growth.linear(_comments, 1000, 10_000),
    "a plan with jumps back": Growth.linear(_plan, 50, 400),
    "a chart of a chain": Growth.linear(_chart("a chain"), 125, 1000),
    "a chart with one handler for all": Growth.linear(_chart("one handler for all"), 125, 1000),
    "a chart with a condition each": Growth.linear(_chart("a condition each"), 125, 1000),
    # Jumps all over the place cross each other more often the more there are.
    "a chart with jumps all over": Growth(_chart("jumps all over"), 125, 1000, 11),
    "hiding secrets in one text, whose number grows": Growth.constant(_secrets, 500, 5000),
    "a list of different values": Growth.linear(_different, 2000, 20_000),
    "suggestions for wrong names, of which there are more": Growth(_wrong_names, 20, 1000, 1.5),
}

LONG_RUNS = (
    "'" * 200_001,
    '"' + "\\" * 200_001,
    "#" * 200_000,
    "!" * 200_000,
    "&a " * 60_000,
    ": " * 100_000,
    ":" * 200_000,
    "%" * 200_000,
    "a: " + " " * 200_000 + "b",
    "[" + "," * 200_000,
    "a: [" + "x, " * 30_000,
    "- {{\n" * 20_000,
    "- {{ x }}\n" * 20_000,
    "- !t a\n" * 30_000,
    "- *a\n" * 30_000,
    "~: 1\n" * 30_000,
    "---\n" * 30_000,
    "a: &x " + "# note\n " * 20_000 + "b",
    "\t" * 200_000,
    "\r" * 200_000,
    "a" * 200_000 + ": b",
    "a: |\n" + " " * 200_000 + "\n",
)
"""Texts of one thing again and again, which a reader that looks back too often would take for ever to read."""
