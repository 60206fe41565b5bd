"""No test compares durations: whether one passes must not depend on the machine, nor on what else that does.

Work is counted (`tests/counting.py`), or timed by `make bench`, which fails nothing. A test that waits for an event
uses `wait_until` or `PATIENCE` of `tests/support.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import pytest

from tests.support import ROOT

CLOCKS = {
    "time": ("monotonic", "perf_counter", "process_time", "thread_time", "time", "clock_gettime"),
    "timeit": ("default_timer", "repeat", "timeit"),
    "os": ("times",),
}
RUSAGE = ("ru_utime", "ru_stime")
ALLOWED = {("tests/support.py", "wait_until")}
"""The one function that compares times, so that a test which waits for ever ends."""
TIMED = (
    "tests/bench/[!t]*.py",
    "tests/bench/*/*.py",
    "tests/torture/__main__.py",
    "tests/torture/long_*.py",
    "tests/torture/progress.py",
)
"""What only `make bench` and `make torture` run. Of tests/bench, `make test` runs the files called test_*."""

FIXTURES = ("tests/errors/*/**/*.py", "tests/golden/*/*.py", "tests/temporal/histories/**/*.py")


class Module:
    """One file, and the names in it that stand for clocks."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.tree = ast.parse(text)
        self.nodes = list(ast.walk(self.tree))
        self.modules: dict[str, str] = {}
        self.clocks: set[str] = set()
        self.imported: dict[str, tuple[str, str]] = {}
        """Names from other files: which, and as what they are known there."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                self.modules |= {one.asname or one.name: one.name for one in node.names if one.name in CLOCKS}
            elif isinstance(node, ast.ImportFrom) and node.module in CLOCKS:
                clocks = _with_nanoseconds(node.module)
                self.clocks |= {one.asname or one.name for one in node.names if one.name in clocks}
            elif isinstance(node, ast.ImportFrom) and node.module:
                file = node.module.replace(".", "/") + ".py"
                self.imported |= {one.asname or one.name: (file, one.name) for one in node.names}
        self.timers: set[str] = set()
        """Functions of this file that return times or durations."""

    def known(self, files: Mapping[str, Module]) -> set[str]:
        """Names of functions, of this file or imported, that return times or durations."""
        imported = {
            name
            for name, (file, there) in self.imported.items()
            if file in files and there in files[file].timers
        }
        return self.timers | imported

    def can_tell_time(self, known: set[str]) -> bool:
        is_usage = (isinstance(node, ast.Attribute) and node.attr in RUSAGE for node in self.nodes)
        return bool(self.modules or self.clocks or known) or any(is_usage)

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node

    def reads_a_clock(self, node: ast.expr, names: set[str]) -> bool:
        """Whether a time, or a function that gives one, is part of an expression."""
        return any(
            (isinstance(part, ast.Name) and part.id in names | self.clocks) or self._is_clock(part)
            for part in ast.walk(node)
        )

    def _is_clock(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Attribute):
            return False
        if node.attr in RUSAGE:
            return True
        module = self.modules.get(node.value.id) if isinstance(node.value, ast.Name) else None
        return module is not None and node.attr in _with_nanoseconds(module)

    def times_in(self, scope: ast.AST, known: set[str]) -> set[str]:
        """The names of a function or a file that hold times or durations: to a fixed point, in any order."""
        names = set(known)
        while True:
            found = {name for node in ast.walk(scope) for name in self._named(node, names)}
            if found <= names:
                return names
            names |= found

    def _named(self, node: ast.AST, names: set[str]) -> Iterator[str]:
        match node:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                targets = [target]
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                targets = [target]
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend"), args=[value]
            ):
                targets = [ast.Name(name)]
            case _:
                return
        if self.reads_a_clock(value, names):
            for target in targets:
                yield from _names(target)


def _names(target: ast.expr) -> Iterator[str]:
    """What an assignment gives a value to; an attribute belongs to something else."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _names(part)
        case ast.Starred(value=inner) | ast.Subscript(value=inner):
            yield from _names(inner)


def _with_nanoseconds(module: str) -> set[str]:
    return {name + end for name in CLOCKS[module] for end in ("", "_ns")}


def find_timers(files: Mapping[str, Module]) -> None:
    """Note in each file which of its functions return times: to a fixed point, since they call each other."""
    is_settled = False
    while not is_settled:
        is_settled = True
        for module in files.values():
            known = module.known(files)
            if not module.can_tell_time(known):
                continue
            for function in module.functions():
                names = module.times_in(function, known)
                returned = (
                    node.value for node in ast.walk(function) if isinstance(node, ast.Return | ast.Yield)
                )
                if function.name not in module.timers and any(
                    value is not None and module.reads_a_clock(value, names) for value in returned
                ):
                    module.timers.add(function.name)
                    is_settled = False


def timed(modules: list[Module]) -> list[str]:
    """Every comparison of times, and every deadline of Hypothesis, with its place."""
    files = {module.name: module for module in modules}
    find_timers(files)
    found: set[str] = set()
    for module in modules:
        known = module.known(files)
        if module.can_tell_time(known):
            found |= {f"{module.name}:{line}: compares durations" for line in _comparisons(module, known)}
        found |= {
            f"{module.name}:{node.value.lineno}: has a deadline"
            for node in module.nodes
            if isinstance(node, ast.keyword) and node.arg == "deadline" and _is_number(node.value)
        }
    return sorted(found)


