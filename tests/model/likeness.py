"""Whether two values are the same, as far as anybody can tell: ids are made anew, secrets are hidden."""

from __future__ import annotations

import json
import re
from typing import Any

HIDDEN = "***"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


class Likeness:
    """Each id of the real run stands for one of the model's, always the same one and no other."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}
        self._expected: dict[str, str] = {}

    def same(self, what: str, found: Any, expected: Any) -> None:
        """As texts, so that 1, 1.0 and true are not the same."""
        one, other = (json.dumps(value, sort_keys=True, ensure_ascii=False) for value in (found, expected))
        assert self._alike(one, other), f"{what}: {one}, by the model {other}"

    def _alike(self, one: str, other: str) -> bool:
        ids = _UUID.findall(one), _UUID.findall(other)
        return _UUID.sub("-", one) == _UUID.sub("-", other) and all(
            self._found.setdefault(real, model) == model and self._expected.setdefault(model, real) == real
            for real, model in zip(*ids, strict=True)
        )

    def as_in_the_model(self, found: Any) -> Any:
        """The same value with the model's ids, as far as they are known."""
        text = _UUID.sub(lambda one: self._found.get(one[0], one[0]), json.dumps(found))
        return json.loads(text)

    def same_or_hidden(self, what: str, found: Any, expected: Any) -> None:
        """The same but for what is hidden in the one found."""
        assert self._covers(found, expected), f"{what}: {found!r}, by the model {expected!r}"

    def _covers(self, found: Any, expected: Any) -> bool:
        if found == HIDDEN:
            return True
        if isinstance(found, str) and isinstance(expected, str):
            parts = (re.escape(part) for part in _UUID.sub("-", found).split(HIDDEN))
            return bool(re.fullmatch(".*".join(parts), _UUID.sub("-", expected), re.DOTALL))
        if isinstance(found, dict) and isinstance(expected, dict):
            # A key may hold a secret too.
            keys = [key for key in found if HIDDEN not in key]
            return len(found) <= len(expected) and all(
                key in expected and self._covers(found[key], expected[key]) for key in keys
            )
        if isinstance(found, list) and isinstance(expected, list):
            return len(found) == len(expected) and all(map(self._covers, found, expected))
        return self._alike(json.dumps(found, sort_keys=True), json.dumps(expected, sort_keys=True))
