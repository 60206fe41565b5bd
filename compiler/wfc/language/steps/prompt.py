from __future__ import annotations

from typing import Any, ClassVar

from wfc.ir import Make
from wfc.language import types
from wfc.language.fields import (
    BOOLEAN,
    COUNT,
    NAME,
    TEXT,
    WORD,
    Constants,
    FieldType,
    ListOf,
    Mismatch,
    Nested,
    OneOf,
    Reader,
    kind_of,
)
from wfc.language.shape import Field, Shape, Validation
from wfc.language.steps.base import Answered, Waiting
from wfc.language.types import Type
from wfc.language.values import Text
from wfc.yaml import Mapping, Node, Scalar
from wfc_runtime.contract import ChoiceAnswer, ConfirmAnswer, InfoAnswer, TextAnswer

PROMPT_KINDS: dict[str, Any] = {
    "info": InfoAnswer,
    "confirm": ConfirmAnswer,
    "text": TextAnswer,
    "choice": ChoiceAnswer,
    "questions": None,
}
"""The result type of each prompt type. That of `questions` depends on the questions."""


class Option(Shape):
    """An option of a choice: the value that is the answer, and what the person sees."""

    label = "an option"

    value = Field(TEXT, "The answer if the person picks it.", required=True, example="ship")
    label_ = Field(TEXT, "The text shown to the person instead of the value.", example="Ship it")
    description = Field(TEXT, "The consequence of choosing it.", example="Deploys to production.")


class OptionType(FieldType["Text | Option"]):
    words = "a text, or a mapping with `value`, `label` and `description`"

    def read(self, node: Node, reader: Reader) -> Text | Option | None:
        if isinstance(node, Mapping):
            found: Option = reader.shape(Option, node)
            return found
        return TEXT.read(node, reader)

    def mismatches(self, node: Node) -> list[Mismatch]:
        if isinstance(node, Scalar):
            return TEXT.mismatches(node)
        if isinstance(node, Mapping):
            return []
        return [Mismatch(node.span, f"expected {self.words}, found {kind_of(node)}")]

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"$ref": "#/definitions/Option"}]}


OPTION = OptionType()
CHOICES: FieldType[list[Any]] = ListOf(OPTION, "a list of options (text)", least=1)


class Question(Shape):
    """One of several questions that are answered together."""

    label = "a question"

    id = Field(NAME, "The key of its answer in the result.", required=True, example="database")
    text = Field(TEXT, "The question.", required=True, example="Which database?")
    choices = Field(
        CHOICES, "The options. Without them, any text is an answer.", example=["SQLite", "Postgres"]
    )
    default = Field(TEXT, "The answer if none is given.", example="SQLite")
    required = Field(BOOLEAN, "Whether it must be answered, if it has no default.", default=True)

    @property
    def must_be_answered(self) -> bool:
        # With a default, an empty answer is not a missing one.
        return bool(self.setting("required")) and self.default is None


def value_of(option: Text | Option) -> Text | None:
    return option.value if isinstance(option, Option) else option


def _values(options: list[Any] | None) -> list[Text]:
    return [value for option in options or () if (value := value_of(option)) is not None]


def _shown(options: list[Any]) -> list[Any]:
    """The options as parameters: texts, or objects where the author has given more than the value."""
    return [
        option
        if isinstance(option, Text)
        else {name: option.values[name] for name in _PARTS if name in option.values}
        for option in options
    ]


_PARTS = ("value", "label", "description")


