from __future__ import annotations

from typing import Any, ClassVar

from wfc.language.fields import OPTIONS, TEXT, Nested, OneOf
from wfc.language.shape import Field, Validation
from wfc.language.steps.base import Answered, Waiting
from wfc.language.values import Text
from wfc_runtime.contract import ChoiceAnswer, ConfirmAnswer, InfoAnswer, TextAnswer

PROMPT_KINDS = {"info": InfoAnswer, "confirm": ConfirmAnswer, "text": TextAnswer, "choice": ChoiceAnswer}


class Prompt(Answered, Waiting):
    """Show the user a message, or ask a question.

    `info` shows a message, `confirm` asks yes or no, `text` takes a line of text (with optional `validation`) and
    `choice` offers `options`. The answer is `{acknowledged}`, `{confirmed}`, `{input}` or `{selected}`. Ask in the
    main flow: a sub-agent that executes a task has no user to ask.

    ```yaml
    - id: confirm-deploy
      type: prompt
      prompt_type: confirm
      message: "Deploy {{ inputs.service }} to production?"
      output_to: go_ahead
    ```
    """

    kind = "prompt"
    label = "a prompt step"
    color = "person"
    origin = ("a prompt answer", "the answer to {} is untrusted")
    shape_rules: ClassVar[dict[str, Any]] = {
        "if": {"properties": {"prompt_type": {"const": "choice"}}, "required": ["prompt_type"]},
        "then": {"required": ["options"]},
    }

    prompt_type = Field(OneOf(tuple(PROMPT_KINDS)), "The kind of prompt.", required=True, example="confirm")
    message = Field(TEXT, "The message or question.", required=True, example="Deploy now?")
    options = Field(OPTIONS, "The options of a `choice`.", example=["roll back", "go on"])
    validation = Field(
        Nested(lambda: Validation, "a mapping of validation rules"), "What a `text` answer must satisfy."
    )

    @property
    def prompt_kind(self) -> str:
        return self.prompt_type.text if self.prompt_type else "info"

    def result_class(self) -> Any:
        return PROMPT_KINDS[self.prompt_kind]

    def parameters(self) -> dict[str, Any]:
        options = {"options": self.options} if self.prompt_kind == "choice" else {}
        return {"message": self.message, "prompt_type": self.prompt_kind, **options}

    def narrowing(self) -> dict[str, Any]:
        if self.prompt_kind == "choice":
            return {"selected": {"enum": self.options or []}}
        if self.prompt_kind == "text" and self.validation:
            return {"input": dict(_text_rules(self.validation))}
        return {}

    def fixed_options(self) -> list[Text]:
        return self.options or []


def _text_rules(validation: Validation) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    if validation.pattern:
        found.append(("pattern", validation.pattern.text))
    if validation.min_length:
        found.append(("minLength", validation.min_length.value))
    if validation.max_length:
        found.append(("maxLength", validation.max_length.value))
    if validation.enum:
        found.append(("enum", validation.enum))
    return found
