"""How the answer of a person is read: converted from text, with a default for an empty one."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from wfc_runtime.contract import Json
from wfc_runtime.machine.effects import UseFallback

_WORDS = {
    **dict.fromkeys(("true", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "no", "n", "off", "0"), False),
}
# A text prompt is answered under `input`, a choice under `selected`.
_KEYS = ("input", "selected")


@dataclass(frozen=True, kw_only=True)
class Answering:
    """The conversion of an answer before validation, and the message for an invalid answer."""

    type: Literal["string", "number", "boolean"] = "string"
    default: UseFallback | None = None
    """The value of an empty answer."""
    message: str = ""
    """The message for the person when an answer is invalid."""
    max_attempts: int | None = None
    """The number of answers after which the step fails; None: the person is asked as often as it takes."""

    def read(self, answer: Json) -> Json:
        # The same object matters: its size has been measured, and the history stores it once.
        """The answer as the step expects it; the same object if no conversion is needed."""
        if not isinstance(answer, dict):
            return answer
        key = next((one for one in _KEYS if one in answer), "input")
        value = answer.get(key)
        if self.default is not None and (value is None or value == ""):
            return {**answer, key: self.default.value}
        found = self._converted(value.strip()) if isinstance(value, str) and self.type != "string" else value
        return answer if found is value else {**answer, key: found}

    def _converted(self, text: str) -> Json:
        if self.type == "boolean":
            return _WORDS.get(text.lower(), text)
        try:
            number = int(text) if text.lstrip("+-").isdecimal() and len(text) < 100 else float(text)
        except ValueError:
            return text
        # "nan" and "inf" are floats for Python but not for JSON.
        return number if isinstance(number, int) or isfinite(number) else text
