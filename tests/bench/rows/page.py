"""The live page: its size, what it costs, and how soon it shows what another process did."""

from __future__ import annotations

import gzip
import json
import os
import re
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import wfc_runtime.page
from tests.bench.measure import RUNS, Row
from tests.bench.workloads import workflow
from tests.runtime.support import OK, compile_to, steps
from tests.temporal_server import start_server
from wfc_runtime.page.feed import EVERY
from wfc_runtime.registry import Registry
from wfc_runtime.service.pictures import svg_of
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.service.temporal.engine import TemporalService
from wfc_runtime.service.temporal.modules import Modules
from wfc_runtime.service.temporal.settings import TemporalSettings
from wfc_runtime.service.temporal.worker import WorkerThread
from wfc_runtime.store import Store

CHROMIUM = shutil.which("chromium")
STATIC = Path(wfc_runtime.page.__file__).parent / "static"
LOOP = steps(
    "{id: turn, type: while, needs_state: [n], if: '{{ state.n.exit_code == 0 }}', max_iterations: 20000,"
    " steps: [{id: go, type: shell, command: make, output_to: n}]}",
    head="initial_state: {n: {exit_code: 0, stdout: '', stderr: ''}}",
)
_TABS = 10
# In the browser: the moments at which the list is in the document, and at which it has been painted.
_STOOD = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("tr[data-row], .events li")) return;
  observer.disconnect();
  window.stood = performance.now();
  requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""
_PAINTED = """() => new Promise((done) => {
  const look = () => window.painted ? done(window.painted) : setTimeout(look, 5);
  look();
})"""
# The document itself is no resource.
_ASKED = """1 + performance.getEntriesByType("resource").filter(
  (one) => one.name.startsWith("http") && one.startTime <= window.stood).length"""
# What the browser received, the document included. What its cache had counts as received.
_SENT = """["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
  .filter((one) => one.name.startsWith("http")).reduce((sum, one) => sum + one.encodedBodySize, 0)"""


