"""Half of a surrogate pair stands for no character, and nothing that has one can be sent.

One may come in inside JSON that is sent as text, or with the name of a file that is not UTF-8.
"""

from __future__ import annotations

from wfc_runtime.contract import Json


def is_sendable(text: str) -> bool:
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return False
    return True


def sendable(text: str) -> str:
    """The text, with a question mark for each character that is none."""
    return text if is_sendable(text) else text.encode("utf-8", "replace").decode()


def sendable_value(value: Json) -> Json:
    match value:
        case str():
            return sendable(value)
        case dict():
            return {sendable(key): sendable_value(item) for key, item in value.items()}
        case list():
            return [sendable_value(item) for item in value]
    return value
