"""A prompt has fields that do not fit its `prompt_type`.

A `choice` needs distinct `options`; no other kind has them. Only a `text` answer can be validated: a `confirm` is yes
or no, and an `info` has no answer. Every prompt needs a message.

Bad:

```yaml
- id: where
  type: prompt
  prompt_type: choice
  message: Where to?
```

Good:

```yaml
- id: where
  type: prompt
  prompt_type: choice
  message: Where to?
  options: [staging, production]
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wfc.findings import Note
from wfc.language.steps.prompt import Prompt, value_of
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.missing_field import is_missing
from wfc.yaml import Span
from wfc.yaml.explain import excerpt

_OWNERS = {"options": "choice", "validation": "text", "questions": "questions"}
_SEVERAL = "each question has its own choices"
_WHY = {
    ("options", "confirm"): "a confirm is answered with yes or no",
    ("options", "info"): "an info is not answered",
    ("options", "text"): "a text is typed freely",
    ("validation", "confirm"): "a confirm is answered with yes or no",
    ("validation", "info"): "an info is not answered",
    ("validation", "choice"): "a choice is always one of its options",
    ("options", "questions"): _SEVERAL,
    ("validation", "questions"): _SEVERAL,
    **{("questions", kind): "it asks one question" for kind in ("confirm", "text", "choice")},
    ("questions", "info"): "an info is not answered",
}


@rule("WF008", "prompt-kind")
def check(file: SourceFile) -> Iterator[Finding]:
    for step in file.steps:
        if isinstance(step, Prompt):
            yield from _empty_message(step)
            if step.prompt_type:
                yield from _fields(step, step.prompt_type.text, step.prompt_type.span)
                yield from _options(step, step.options)
                yield from _questions(step)


def _empty_message(step: Prompt) -> Iterator[Finding]:
    if step.message and not step.message.node.text.strip():
        help = "write what the person should know or decide"
        yield Finding(step.message.span, "the message is empty", help=help, step=step.name)


def _fields(step: Prompt, kind: str, span: Span) -> Iterator[Finding]:
    if kind == "choice" and is_missing(step, "options"):
        help = "add `options: [..., ...]` with the texts to choose from"
        yield Finding(span, "a choice without `options`", help=help, step=step.name)
    if kind == "questions" and is_missing(step, "questions"):
        help = "add `questions: [{id: ..., text: ...}, ...]`"
        yield Finding(span, "a prompt of the kind `questions` without `questions`", help=help, step=step.name)
    for name, owner in _OWNERS.items():
        if kind != owner and step.node.entry(name) is not None:
            yield Finding(
                step.key_span(name),
                f"`{name}` on a prompt of the kind `{kind}`: {_WHY[name, kind]}",
                help=f"remove it, or make the prompt a `{owner}`",
                notes=(Note("the kind of prompt", span),),
                step=step.name,
            )


def _options(step: Prompt, options: list[Any] | None) -> Iterator[Finding]:
    first: dict[str, Span] = {}
    for option in (value for one in options or () if (value := value_of(one)) is not None):
        text = option.node.text
        if not text.strip():
            yield Finding(option.span, "an empty option", help="write the text of the option", step=step.name)
        elif text in first:
            yield Finding(
                option.span,
                f"the option `{excerpt(text)}` is offered twice",
                help="remove one of them, or change its text",
                notes=(Note("first offered here", first[text]),),
                step=step.name,
            )
        first.setdefault(text, option.span)


def _questions(step: Prompt) -> Iterator[Finding]:
    first: dict[str, Span] = {}
    for question in step.questions or ():
        yield from _options(step, question.choices)
        if question.id and question.id.text in first:
            yield Finding(
                question.id.span,
                f"two questions have the id `{question.id.text}`",
                help="give each question an id of its own",
                notes=(Note("first used here", first[question.id.text]),),
                step=step.name,
            )
        if question.id:
            first.setdefault(question.id.text, question.id.span)
        choices = [value for one in question.choices or () if (value := value_of(one)) is not None]
        known = {choice.node.text for choice in choices}
        is_fixed = bool(choices) and all(one.template.is_literal for one in choices)
        default = question.default
        if default and is_fixed and default.template.is_literal and default.node.text not in known:
            yield Finding(
                default.span,
                f"the default `{excerpt(default.node.text)}` is not one of the choices",
                help=f"one of: {', '.join(sorted(known))}",
                step=step.name,
            )