class Prompt(Answered, Waiting):
    """Show the user a message, or ask a question.

    `info` shows a message, `confirm` asks yes or no, `text` takes a line of text (with optional `validation`) and
    `choice` offers `options`: texts, or `{value, label, description}` if people should see more than the value.
    `questions` asks several `questions` at once. The answer is `{acknowledged}`, `{confirmed}`, `{input}`,
    `{selected}` or, for questions, an object with an answer for each id. Ask in the main flow: a sub-agent that
    executes a task has no user to ask.

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
        "else": {
            "if": {"properties": {"prompt_type": {"const": "questions"}}, "required": ["prompt_type"]},
            "then": {"required": ["questions"]},
        },
    }

    prompt_type = Field(OneOf(tuple(PROMPT_KINDS)), "The kind of prompt.", required=True, example="confirm")
    message = Field(TEXT, "The message or question.", required=True, example="Deploy now?")
    options = Field(CHOICES, "The options of a `choice`.", example=["roll back", "go on"])
    questions = Field(
        ListOf(Nested(lambda: Question, "a mapping with `id` and `text`"), "a list of questions", least=1),
        "The questions of a prompt of that kind.",
        example=[{"id": "database", "text": "Which database?", "choices": ["SQLite", "Postgres"]}],
    )
    input_type = Field(
        OneOf(("string", "number", "boolean")),
        "The type of a `text` answer: `5` and `yes` are converted.",
        default="string",
    )
    default = Field(Constants(), "The value of an empty answer to `text` or `choice`.", example="staging")
    error_message = Field(WORD, "The message for the user when the answer is invalid.")
    max_answers = Field(
        COUNT, "The number of invalid answers after which the step fails. By default it never does."
    )
    instructions = Field(TEXT, "More about the question, for the agent that asks it.")
    validation = Field(
        Nested(lambda: Validation, "a mapping of validation rules"), "Constraints on a `text` answer."
    )

    @property
    def prompt_kind(self) -> str:
        return self.prompt_type.text if self.prompt_type else "info"

    def result_class(self) -> Any:
        return PROMPT_KINDS[self.prompt_kind]

    def result_schema_data(self) -> Any:
        if self.prompt_kind != "questions":
            return None
        asked = self._asked()
        return {
            "type": "object",
            "properties": {name: {"type": "string", **_length(one)} for name, one in asked.items()},
            "required": [name for name, one in asked.items() if one.must_be_answered],
            "additionalProperties": False,
        }

    def result_type(self) -> Type:
        if self.prompt_kind != "questions":
            found, kind = super().result_type(), _ANSWERS.get(self.setting("input_type"))
            if self.prompt_kind != "text" or kind is None:
                return found
            return types.Record("", (types.Property("input", kind),))
        # An answer that is missing gets its default, so that only a question without one may have no answer.
        return types.Record(
            "",
            tuple(
                types.Property(name, _answer_type(one), one.must_be_answered or one.default is not None)
                for name, one in self._asked().items()
            ),
            declared=True,
        )

    def _asked(self) -> dict[str, Question]:
        return {one.id.text: one for one in self.questions or () if one.id}

    def parameters(self) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if self.prompt_kind == "choice":
            more = {"options": _shown(self.options or [])}
        elif self.prompt_kind == "questions":
            more = {"questions": [_parameters(name, one) for name, one in self._asked().items()]}
        if self.instructions:
            more["instructions"] = self.instructions
        return {"message": self.message, "prompt_type": self.prompt_kind, **more}

    def narrowing(self) -> dict[str, Any]:
        if self.prompt_kind == "choice":
            return {"selected": {"enum": _values(self.options)}}
        if self.prompt_kind == "text":
            kind = self.setting("input_type")
            typed = {"type": kind} if kind != "string" else {}
            rules = {**typed, **(dict(_rules(self.validation)) if self.validation else {})}
            return {"input": rules} if rules else {}
        if self.prompt_kind == "questions":
            demands = {name: _demands(one) for name, one in self._asked().items()}
            return {name: one for name, one in demands.items() if one}
        return {}

    def ask(self) -> dict[str, Any]:
        kind, default = self.setting("input_type"), self.values.get("default")
        given = {
            "type": kind if kind != "string" else None,
            "default": Make("UseFallback", {"value": default.data}) if default is not None else None,
            "message": self.error_message.text if self.error_message else None,
            "max_attempts": self.setting("max_answers"),
        }
        given = {name: value for name, value in given.items() if value is not None}
        return {**super().ask(), **({"answering": Make("Answering", given)} if given else {})}

    def fixed_options(self) -> list[Text]:
        return _values(self.options)


def _length(question: Question) -> dict[str, Any]:
    return {"minLength": 1} if question.must_be_answered and not question.choices else {}


def _demands(question: Question) -> dict[str, Any]:
    choices = {"enum": _values(question.choices)} if question.choices else {}
    return {**choices, **({"default": question.default} if question.default else {})}


def _parameters(name: str, question: Question) -> dict[str, Any]:
    found: dict[str, Any] = {"id": name, "text": question.text}
    if question.choices:
        found["choices"] = _shown(question.choices)
    if question.default:
        found["default"] = question.default
    return found if question.must_be_answered else {**found, "required": False}


def _answer_type(question: Question) -> Type:
    choices = _values(question.choices)
    if choices and all(choice.template.is_literal for choice in choices):
        return types.Choice(tuple(choice.node.text for choice in choices))
    return types.TEXT


_ANSWERS: dict[str, Type] = {"number": types.NUMBER, "boolean": types.BOOL}


def _rules(validation: Validation) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    if validation.pattern:
        found.append(("pattern", validation.pattern.text))
    if validation.min_length:
        found.append(("minLength", validation.min_length.value))
    if validation.max_length:
        found.append(("maxLength", validation.max_length.value))
    if validation.min:
        found.append(("minimum", validation.min.value))
    if validation.max:
        found.append(("maximum", validation.max.value))
    if validation.enum:
        found.append(("enum", validation.enum))
    return found
