"""Work on many files, spread over processes where that pays.

Each process is a fork that has all files in memory already, so that what goes from one file to another (calls, names)
is there in every one of them. It takes every so-manieth file and sends back what it found; the order of the results
is that of the files, however they were shared out.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TypeVar

from wfc.unit import Unit
from wfc.yaml import Source

T = TypeVar("T")

_WORTH_IT = 60_000
"""Characters of source that keep a process busy for about ten times as long as it takes to start one."""
_MOST = 8


def spread(
    work: Callable[[Unit], T],
    units: Sequence[Unit],
    processes: int,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> list[T]:
    """What `work` makes of each unit, with the help of at most so many processes.

    `progress` hears now and then how many are done, of how many.
    """
    characters = sum(len(unit.source.text) for unit in units)
    number = min(processes, _MOST, len(units), characters // _WORTH_IT)
    if number < 2 or not _can_fork():
        return [_told(work, unit, progress, done, len(units)) for done, unit in enumerate(units, 1)]
    shares = [units[start::number] for start in range(number)]
    with _helpers(work, shares[1:], units) as answers:
        # The helpers are about as far as we are.
        mine = [
            _told(work, unit, progress, min(done * number, len(units)), len(units))
            for done, unit in enumerate(shares[0], 1)
        ]
        found = [mine]
        for share, read in zip(shares[1:], answers, strict=True):
            done = read()
            # A helper that came to grief leaves its share to us: then what is wrong shows here, as it would alone.
            found.append([work(unit) for unit in share] if done is None else done)
    return [found[index % number][index // number] for index in range(len(units))]


def _told(
    work: Callable[[Unit], T], unit: Unit, progress: Callable[[int, int], None], done: int, of: int
) -> T:
    result = work(unit)
    progress(done, of)
    return result


def _can_fork() -> bool:
    return sys.platform == "linux" and threading.active_count() == 1


@contextmanager
def _helpers(
    work: Callable[[Unit], T], shares: list[Sequence[Unit]], units: Sequence[Unit]
) -> Iterator[list[Callable[[], list[T] | None]]]:
    """A process for each share. None of them outlives this, however it ends."""
    known = _Known(units)
    children: list[int] = []
    pipes: list[int] = []

    def start(share: Sequence[Unit]) -> Callable[[], list[T] | None]:
        ours, theirs = os.pipe()
        pipes.append(ours)
        child = os.fork()
        if child == 0:
            _help(work, share, theirs, known)
        children.append(child)
        os.close(theirs)
        return lambda: known.load(_all_of(ours))

    try:
        yield [start(share) for share in shares]
    finally:
        for pipe in pipes:
            os.close(pipe)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _help(work: Callable[[Unit], T], share: Sequence[Unit], pipe: int, known: _Known) -> NoReturn:
    """Be a helper: work, answer, and end without a word, whatever happens."""
    try:
        data = known.dump([work(unit) for unit in share])
        with open(pipe, "wb") as file:
            file.write(data)
    finally:
        os._exit(0)


def _all_of(pipe: int) -> bytes:
    with open(pipe, "rb", closefd=False) as file:
        return file.read()


class _Known:
    """Results on their way between processes: files that both have are named, not copied."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._things: list[Unit | Source] = [*units, *(unit.source for unit in units)]
        self._numbers = {id(thing): number for number, thing in enumerate(self._things)}

    def dump(self, results: list[Any]) -> bytes:
        import pickle

        class Pickler(pickle.Pickler):
            def persistent_id(self, thing: Any) -> int | None:
                return numbers.get(id(thing)) if isinstance(thing, Unit | Source) else None

        numbers = self._numbers
        stream = io.BytesIO()
        Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(results)
        return stream.getvalue()

    def load(self, data: bytes) -> list[Any] | None:
        """None where the helper came to no result."""
        import pickle

        class Unpickler(pickle.Unpickler):
            def persistent_load(self, number: int) -> Unit | Source:
                return things[number]

        things = self._things
        if not data:
            return None
        results: list[Any] = Unpickler(io.BytesIO(data)).load()
        return results
