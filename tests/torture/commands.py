"""Servers that run commands themselves, killed: no command is run again unless its own retry rule says so.

Each command writes down that it begins and that it ends, so what really happened can be counted, whatever the store
says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from threading import Timer

from tests.execute.conftest import is_alive
from tests.execute.serving import served_modules
from tests.runtime.support import modules_of
from tests.support import wait_until
from tests.torture.servers import Died, Nursery, Reply, Server
from wfc_runtime.registry import Registry
from wfc_runtime.service.interface import actions_of
from wfc_runtime.service.sqlite import SqliteService
from wfc_runtime.store import Store

_QUICK = "quick"
"""While there is a file of this name, commands take a moment. Else they run until somebody ends them."""


def _command(step: str) -> str:
    return (
        f'echo "$$ + {step}" >> did; [ -f {_QUICK} ] && sleep 0.05 || sleep 1000; echo "$$ - {step}" >> did'
    )


def _block(block: str, after: str) -> str:
    return (
        f"  - {{id: {block}, type: Shell, inputs: {{command: '{_command(block)}'}}, depends_on: [{after}]}}\n"
    )


def _step(step: str) -> str:
    return f"  - {{id: {step}, type: shell, command: '{_command(step)}', retry: {{max_attempts: 9}}}}\n"


CHAIN = "name: chain\nblocks:\n" + _block("a", "") + _block("b", "a") + _block("c", "a") + _block("d", "b, c")
"""One block alone, two side by side, one after both. There is no retry rule."""
AGAIN = "name: again\nversion: 1.0.0\nsteps:\n" + _step("a") + _step("b")
"""Steps that may be tried often."""


def project(folder: Path) -> Path:
    generated = folder / "generated"
    generated.mkdir()
    for name, text in {**modules_of(CHAIN), **served_modules(AGAIN)}.items():
        (generated / name).write_text(text, encoding="utf-8")
    return generated


_LOOKED = {"stdout": "", "stderr": "", "exit_code": 0}


@dataclass
class Figures:
    runs: int = 0
    kills: int = 0
    commands: int = 0
    interrupted: int = 0
    ends: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {end}" for end, count in self.ends.most_common())
        return (
            f"{self.kills} kills, {self.runs} runs ({ends}), {self.commands} commands, "
            f"{self.interrupted} told as interrupted: none run again without its rule, none left behind"
        )


@dataclass
class Told:
    """One run that has ended, in the store and in what its commands wrote down."""

    reply: Reply
    events: list[Reply]
    lines: list[list[str]]
    deaths: int

    def visits(self, event: str, step: str) -> list[str]:
        """The visits of a step that ended so."""
        # What the agent reports of an interrupted visit is not the end of its command.
        ends = [one for one in self.events if event != "submitted" or one.get("actor") == "server"]
        visits = [one["step_id"] for one in ends if one["event"] == event]
        if event == "interrupted":
            visits += [visit for one in self.events for visit in one.get("broken_off", ())]
        return [visit for visit in visits if visit.partition("@")[0] == step]

    def did(self, what: str, step: str) -> int:
        """How often the command of a step began (`+`), or ended (`-`)."""
        return sum(line[1:] == [what, step] for line in self.lines)


def work(
    nursery: Nursery,
    generated: Path,
    folder: Path,
    workflow: str,
    deaths: list[int],
    around: Callable[[Server, Path], None] = lambda server, place: None,
) -> Told:
    """Servers that die one after the other, each when it has come to so many writes, and one that lives."""
    place = Path(mkdtemp(prefix=f"{workflow}-", dir=folder))
    works_in = place / "place"
    works_in.mkdir()
    for name in (_QUICK, "did"):
        (works_in / name).touch()
    fatal, died, run = iter(deaths), 0, ""
    while True:
        server = nursery.server(place, next(fatal, 0), place / "notes", works_in)
        try:
            around(server, works_in)
            runs = server.call("list_runs", status="all")["runs"]
            assert len(runs) <= 1
            if runs:
                run = runs[0]["workflow_id"]
                reply = server.call("get_workflow_status", workflow_id=run)
            else:
                reply = server.call("start_workflow", workflow=workflow)
                run = reply["workflow_id"]
            while interrupted := [one for one in actions_of(reply) if "interrupted_since" in one]:
                # The agent looks and reports. It never has the command executed again.
                visit = interrupted[0]["step_id"]
                server.call("submit_result", workflow_id=run, step_id=visit, result=_LOOKED)
                # The reply of a submit names the other pending actions only by step id.
                reply = server.call("get_workflow_status", workflow_id=run)
            assert reply["status"] in ("completed", "failed"), reply
            break
        except Died:
            died += 1
            assert died < 50, "it never ends"
        finally:
            server.kill()
            server.gone()
    service = SqliteService(Store(place / "state.db"), Registry(generated))
    events = service.history(run, limit=500)["events"]
    claims = service.store.queries.claims(1)
    service.close()
    assert claims == [], "a claim is left"
    lines = [line.split() for line in (works_in / "did").read_text().splitlines()]
    return Told(reply, events, lines, died)


def check(told: Told, figures: Figures) -> None:
    """What the store says is what happened."""
    assert [event["seq"] for event in told.events] == list(range(1, len(told.events) + 1)), (
        "history has a gap"
    )
    for step in "abcd":
        done, broken = told.visits("submitted", step), told.visits("interrupted", step)
        assert len({*done, *broken}) == len(done) + len(broken), "a visit has ended twice"
        assert len(done) <= told.did("-", step) <= told.did("+", step) <= len(done) + len(broken), (
            f"{step}: {told.lines}, but {done} done and {broken} interrupted"
        )
        figures.interrupted += len(broken)
    _wait_for_their_ends(told.lines)
    figures.runs += 1
    figures.kills += told.deaths
    figures.commands += sum(line[1] == "+" for line in told.lines)
    figures.ends[told.reply.get("error", {}).get("code", told.reply["status"])] += 1


def _wait_for_their_ends(lines: list[list[str]]) -> None:
    """A command that outlived its server would sleep for longer than anybody waits here."""
    pids = {int(line[0]) for line in lines}
    wait_until(lambda: not any(map(is_alive, pids)), "the end of the commands")


def points_of(nursery: Nursery, generated: Path, folder: Path, workflow: str, figures: Figures) -> int:
    """How many writes an undisturbed run comes by."""
    told = work(nursery, generated, folder, workflow, [])
    check(told, figures)
    assert told.reply["status"] == "completed"
    [notes] = folder.glob(f"{workflow}-*/notes")
    return len(notes.read_text().split())


def kill_anytime(
    nursery: Nursery, generated: Path, folder: Path, workflow: str, random: Random, figures: Figures
) -> None:
    """Killed from outside, some moments after the server has come up, again and again."""
    timers: list[Timer] = []
    left = random.randint(1, 4)

    def around(server: Server, place: Path) -> None:
        nonlocal left
        if left and random.random() < 0.5:
            (place / _QUICK).unlink(missing_ok=True)
        else:
            (place / _QUICK).touch()
        if left:
            left -= 1
            timers.append(Timer(random.random() / 3, server.kill))
            timers[-1].start()

    told = work(nursery, generated, folder, workflow, [], around)
    for timer in timers:
        timer.join()
    check(told, figures)
