"""Workers that die: the client's pipe stays, and each request is answered once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.front.wire import ERAS, HELLO, Wire, memory_of, wire
from tests.support import wait_until

both_eras = pytest.mark.parametrize("era", ERAS)


@pytest.fixture
def front(tmp_path: Path, era: str) -> Iterator[Wire]:
    with wire(tmp_path / "front", era) as made:
        made.greet()
        yield made


@both_eras
def test_a_worker_killed_between_calls_is_replaced_each_time(front: Wire, era: str) -> None:
    for number in range(3):
        front.kill_worker()
        assert front.text(front.call("echo", text=str(number))) == str(number)
    assert len(front.lines("starts")) == 4
    assert front.said().count("the worker died (SIGKILL)") == 3
    # The handshake is repeated, and its answers are not.
    handshakes = ["initialize", "notifications/initialized"] if era == "legacy" else []
    assert front.lines("handshakes") == handshakes * 4
    assert len([one for one in front.messages if "id" in one]) == 5


@pytest.mark.parametrize("answered", [True, False])
def test_a_client_that_tried_both_protocols_goes_on_with_the_newer_one(
    tmp_path: Path, answered: bool
) -> None:
    """One whose first question took long asks in the older way too. A worker that began so would refuse all else."""
    with wire(tmp_path / "front", "modern") as front:
        front.request("server/discover")
        front.send({"id": "old", "method": "initialize", "params": HELLO})
        front.ask("tools/list")
        if answered:
            front.answer(front.call("echo"))
        handshakes = len(front.lines("handshakes"))
        front.kill_worker()
        assert front.text(front.call("echo", text="on")) == "on"
        assert len(front.lines("handshakes")) == handshakes


@both_eras
def test_a_call_that_only_reads_is_repeated(front: Wire, era: str) -> None:
    number = front.call("slow")
    front.wait_for_call("slow")
    front.kill_worker()
    front.tell("release")
    assert front.text(number) == "slow"
    assert len(front.calls("slow")) == 2


@both_eras
def test_a_call_that_writes_is_not_repeated_and_its_answer_says_so(front: Wire, era: str) -> None:
    number = front.call("unsafe")
    front.wait_for_call("unsafe")
    front.kill_worker()
    answer = front.answer(number)["result"]
    assert answer["isError"] is True
    assert answer["content"][0]["text"] == (
        "unsafe: the server crashed while processing this request. It may or may not have been executed. "
        "Next: list_runs()"
    )
    assert answer.get("resultType") == ("complete" if era == "modern" else None)
    assert front.text(front.call("echo", text="on")) == "on"
    assert len(front.calls("unsafe")) == 1


@both_eras
def test_a_call_with_a_key_is_repeated_with_the_same_key(front: Wire, era: str) -> None:
    number = front.call("start")
    front.wait_for_call("start")
    front.kill_worker()
    front.wait_for_call("start", 2)
    front.tell("release")
    keys = [key for _, _, key in front.calls("start")]
    assert len(keys[0]) == 32
    assert set(keys) == {keys[0]}
    assert front.text(number) == keys[0]
    assert front.text(front.call("start")) != keys[0]


def test_a_key_of_the_client_is_kept(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        front.tell("release")
        assert front.text(front.call("start", meta={"wfc/requestKey": "mine"})) == "mine"


def test_only_tools_that_take_a_key_get_one(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        front.answer(front.call("echo"))
        assert front.calls("echo")[0][2] is None


@both_eras
def test_calls_are_repeated_also_for_a_client_that_never_listed_the_tools(tmp_path: Path, era: str) -> None:
    with wire(tmp_path / "front", era) as front:
        number = front.call("start")
        front.wait_for_call("start")
        front.answer(front.request("ping"))
        front.kill_worker()
        front.tell("release")
        assert front.text(number) == front.calls("start")[0][2]
        # The front asked for the list itself, and kept the answer.
        assert [one["id"] for one in front.messages if "id" in one] == [2, 1]


@both_eras
def test_a_call_that_kills_every_worker_is_given_up_after_two(front: Wire, era: str) -> None:
    number = front.call("die")
    answer = front.answer(number)["result"]
    assert "the server crashed 2 times while processing this request" in answer["content"][0]["text"]
    assert front.text(front.call("echo", text="on")) == "on"
    assert len(front.calls("die")) == 2


@both_eras
def test_a_request_that_is_no_call_gets_a_protocol_error_after_two_deaths(front: Wire, era: str) -> None:
    os.kill(front.worker(), signal.SIGSTOP)
    number = front.request("ping")
    front.kill_worker()
    front.answer(number)
    os.kill(front.worker(), signal.SIGSTOP)
    number = front.request("ping")
    front.tell("fatal", "kill")
    os.kill(front.worker(), signal.SIGKILL)
    error = front.answer(number)["error"]
    assert (error["code"], "crashed 2 times" in error["message"]) == (-32000, True)


def test_workers_that_die_at_once_are_given_up_and_tried_again_when_somebody_asks(tmp_path: Path) -> None:
    with wire(tmp_path / "front", "modern") as front:
        front.greet()
        front.tell("fatal", "kill")
        os.kill(front.worker(), signal.SIGKILL)
        wait_until(lambda: len(front.lines("starts")) == 7, "six workers")
        said = ""

        def gave_up() -> bool:
            nonlocal said
            said += front.said()
            return "waiting for the next request" in said

        wait_until(gave_up, "the end of the attempts")
        # One attempt for each who asks, and no loop.
        failed = front.answer(front.call("echo", text="no"))["result"]
        assert "the server can't be started" in failed["content"][0]["text"]
        assert len(front.lines("starts")) == 8
        (front.folder / "fatal").unlink()
        assert front.text(front.call("echo", text="yes")) == "yes"
        assert front.answer(front.call("echo", text="again"))["result"]["pid"] == front.worker()
        assert len(front.lines("starts")) == 9


def test_what_waits_when_workers_die_at_once_is_answered(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.tell("fatal", "kill")
        numbers = [
            front.request("initialize", {"protocolVersion": "2025-11-25"}),
            front.request("tools/list"),
        ]
        errors = [front.answer(number)["error"] for number in numbers]
        assert {error["code"] for error in errors} == {-32000}


def test_a_wrong_option_ends_the_front_with_the_status_of_its_worker(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        pass
    folder = tmp_path / "usage"
    folder.mkdir()
    (folder / "fatal").write_text("2", encoding="utf-8")
    with wire(folder) as front:
        assert front.process.wait(300) == 2
        assert len(front.lines("starts")) == 1
        wait_until(lambda: "no such option" in front.said())


def test_a_later_worker_that_ends_by_itself_is_replaced(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        front.tell("fatal", "3")
        os.kill(front.worker(), signal.SIGKILL)
        wait_until(lambda: len(front.lines("starts")) >= 2)
        (front.folder / "fatal").unlink()
        assert front.text(front.call("echo", text="on")) == "on"


@both_eras
def test_a_cancelled_call_is_not_repeated(front: Wire, era: str) -> None:
    number = front.call("slow")
    front.wait_for_call("slow")
    front.send({"method": "notifications/cancelled", "params": {"requestId": number}})
    wait_until(lambda: front.lines("cancelled") == [str(number)])
    front.kill_worker()
    front.tell("release")
    assert front.text(front.call("echo", text="on")) == "on"
    assert len(front.calls("slow")) == 1
    assert front.answers(number) == []


def test_a_call_that_is_cancelled_between_two_workers_never_reaches_the_second(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        front.tell("fatal", "kill")
        os.kill(front.worker(), signal.SIGKILL)
        wait_until(lambda: len(front.lines("starts")) >= 4)  # There are pauses now.
        number = front.call("echo")
        front.send({"method": "notifications/cancelled", "params": {"requestId": number}})
        front.wait_until_read()
        (front.folder / "fatal").unlink()
        assert front.text(front.call("echo", text="on")) == "on"
        assert [call[1] for call in front.calls("echo")] == [number + 1]


@both_eras
def test_progress_of_a_repeated_call_never_goes_back(front: Wire, era: str) -> None:
    number = front.call("steps", meta={"progressToken": "t"}, steps=3)
    front.wait_for(lambda one: one.get("params", {}).get("progress") == 3)
    front.kill_worker()
    front.wait_for_call("steps", 2)
    front.tell("release")
    front.answer(number)
    shown = [one["params"]["progress"] for one in front.named("notifications/progress")]
    assert shown == [1, 2, 3]


def test_a_subscription_goes_on_with_the_next_worker(tmp_path: Path) -> None:
    with wire(tmp_path / "front", "modern") as front:
        front.greet()
        number = front.request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        front.wait_for(lambda one: one.get("method") == "notifications/subscriptions/acknowledged")
        for kill in range(3):
            front.kill_worker()
            wait_until(lambda kill=kill: len(front.lines("listens")) == kill + 2)
        front.tell("announce")
        front.kill_worker()
        changed = front.wait_for(lambda one: one.get("method") == "notifications/tools/list_changed")
        assert changed["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": number}
        assert front.lines("listens") == [str(number)] * 5
        assert len(front.named("notifications/subscriptions/acknowledged")) == 1
        assert front.answers(number) == []
        front.send({"method": "notifications/cancelled", "params": {"requestId": number}})
        wait_until(lambda: front.lines("cancelled"))
        front.kill_worker()
        front.answer(front.call("echo"))
        assert len(front.lines("listens")) == 5


@both_eras
def test_calls_made_while_no_worker_lives_are_all_answered_in_order(front: Wire, era: str) -> None:
    os.kill(front.worker(), signal.SIGSTOP)
    numbers = [front.call("echo", text=str(number)) for number in range(200)]
    front.kill_worker()
    assert [front.text(number) for number in numbers] == [str(number) for number in range(200)]


def test_a_line_of_twenty_megabytes_passes_in_both_directions_and_is_repeated(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        text = "x" * 20_000_000
        assert front.text(front.call("echo", text=text)) == text
        os.kill(front.worker(), signal.SIGSTOP)
        number = front.call("echo", text=text)
        front.kill_worker()
        assert front.text(number) == text


def test_a_line_that_never_ends_is_refused_and_the_next_one_is_served(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        for _ in range(70):
            front.write(b"x" * 1_000_000)
        front.write(b"\n")
        refused = front.wait_for(lambda one: one.get("id") is None and "error" in one)
        assert "longer than 67,108,864 bytes" in refused["error"]["message"]
        assert front.text(front.call("echo", text="on")) == "on"


@pytest.mark.parametrize(
    "line",
    [b"nonsense", b"[1]", b"\xff\xfe", b'{"a":' * 100_000, b'"text"', b"{} {}"],
    ids=["words", "list", "bytes", "deep", "text", "two"],
)
def test_what_is_no_message_is_left_to_the_worker_to_refuse(line: bytes, tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        front.write(line + b"\n")
        refused = front.wait_for(lambda one: one.get("id") is None and "error" in one)
        assert refused["error"]["message"] == "not a message"
        assert front.text(front.call("echo", text="on")) == "on"


@pytest.mark.parametrize(
    "message",
    [
        {"id": 70, "method": "tools/call", "params": {"name": {"a": 1}, "_meta": []}},
        {"id": 70, "method": "tools/call", "params": []},
        {"id": 70, "method": "tools/call"},
        {"id": 70, "method": "subscriptions/listen", "params": {"notifications": []}},
        {"id": {}, "method": "ping"},
        {"id": None, "result": {}},
        {"id": "wfc-unknown", "result": {}},
        {"method": "notifications/cancelled", "params": {"requestId": []}},
        {"method": "notifications/cancelled"},
        {"method": 5, "id": 70},
        {},
    ],
    ids=str,
)
def test_odd_messages_do_not_end_the_front(message: dict[str, object], tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        front.send(message)
        # The stand-in is not made for these; a worker that dies of one is replaced.
        assert front.text(front.call("echo", text="on")) == "on"


def test_kills_under_load_lose_no_call(tmp_path: Path) -> None:
    """Calls in flight all the time, and workers killed as soon as they have answered what the one before left."""
    with wire(tmp_path / "front") as front:
        front.greet()
        numbers: list[int] = []
        kills = 0
        stop = threading.Event()

        def is_answered(sent: set[int]) -> bool:
            return sent <= front.answered()

        def kill() -> None:
            nonlocal kills
            while not stop.wait(0.3):
                front.kill_worker()
                kills += 1
                # Those sent after the kill included: a call that two workers die of is given up, not lost.
                wait_until(partial(is_answered, front.requested()))

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            while (len(numbers) < 5_000 or kills < 5) and killer.is_alive():
                numbers.append(front.call("echo", text=str(len(numbers))))
                if len(numbers) % 20 == 0:
                    front.answer(numbers[-10])
        finally:
            stop.set()
            killer.join()
        assert kills >= 5
        assert [front.text(number) for number in numbers] == [str(number) for number in range(len(numbers))]


def test_memory_and_descriptors_stay_flat(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        descriptors = Path(f"/proc/{front.process.pid}/fd")

        def work(count: int) -> None:
            for _ in range(count):
                front.answer(front.call("echo", text="x" * 10_000))
                front.messages.clear()
            front.kill_worker()
            front.answer(front.call("echo"))

        work(300)
        before, opened = memory_of(front.process.pid), len(list(descriptors.iterdir()))
        work(1_500)
        assert memory_of(front.process.pid) - before < 2_000
        assert len(list(descriptors.iterdir())) == opened


def test_dead_workers_leave_no_zombie(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        for _ in range(3):
            front.kill_worker()
            front.answer(front.call("echo"))
        children = Path(f"/proc/{front.process.pid}/task/{front.process.pid}/children")
        assert children.read_text(encoding="ascii").split() == [str(front.worker())]


def test_another_process_that_holds_the_pipe_open_does_not_hide_a_death(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        number = front.call("slow")
        front.wait_for_call("slow")
        # The front sees no end of the worker's output while this is open.
        with open(f"/proc/{front.worker()}/fd/1", "wb"):
            front.kill_worker()
            front.tell("release")
            assert front.text(number) == "slow"


def test_a_worker_that_closes_its_output_is_replaced(tmp_path: Path) -> None:
    with wire(tmp_path / "front") as front:
        front.greet()
        number = front.call("mute")
        assert "It may or may not have been executed" in front.text(number)
        assert front.text(front.call("echo", text="on")) == "on"
        assert front.said().count("the worker died (SIGKILL)") == 1
