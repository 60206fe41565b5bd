from __future__ import annotations

from typing import Any

from wfc.language import types
from wfc.language.fields import (
    ANYTHING,
    BOOLEAN,
    FLAG,
    SECONDS_COMPUTED,
    TEXT,
    TEXTS,
    WORD,
    WORDS,
    MapOf,
    Nested,
    OneOf,
)
from wfc.language.shape import Field, Shape
from wfc.language.steps.base import Action, Recovery
from wfc.language.steps.served import SECRETS, parameter, placeholders
from wfc.language.types import Property, Record, Type
from wfc.language.values import Text, Tree
from wfc.struct import replace
from wfc_runtime.contract import CommandResult, ShellResult

OUTPUT_TYPES: dict[str, Type] = {
    "string": types.TEXT,
    "integer": types.INT,
    "number": types.NUMBER,
    "boolean": types.BOOL,
    "array": types.LIST,
    "object": types.OBJECT,
    "json": types.ANY,
}


class FileOutput(Shape):
    """A file that the command writes, read after the command has ended."""

    label = "an output"

    type = Field(OneOf(tuple(OUTPUT_TYPES)), "The type of the file's content.", required=True, example="json")
    path = Field(
        TEXT, "The file; `$SCRATCH` is a folder for this run.", required=True, example="$SCRATCH/out.json"
    )
    description = Field(WORD, "What it is.")
    required = Field(BOOLEAN, "Whether the step fails without it.", default=True)
    validation = Field(
        ANYTHING,
        "A constraint on the value: an expression over `value`, or a JSON Schema.",
        example="value >= 80",
    )
    unsafe = Field(BOOLEAN, "Whether the file may be outside the working directory.", default=False)

    @property
    def kind(self) -> Type:
        known = OUTPUT_TYPES[self.type.text] if self.type else types.ANY
        return known if self.setting("required") else types.union(known, types.NULL)

    def schema(self) -> dict[str, Any]:
        known = self.type.text if self.type else "json"
        if known == "json":
            return {}
        return {"type": known if self.setting("required") else [known, "null"]}

    def parameters(self) -> dict[str, Any]:
        return {
            name: value if isinstance(value, Text | Tree) else self.setting(name)
            for name, value in self.values.items()
            if name != "description"
        }


class Shell(Action):
    """Run a command in the agent's environment.

    The agent gets the rendered command, runs it and reports the result. A non-zero exit code is data, not a failure:
    check `exit_code` where it matters, or write `fails_on_exit: true`. Quote untrusted values with `| shquote`. With
    `runner: server` the server runs the command itself if its operator allows that.

    ```yaml
    - id: run-tests
      type: shell
      command: "npm test -- {{ inputs.suite | shquote }}"
      timeout: 120
      output_to: test_results
    ```
    """

    kind = "shell"
    label = "a shell step"
    color = "agent"
    acts = True
    origin = ("command output", "the command output of {} is untrusted")
    result = ShellResult

    command = Field(TEXT, "The command line.", required=True, example="npm test")
    timeout = Field(SECONDS_COMPUTED, "The time limit of the command, in seconds.", default=30)
    fails_on_exit = Field(
        BOOLEAN, "Whether a non-zero exit code fails the step: `retry` and `on_error` see it.", default=False
    )
    output_format = Field(
        OneOf(("text", "lines", "json", "key_value")),
        "How its output is parsed, for `value` of the result; `key_value` takes lines `k=v` or `k: v`.",
    )
    runner = Field(
        OneOf(("agent", "server")),
        "Who runs it; `server` only if its operator allows that.",
        default="agent",
    )
    reason = Field(TEXT, "Why the agent must run it; shown in the action.", example="It asks for a password.")
    working_dir = Field(TEXT, "The folder to run it in.", example="packages/api")
    env = Field(TEXTS, "Environment variables to set for it.", example={"CI": "1"})
    shell = Field(
        FLAG,
        "Whether to run it in a shell; otherwise its words are a program and its arguments.",
        default=True,
    )
    capture_output = Field(FLAG, "Whether to keep its output.", default=True)
    outputs = Field(
        MapOf(Nested(lambda: FileOutput, "an output (`type`, `path`)"), "a mapping of names to outputs"),
        "Files that the command writes; their contents become `outputs` of the result.",
    )

    secrets = Field(WORDS, SECRETS, example=["API_TOKEN"])

    @property
    def performer_color(self) -> str:
        return "server" if self.setting("runner") == "server" else self.color

    def parameters(self) -> dict[str, Any]:
        given = {name: parameter(self.values[name]) for name in _PLAIN if name in self.values}
        given |= placeholders(self.secrets)
        if isinstance(self.timeout, Text):
            given["timeout"] = self.timeout
        if self.outputs:
            given["outputs"] = {name: output.parameters() for name, output in self.outputs.items()}
        return {"command": self.command, **given}

    def setting(self, name: str) -> Any:
        """A computed timeout is not known yet, so it is passed in the parameters instead."""
        return None if name == "timeout" and isinstance(self.timeout, Text) else super().setting(name)

    def ask(self) -> dict[str, Any]:
        server = {"runner": "server"} if self.setting("runner") == "server" else {}
        failing = {"fails_on_exit": True} if self.setting("fails_on_exit") else {}
        handler = self.on_error
        goes_on = handler is not None and not isinstance(handler, Recovery) and handler.text == "continue"
        return {
            **super().ask(),
            **server,
            **failing,
            "format": self.output_format.text if self.output_format else None,
            "keeps_failed": True if failing and self.changes and goes_on else None,
        }

    def narrowing(self) -> dict[str, Any]:
        """Later steps read the files, so the result must have the content of each, or null."""
        if not self.outputs:
            return {}
        kinds = {name: output.schema() for name, output in self.outputs.items()}
        return {"outputs": {"properties": kinds, "required": list(kinds)}}

    def result_class(self) -> Any:
        return CommandResult if self.outputs or self.setting("runner") == "server" else ShellResult

    def result_type(self) -> Type:
        known = super().result_type()
        if self.output_format and isinstance(known, Record):
            value = Property("value", _FORMATS[self.output_format.text])
            known = replace(known, properties=(*known.properties, value))
        if not self.outputs or not isinstance(known, Record):
            return known
        files = Record("", tuple(Property(name, output.kind) for name, output in self.outputs.items()))
        kept = tuple(prop for prop in known.properties if prop.name != "outputs")
        return replace(known, properties=(*kept, Property("outputs", files)))


_FORMATS: dict[str, Type] = {
    "text": types.TEXT,
    "lines": types.ListType(types.TEXT),
    "json": types.ANY,
    "key_value": types.OBJECT,
}
_PLAIN = ("reason", "working_dir", "env", "shell", "capture_output")
