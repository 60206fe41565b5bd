"""What a command prints, kept within bounds: the beginning and the end, and how much there was in between."""

from __future__ import annotations

from wfc_runtime.contract import Json
from wfc_runtime.machine.values import size_of

_MARK = "\n[... {:,} bytes left out ...]\n"


class Captured:
    """One stream. Memory stays bounded however much comes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room < len(data) else b""
        if len(self._tail) > 2 * self._limit:
            del self._tail[: -self._limit]

    def text(self) -> tuple[str, bool]:
        """All of it or, where that is too long as JSON, its two ends; and whether something was left out."""
        if self.total <= self._limit:
            whole = self._head.decode("utf-8", "replace")
            if size_of(whole) <= self._limit:
                return whole, False
        everything = bytes(self._head + self._tail[-self._limit :])
        keep = self._limit // 2
        while True:
            head, tail = _clean_end(everything[:keep]), _clean_start(everything[-keep:])
            left_out = self.total - len(head) - len(tail)
            text = head.decode("utf-8", "replace") + _MARK.format(left_out) + tail.decode("utf-8", "replace")
            if size_of(text) <= self._limit or keep < 64:
                return text, True
            keep //= 2


def _clean_end(data: bytes) -> bytes:
    """Without the beginning of a character whose rest was cut off."""
    for back in range(1, min(4, len(data)) + 1):
        lead = data[-back]
        if lead & 0xC0 != 0x80:
            length = 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1
            return data[:-back] if length > back else data
    return data


def _clean_start(data: bytes) -> bytes:
    """Without the end of a character whose beginning was cut off."""
    skip = 0
    while skip < min(3, len(data)) and data[skip] & 0xC0 == 0x80:
        skip += 1
    return data[skip:]


def streams(stdout: Captured, stderr: Captured) -> dict[str, Json]:
    """Both as a result has them; with their full sizes where something was left out."""
    found: dict[str, Json] = {}
    for name, stream in (("stdout", stdout), ("stderr", stderr)):
        text, cut = stream.text()
        found[name] = text
        if cut:
            found[f"{name}_bytes"] = stream.total
    return found