def rows() -> Iterator[Row]:
    sent = [path for path in STATIC.rglob("*") if path.suffix in (".html", ".js", ".css")]
    size = sum(len(gzip.compress(path.read_bytes())) for path in sent) / 1000
    yield Row("page: HTML, JS and CSS, compressed", size, 60, "kB", digits=0)
    package = STATIC.parent
    files = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    added = sum(len(gzip.compress(path.read_bytes())) for path in files) / 1000
    yield Row("page: what it adds to the wheel", added, 100, "kB", digits=0)
    with tempfile.TemporaryDirectory() as folder:
        yield from _chart(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield from _feed(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield from _in_browser(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        yield _on_temporal(Path(folder))


def _chart(folder: Path) -> Iterator[Row]:
    compile_to(folder, workflow("long", 995))
    [module] = Registry(folder).modules()
    for words, goal in (("drawn", 1.5), ("again", 0.2)):
        began = time.perf_counter()
        svg_of(module)
        yield Row(f"page: chart of 1,000 steps, {words}", time.perf_counter() - began, goal, "s")


def _project(folder: Path) -> SqliteService:
    (folder / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    compile_to(folder / "generated", LOOP)
    # Only filled here: durability is not what is measured.
    return SqliteService(Store(folder / ".wfc" / "state.db", durable=False), Registry(folder / "generated"))


def _feed(folder: Path) -> Iterator[Row]:
    service = _project(folder)
    run = service.start("w")["workflow_id"]
    cursor = service.changes()["cursor"]
    began = time.process_time()
    for _ in range(1000):
        service.changes(cursor)
    each = (time.process_time() - began) / 1000
    yield Row("page: a look of the feed, of a core", 100 * each / EVERY, 1, "%", f"{each * 1e6:.0f} us each")
    service.close()
    quiet = _step_time(folder, run)
    with _served(folder) as (address, key):
        watching = [_stream(address, key) for _ in range(_TABS)]
        watched = _step_time(folder, run)
        for one in watching:
            one.kill()
            one.wait()
    yield Row(f"page: a durable step while {_TABS} tabs watch", watched / quiet, 1.1, digits=2)


def _step_time(folder: Path, run: str) -> float:
    """Seconds of a durable step, the median."""
    service = SqliteService.open(folder / ".wfc" / "state.db", folder / "generated")
    times = []
    for _ in range(200):
        step = service.status(run)["action"]["step_id"]
        began = time.perf_counter()
        service.submit(run, step, OK)
        times.append(time.perf_counter() - began)
    service.close()
    return statistics.median(times)


def _stream(address: str, key: str) -> subprocess.Popen[bytes]:
    program = (
        "import sys, urllib.request as u;"
        "r = u.urlopen(u.Request(sys.argv[1] + '/api/changes', headers={'Authorization': 'Bearer ' + sys.argv[2]}));"
        "[None for _ in r]"
    )
    return subprocess.Popen([sys.executable, "-c", program, address, key])


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, str]]:
    command = [sys.executable, "-m", "wfc", "ui", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = re.search(r"(http://\S+)/#key=(\S+)", process.stderr.readline())
        assert found is not None
        asked = urllib.request.Request(
            f"{found[1]}/api/session",
            json.dumps({"key": found[2]}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked) as reply:
            yield found[1], json.load(reply)["key"]
    finally:
        process.terminate()
        process.wait()


_NAMES = (
    ("page: requests before the list stands", 8, ""),
    ("page: first paint of the list, 10,000 runs", 0.3, "s"),
    ("page: list of 10,000 runs against 50", 1.3, "x"),
    ("page: run with 10,000 events against 100", 2, "x"),
    ("page: run with 10,000 events, painted", 0.5, "s"),
    ("page: run with 10,000 events, sent", 200, "kB"),
    ("page: commit elsewhere to changed pixel, p95", 0.15, "s"),
)


def _in_browser(folder: Path) -> Iterator[Row]:
    if CHROMIUM is None:
        yield from (Row(name, None, goal, unit, "no chromium here") for name, goal, unit in _NAMES)
        return
    from playwright.sync_api import sync_playwright

    service = _project(folder)
    for _ in range(50):
        service.start("w")
    with sync_playwright() as playwright, _served(folder) as (address, key):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context()
        context.add_init_script(f"localStorage.setItem('wfc.key', '{key}');{_STOOD}")
        tab = context.new_page()

        def opened(path: str) -> float:
            tab.goto(f"{address}{path}")
            tab.wait_for_selector("tr[data-row], .events li")
            # The policy of the page forbids what `wait_for_function` does.
            return float(tab.evaluate(_PAINTED)) / 1000

        few = _median(lambda: opened("/runs"))
        run = _long_run(service, 10_000)
        short = _long_run(service, 100)
        for _ in range(10_000):
            service.start("w")
        opened("/runs")
        # A request is listed when it has been answered.
        tab.wait_for_selector(".live.is-live")
        before = tab.evaluate(_ASKED)
        many = _median(lambda: opened("/runs"))
        long_ = _median(lambda: opened(f"/runs/{run}/history"))
        tab.wait_for_selector(".live.is-live")
        sent = tab.evaluate(_SENT) / 1000
        little = _median(lambda: opened(f"/runs/{short}/history"))
        delays = _delays(tab, address, service)
        browser.close()
    service.close()
    measured = (before, many, many / few, long_ / little, long_, sent, delays)
    for (name, goal, unit), found in zip(_NAMES, measured, strict=True):
        yield Row(name, found, goal, unit, digits=0 if not unit else 2)


def _on_temporal(folder: Path) -> Row:
    """Like the last one, on Temporal, of which no other process tells that something has changed."""
    name, goal = "page: commit elsewhere to changed pixel on Temporal, p95", 2.5
    if CHROMIUM is None:
        return Row(name, None, goal, "s", "no chromium here")
    from playwright.sync_api import sync_playwright

    queue = f"bench-{secrets.token_hex(4)}"
    settings = TemporalSettings(address=start_server(os.getpid()), task_queue=queue)
    where = f'address = "{settings.address}"\ntask_queue = "{queue}"\n'
    temporal = f'[tool.wfc]\nengine = "temporal"\n[tool.wfc.temporal]\n{where}'
    (folder / "pyproject.toml").write_text(temporal, encoding="utf-8")
    compile_to(folder / "generated", LOOP)
    modules = Modules(Registry(folder / "generated"), folder / "kept")
    worker, service = WorkerThread(settings, modules), TemporalService(settings, modules)
    try:
        with sync_playwright() as playwright, _served(folder) as (address, key):
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            context = browser.new_context()
            context.add_init_script(f"localStorage.setItem('wfc.key', '{key}')")
            found = _delays(context.new_page(), address, service, 20)
            browser.close()
    finally:
        service.close()
        worker.close()
    return Row(name, found, goal, "s", digits=2)


def _median(work: Callable[[], float]) -> float:
    return statistics.median(work() for _ in range(RUNS))


def _long_run(service: SqliteService, events: int) -> str:
    reply = service.start("w")
    for _ in range(events - 1):
        reply = service.submit(reply["workflow_id"], reply["action"]["step_id"], OK)
    return str(reply["workflow_id"])


def _delays(tab: Any, address: str, service: Any, times: int = 100) -> float:
    """Seconds from a commit of this process to the row that shows it, the 95th percentile."""
    reply = service.start("w")
    run = reply["workflow_id"]
    tab.goto(f"{address}/runs?q={run}")
    tab.wait_for_selector(f"tr[data-run='{run}']")
    tab.wait_for_selector(".live.is-live")
    found = []
    for _ in range(times):
        reply = service.submit(run, reply["action"]["step_id"], OK)
        began = time.perf_counter()
        tab.wait_for_selector(f"tr[data-run='{run}'] >> text=/{re.escape(reply['action']['step_id'])}$/")
        found.append(time.perf_counter() - began)
    return sorted(found)[times * 95 // 100 - 1]
