"""Prompt steps as forms: what the person is shown, and what they sent back as a result."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256

from wfc_runtime.contract import Json
from wfc_runtime.service import Reply, actions_of

_TITLES = {"acknowledged": "Seen", "confirmed": "Yes", "input": "Answer", "selected": "Choice"}
_SIMPLE = ("string", "number", "integer", "boolean")
_SHOWN = ("type", "enum", "minLength", "maxLength", "minimum", "maximum")
"""What a form may say of a field. Whatever else the step demands is checked when the answer is there."""


@dataclass(frozen=True)
class Question:
    """One prompt step that waits for the person."""

    run: str
    step_id: str
    message: str
    result_schema: dict[str, Json]
    problem: str = ""
    """What was wrong with the answer before."""

    @property
    def text(self) -> str:
        return f"That can't be used: {self.problem}\n\n{self.message}" if self.problem else self.message

    @property
    def form(self) -> dict[str, Json]:
        properties = {name: _field(name, one) for name, one in self.result_schema["properties"].items()}
        return {"type": "object", "properties": properties, "required": list(self.result_schema["required"])}

    @property
    def digest(self) -> str:
        """Binds an answer to what was shown."""
        shown = json.dumps([self.run, self.step_id, self.message, self.result_schema], sort_keys=True)
        return sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def question_in(reply: Reply, step_id: str | None = None) -> Question | None:
    """The first prompt that a run waits in, or the one named, if a form can ask it."""
    for action in actions_of(reply):
        schema = action.get("result_schema")
        wanted = step_id is None or action["step_id"] == step_id
        if wanted and action["type"] == "prompt" and isinstance(schema, dict) and _fits_a_form(schema):
            return Question(reply["workflow_id"], action["step_id"], action["parameters"]["message"], schema)
    return None


def _fits_a_form(schema: dict[str, Json]) -> bool:
    fields = schema.get("properties", {}).values()
    # The protocol forbids to ask for secrets in forms.
    if schema.get("writeOnly"):
        return False
    return bool(fields) and all(one.get("type") in _SIMPLE for one in fields)


def _field(name: str, schema: dict[str, Json]) -> dict[str, Json]:
    shown = {key: schema[key] for key in _SHOWN if key in schema}
    shown["title"] = _TITLES.get(name, name)
    if "pattern" in schema:
        shown["description"] = f"Must match {schema['pattern']}"
    return shown