def _comparisons(module: Module, known: set[str]) -> Iterator[int]:
    outside = ast.Module([*_outside_functions(module.tree)], [])
    outer = module.times_in(outside, known)
    allowed = {name for file, name in ALLOWED if file == module.name}
    scopes = [one for one in module.functions() if one.name not in allowed]
    for scope, names in [(outside, outer), *((one, module.times_in(one, outer)) for one in scopes)]:
        for node in ast.walk(scope):
            if isinstance(node, ast.Compare) and module.reads_a_clock(node, names):
                yield node.lineno


def _outside_functions(tree: ast.Module) -> Iterator[ast.stmt]:
    return (
        node
        for node in tree.body
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def test_no_test_compares_durations() -> None:
    left_out = {path for pattern in (*TIMED, *FIXTURES) for path in ROOT.glob(pattern)}
    paths = sorted({*(ROOT / "tests").rglob("*.py")} - left_out)
    modules = [Module(path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in paths]
    assert {"tests/support.py", "tests/bench/test_peers.py", "tests/torture/load.py"} <= {
        m.name for m in modules
    }
    assert timed(modules) == []


BAD: Mapping[str, str] = {
    "a difference in an assert": "import time\ndef f():\n b = time.monotonic()\n assert time.monotonic() - b < 5",
    "a name for the difference": "import time\ndef f():\n b = time.time()\n took = time.time() - b\n assert took < 5",
    "processor time": "from time import process_time\ndef f():\n assert process_time() < 5",
    "time of the thread": "import time\ndef f():\n assert 1 > time.thread_time()",
    "nanoseconds": "from time import perf_counter_ns as now\ndef f():\n b = now()\n assert now() - b < 5",
    "another name of the module": "import time as t\ndef f():\n assert t.perf_counter() < 5",
    "the best of several": (
        "import time\ndef f():\n all = []\n for _ in range(3):\n  b = time.time()\n  all.append(time.time() - b)\n"
        " assert min(all) < 5"
    ),
    "a ratio": "from time import process_time as p\ndef f():\n a = p()\n b = p()\n assert (b - a) / a < 3",
    "a function that measures": (
        "import time\ndef cost(w):\n b = time.time()\n w()\n return time.time() - b\ndef f():\n assert cost(f) < 3"
    ),
    "a function of a function that measures": (
        "import time\ndef cost():\n return time.time()\ndef twice():\n return 2 * cost()\ndef f():\n assert twice() < 3"
    ),
    "a tuple from a function that measures": (
        "import time\ndef cost():\n return 1, time.time()\ndef f():\n found, took = cost()\n assert took < 3"
    ),
    "a function that measures as an argument": (
        "import time\ndef cost():\n return time.time()\ndef f():\n assert ratio(cost) < 3"
    ),
    "a loop that polls by itself": "import time\ndef f():\n end = time.time() + 5\n while time.time() < end:\n  pass",
    "no assert": "import time\ndef f():\n if time.time() > 5:\n  raise AssertionError",
    "seconds of a child": "import resource\ndef f():\n assert resource.getrusage(0).ru_utime < 2",
    "timeit": "import timeit\ndef f():\n assert timeit.timeit('1') < 2",
    "a method": "import time\nclass A:\n def f(self):\n  assert time.time() < 2",
    "a coroutine": "import time\nasync def f():\n assert time.time() < 2",
    "the file itself": "import time\nassert time.time() < 2",
    "a walrus": "import time\ndef f():\n assert (took := time.time()) and took < 2",
    "a deadline of Hypothesis": "@settings(deadline=5_000)\ndef f():\n pass",
}
GOOD: Mapping[str, str] = {
    "a time that is only told": "import time\ndef f():\n b = time.time()\n print(time.time() - b)",
    "a time given to the code under test": "import time\ndef f(box):\n box.now = time.time()\n assert box.runs == 1",
    "a pause": "import time\ndef f():\n time.sleep(0.1)\n assert 1 < 2",
    "a duration that the product tells": "def f(reply):\n assert reply['seconds_left'] == 30",
    "memory": "import resource\ndef f():\n assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 5",
    "no deadline": "@settings(deadline=None)\ndef f():\n pass",
    "another time": "def f(time):\n assert time.monotonic() < 5",
}


@pytest.mark.parametrize("what", BAD)
def test_a_comparison_of_durations_is_found(what: str) -> None:
    assert timed([Module("tests/test_a.py", BAD[what])])


@pytest.mark.parametrize("what", GOOD)
def test_anything_else_is_left_alone(what: str) -> None:
    assert timed([Module("tests/test_a.py", GOOD[what])]) == []


def test_a_function_of_another_file_that_measures_is_known() -> None:
    measuring = Module("tests/costs.py", "import time\ndef cost():\n return time.time()")
    using = Module("tests/test_a.py", "from tests.costs import cost\ndef f():\n assert cost() < 3")
    assert timed([measuring, using]) == ["tests/test_a.py:3: compares durations"]


def test_only_the_function_that_waits_may_compare_times() -> None:
    text = "import time\ndef {}():\n while time.time() < 5:\n  pass"
    assert timed([Module("tests/support.py", text.format("wait_until"))]) == []
    assert timed([Module("tests/support.py", text.format("other"))])
    assert timed([Module("tests/test_a.py", text.format("wait_until"))])
