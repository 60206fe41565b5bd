"""How messages call things and show YAML."""

from __future__ import annotations

import json
from typing import Any

from wfc.language.shape import Shape
from wfc.language.steps.base import Step, UnknownStep
from wfc.yaml.nodes import resolve_plain

_OTHER_BOOLEANS = ("on", "off", "yes", "no", "y", "n")
_SIGNS = frozenset("{}[]&*#?|<>=!%@`'\",:\\")


def label_of(shape: Shape) -> str:
    return "a step" if isinstance(shape, UnknownStep) else shape.label


def call(step: Step) -> str:
    """A step by its name, if it has one."""
    return f"`{step.name}`" if step.name else "the step"


def flow(value: Any) -> str:
    """A value in one line of YAML, quoted only where it must be."""
    match value:
        case str():
            return value if is_plain(value) else quote(value)
        case list():
            return f"[{', '.join(flow(item) for item in value)}]"
        case dict():
            return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def is_plain(text: str) -> bool:
    """Whether the text means itself without quotes, in any place and to any reader."""
    return (
        bool(text)
        and text == text.strip()
        and text.isprintable()
        and resolve_plain(text) == text
        and text.lower() not in _OTHER_BOOLEANS
        and not text[0].isdigit()
        and text[0] != "-"
        and not _SIGNS & set(text)
    )


def quote(text: str) -> str:
    """The text in quotes, double ones if it may be."""
    if '"' in text and "\\" not in text and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return json.dumps(text, ensure_ascii=False)
