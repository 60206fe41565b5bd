"""How the front ends: with its client, by a signal, or killed. It leaves no process behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.front.wire import ERAS, Wire, is_gone, memory_of, wire
from tests.support import PATIENCE, wait_until


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Wire]:
    with wire(tmp_path / "front") as made:
        made.greet()
        yield made


def wait_for_end(front: Wire) -> int:
    status = front.process.wait(PATIENCE)
    for pid in map(int, front.lines("starts")):
        wait_until(partial(is_gone, pid), f"the end of worker {pid}")
    return status


def test_it_ends_when_the_client_closes_the_pipe(front: Wire) -> None:
    assert front.end() == 0
    assert wait_for_end(front) == 0
    assert front.said() == ""


@pytest.mark.parametrize("era", ERAS)
def test_what_was_asked_before_the_pipe_was_closed_is_answered(tmp_path: Path, era: str) -> None:
    """As in `printf '...' | wfc serve`: the worker is not even there when the client has gone."""
    with wire(tmp_path / "front", era) as front:
        number = front.request("ping")
        assert front.end() == 0
        front.join()
        assert front.answer(number)["result"] == {}


def test_a_stopped_worker_is_waited_for_while_the_client_is_there(front: Wire) -> None:
    os.kill(front.worker(), signal.SIGSTOP)
    numbers = [front.call("echo", text=str(number)) for number in range(10)]
    os.kill(front.worker(), signal.SIGCONT)
    assert [front.text(number) for number in numbers] == [str(number) for number in range(10)]


def test_a_stopped_worker_is_killed_when_the_client_has_gone(front: Wire) -> None:
    os.kill(front.worker(), signal.SIGSTOP)
    front.call("echo")
    front.end()
    wait_for_end(front)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, -15), (signal.SIGHUP, -1), (signal.SIGINT, 130)]
)
def test_a_signal_ends_both_processes(front: Wire, number: int, status: int) -> None:
    front.process.send_signal(number)
    assert wait_for_end(front) == status
    assert "died" not in front.said()


def test_a_signal_ends_a_worker_that_is_stopped(front: Wire) -> None:
    os.kill(front.worker(), signal.SIGSTOP)
    front.process.send_signal(signal.SIGTERM)
    assert wait_for_end(front) == -15


def test_a_signal_between_two_workers_ends_the_front(front: Wire) -> None:
    front.tell("fatal", "kill")
    os.kill(front.worker(), signal.SIGKILL)
    wait_until(lambda: len(front.lines("starts")) >= 4)  # There are pauses now.
    front.process.send_signal(signal.SIGTERM)
    assert wait_for_end(front) == -15


def test_an_interrupt_that_was_to_be_ignored_is_ignored_by_both(tmp_path: Path) -> None:
    ignoring = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    with wire(tmp_path / "front", prepare=ignoring) as front:
        front.greet()
        front.process.send_signal(signal.SIGINT)
        os.kill(front.worker(), signal.SIGINT)
        assert front.text(front.call("echo", text="on")) == "on"
        assert len(front.lines("starts")) == 1


def test_a_killed_front_takes_its_worker_along(front: Wire) -> None:
    front.process.kill()
    assert wait_for_end(front) == -9


def test_a_client_that_reads_no_more_ends_the_front(tmp_path: Path) -> None:
    with wire(tmp_path / "front", reads=False) as front:
        assert front.process.stdout is not None
        front.process.stdout.close()
        front.request("ping")
        assert wait_for_end(front) == 0


def test_a_client_that_reads_nothing_does_not_fill_the_memory(tmp_path: Path) -> None:
    """The front stops reading on one side what it can't pass on to the other."""
    with wire(tmp_path / "front", reads=False) as front:
        number = front.call("flood")
        counts = [0]

        def stands_still() -> bool:
            counts.append(len(front.lines("flood")))
            return counts[-1] > 0 and counts[-100:] == [counts[-1]] * 100

        wait_until(stands_still)
        assert counts[-1] < 400
        assert memory_of(front.process.pid) < 60_000
        front.begin_reading()
        assert front.text(number) == "flood"
        assert len(front.named("notifications/message")) == 1_600
