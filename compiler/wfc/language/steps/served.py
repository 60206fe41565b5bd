"""Actions that the server executes if its operator allows that; otherwise the agent gets the same action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from wfc.language.fields import WORDS
from wfc.language.shape import Field
from wfc.language.steps.base import Action
from wfc.language.values import Literal, Text, Word

FILE_ORIGIN = ("a file", "the file content that {} reads is untrusted")
"""The `origin` of steps that read a file."""

SECRETS = (
    "Environment variables of the server; `{{ secret('NAME') }}` in the other fields stands for their values."
)


class Served(Action):
    """An action whose fields, other than those of every step, are its parameters."""

    color = "server"
    secrets = Field(WORDS, SECRETS, example=["API_TOKEN"])

    writes_to: ClassVar[str] = ""
    """The field that names the file which it writes, if it writes one."""

    def parameters(self) -> dict[str, Any]:
        own = [name for name in self.FIELDS if name not in Action.FIELDS and name != "secrets"]
        given = {name: parameter(self.values[name]) for name in own if name in self.values}
        return {**given, **placeholders(self.secrets)}

    def files(self) -> Iterator[Text]:
        path = self.values.get(self.writes_to) if self.writes_to else None
        if isinstance(path, Text):
            yield path

    def ask(self) -> dict[str, Any]:
        return {**super().ask(), "runner": "server"}


def placeholders(secrets: list[Word] | None) -> dict[str, Any]:
    """The parameter from which a server learns the placeholders of the secrets."""
    if not secrets:
        return {}
    return {"secrets": {one.text: f"{{{{ secret('{one.text}') }}}}" for one in secrets}}


def parameter(value: Any) -> Any:
    """The value of a field as a parameter: templates stay templates, plain values lose their positions."""
    if isinstance(value, Word):
        return value.text
    return value.value if isinstance(value, Literal) else value
