"""The output of a command as a value: its lines, JSON, or pairs of keys and values."""

from __future__ import annotations

import json
import re
from typing import Literal

from wfc_runtime.contract import Json
from wfc_runtime.errors import StepError

OutputFormat = Literal["text", "lines", "json", "key_value"]
# `:` separates only before a space or the end of the line, so that times and URLs are not split.
_PAIR = re.compile(r"\s*([^=:\s][^=:]*?)\s*(?:=|:(?=\s|$))\s*(.*?)\s*")
_SHOWN = 120


def with_value(result: dict[str, Json], format: OutputFormat) -> dict[str, Json]:
    """The result of a command with its parsed output as `value`. Raises `StepError` if it can't be parsed."""
    return {**result, "value": parsed(str(result.get("stdout", "")), format)}


def parsed(text: str, format: OutputFormat) -> Json:
    match format:
        case "lines":
            # Only newlines separate lines, as in files; `splitlines` would also split at form feeds.
            lines = text.removesuffix("\n").split("\n") if text else []
            return [line.removesuffix("\r") for line in lines]
        case "json":
            return _json(text)
        case "key_value":
            # Lines that are not pairs are left out: tools print headings and blank lines between them.
            pairs = (_PAIR.fullmatch(line) for line in text.splitlines())
            return {pair[1]: pair[2] for pair in pairs if pair}
    return text


def _json(text: str) -> Json:
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        # Deeply nested output raises RecursionError, which is not a ValueError.
        shown = text.strip()[:_SHOWN]
        raise StepError("output_format", f"the output is not JSON ({error}): {shown!r}") from None


# Python's parser accepts NaN and Infinity, which no other reader of the state would.
def _no_number(word: str) -> Json:
    raise ValueError(f"{word} is not a JSON number")
