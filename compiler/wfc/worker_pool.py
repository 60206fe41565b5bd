"""Run work on many files in several processes, where that saves time.

Each worker is a fork that has all files in memory, so that references between files (calls, names) resolve in every
worker. The parent does the first file; of the others, worker k of n takes every n-th, starting with the k-th, and sends
back its results. The results are in the order of the files.
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

from wfc.project import SourceFile
from wfc.yaml import Source

T = TypeVar("T")

_WORTH_IT = 60_000
"""Characters of source that occupy a process for about ten times as long as starting it takes."""
_MOST = 8


def run_in_workers(
    work: Callable[[SourceFile], T],
    files: Sequence[SourceFile],
    processes: int,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> list[T]:
    """The result of `work` for each file, with at most `processes` processes.

    `progress` is called from time to time with the number of files done and their total.
    """
    characters = sum(len(file.source.text) for file in files)
    # The first file is done before the fork, so only the others are shared out.
    number = min(processes, _MOST, len(files) - 1, characters // _WORTH_IT)
    if number < 2 or not _can_fork():
        return [
            _work_and_report(work, file, progress, done, len(files)) for done, file in enumerate(files, 1)
        ]
    # The first file is done before the fork: it compiles patterns and fills caches, which takes twice as long as the
    # work itself, and the workers inherit them.
    first, rest = work(files[0]), files[1:]
    shares = [rest[start::number] for start in range(number)]
    with _workers(work, shares[1:], files) as answers:
        # Workers report nothing until they end; they are assumed to be as far as this process.
        mine = [
            _work_and_report(work, file, progress, min(1 + done * number, len(files)), len(files))
            for done, file in enumerate(shares[0], 1)
        ]
        found = [mine]
        for share, read in zip(shares[1:], answers, strict=True):
            done = read()
            # If a worker crashes, its share runs here, and the error appears as it would in one process.
            found.append([work(file) for file in share] if done is None else done)
    return [first, *(found[index % number][index // number] for index in range(len(rest)))]


def _work_and_report(
    work: Callable[[SourceFile], T],
    file: SourceFile,
    progress: Callable[[int, int], None],
    done: int,
    of: int,
) -> T:
    result = work(file)
    progress(done, of)
    return result


def _can_fork() -> bool:
    # A fork copies only the calling thread: a lock that another one holds would never be released.
    return sys.platform == "linux" and threading.active_count() == 1


@contextmanager
def _workers(
    work: Callable[[SourceFile], T], shares: list[Sequence[SourceFile]], files: Sequence[SourceFile]
) -> Iterator[list[Callable[[], list[T] | None]]]:
    """Start a worker process for each share. All of them have exited when the context ends, even after an exception."""
    known = _SharedPickling(files)
    children: list[int] = []
    pipes: list[int] = []

    def start(share: Sequence[SourceFile]) -> Callable[[], list[T] | None]:
        ours, theirs = os.pipe()
        pipes.append(ours)
        child = os.fork()
        # The child never returns from this call.
        if child == 0:
            _serve(work, share, theirs, known)
        children.append(child)
        os.close(theirs)
        return lambda: known.load(_read_all(ours))

    try:
        yield [start(share) for share in shares]
    finally:
        # Also if an exception ends the context: no worker may outlive it.
        for pipe in pipes:
            os.close(pipe)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _serve(
    work: Callable[[SourceFile], T], share: Sequence[SourceFile], pipe: int, known: _SharedPickling
) -> NoReturn:
    """The body of a worker process: work, send the results, exit. It prints no errors: the parent repeats the work."""
    try:
        data = known.dump([work(source_file) for source_file in share])
        with open(pipe, "wb") as file:
            file.write(data)
    finally:
        # Without cleaning up, which is the parent's business: `atexit` handlers and buffers were copied by
        # the fork.
        os._exit(0)


def _read_all(pipe: int) -> bytes:
    with open(pipe, "rb", closefd=False) as file:
        return file.read()


class _SharedPickling:
    """Pickling between the processes: files that both sides have are sent as numbers, not copied."""

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self._things: list[SourceFile | Source] = [*files, *(file.source for file in files)]
        self._numbers = {id(thing): number for number, thing in enumerate(self._things)}

    def dump(self, results: list[Any]) -> bytes:
        import pickle

        class Pickler(pickle.Pickler):
            def persistent_id(self, thing: Any) -> int | None:
                # By identity, because both sides have the same objects in the same order.
                return numbers.get(id(thing)) if isinstance(thing, SourceFile | Source) else None

        numbers = self._numbers
        stream = io.BytesIO()
        Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(results)
        return stream.getvalue()

    def load(self, data: bytes) -> list[Any] | None:
        """The results of a worker, or None if it sent none."""
        import pickle

        class Unpickler(pickle.Unpickler):
            def persistent_load(self, number: int) -> SourceFile | Source:
                return things[number]

        things = self._things
        if not data:
            return None
        results: list[Any] = Unpickler(io.BytesIO(data)).load()
        return results
