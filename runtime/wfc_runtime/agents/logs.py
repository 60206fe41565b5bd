"""Logs of calls: the output of each agent, in files beside the store, which are deleted with their run."""

from __future__ import annotations

import json
import os
import shutil
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import IO

from wfc_runtime.machine.redaction import NO_MASK, Mask

LOG_BYTES = 1024 * 1024
RUN_BYTES = 64 * 1024 * 1024


def log_folder(store: Path, root: str) -> Path:
    """The logs of a root run and its children. A run id is a safe name for a folder."""
    return store.parent / "agents" / root


def erase_logs(store: Path, root: str) -> None:
    shutil.rmtree(log_folder(store, root), ignore_errors=True)


class CallLog:
    """A file of JSON lines with the beginning and the end of a program's output, with secrets redacted."""

    def __init__(self, folder: Path, visit: str, mask: Mask = NO_MASK, limit: int = LOG_BYTES) -> None:
        self._mask = mask
        self._half = limit // 2
        self._written = 0
        self._left_out = 0
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.path, self.number, self._file = _opened(folder, visit)

    def add(self, line: str) -> None:
        data = self._mask.text(line).encode("utf-8", "replace") + b"\n"
        if self._file is None:
            return
        if not self._tail and self._written + len(data) <= self._half:
            self._write(data)
            return
        self._tail.append(data)
        self._tail_bytes += len(data)
        while self._tail_bytes > self._half and self._tail:
            gone = len(self._tail.popleft())
            self._tail_bytes -= gone
            self._left_out += gone

    def close(self) -> None:
        if self._file is None:
            return
        if self._left_out:
            self._write(json.dumps({"type": "wfc", "left_out_bytes": self._left_out}).encode() + b"\n")
        for data in self._tail:
            self._write(data)
        self._file.close()

    def _write(self, data: bytes) -> None:
        # A full disk must not end the call: the result matters, and the log is optional.
        with suppress(OSError):
            assert self._file is not None
            self._file.write(data)
            self._file.flush()
            self._written += len(data)


def _opened(folder: Path, visit: str) -> tuple[Path | None, int, IO[bytes] | None]:
    """A new file for the next call of a visit, and its number. No file if the run has used up its space."""
    number = 1
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        while (path := folder / f"{visit}.{number}.jsonl").exists():
            number += 1
        if _size(folder) >= RUN_BYTES:
            return None, number, None
        return path, number, os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
    except OSError:
        return None, number, None


def _size(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*.jsonl"))
