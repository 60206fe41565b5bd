"""No branch handles an option of a choice prompt.

Conditions compare the selection with some of the options, and nothing happens for the others: no `else` handles them,
and no step passes the selection on. Usually an option was added or renamed without its branch. A text that is compared
with the selection and is not an option is reported too, because it never matches. One of two options may have no
branch, like the no of a yes-or-no question.

Bad:

```yaml
- {id: ask, type: prompt, prompt_type: choice, message: "Go?", options: [ship, fix, revert], output_to: answer}
- {id: ship, type: shell, needs_state: [answer], when: "{{ state.answer.selected == 'ship' }}", command: make ship}
- {id: fix, type: shell, needs_state: [answer], when: "{{ state.answer.selected == 'fix' }}", command: make fix}
```

Good:

```yaml
- {id: ask, type: prompt, prompt_type: choice, message: "Go?", options: [ship, fix, revert], output_to: answer}
- {id: ship, type: shell, needs_state: [answer], when: "{{ state.answer.selected == 'ship' }}", command: make ship}
- {id: fix, type: shell, needs_state: [answer], when: "{{ state.answer.selected == 'fix' }}", command: make fix}
- {id: undo, type: shell, needs_state: [answer], when: "{{ state.answer.selected == 'revert' }}", command: make undo}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Note, Severity
from wfc.language.dialect import Language
from wfc.language.steps.prompt import Prompt
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.flow import Comparison, Comparisons
from wfc.rules.common.state import ScopeUse, scope_uses
from wfc.suggest import Nearest

_SHOWN = 6


@rule("WF407", "unhandled-choice", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    for use in scope_uses(file):
        prompts = _prompts(use) if use.is_clear else {}
        for name, prompt in prompts.items():
            found = Comparisons(name, use)
            options = {option.node.text: option for option in prompt.fixed_options()}
            yield from _strange(file.language, prompt, options, found.all)
            if found.all and found.decide_alone:
                yield from _missing(file.language, prompt, options, found)


def _prompts(use: ScopeUse) -> dict[str, Prompt]:
    """The fields that only one prompt writes, if all its options are known."""
    writers: dict[str, list[object]] = {}
    for step in use.scope.walk():
        for name in step.writes():
            writers.setdefault(name, []).append(step)
    found: dict[str, Prompt] = {}
    for name, steps in writers.items():
        if len(steps) == 1 and isinstance(steps[0], Prompt) and name not in use.as_a_whole:
            options = steps[0].fixed_options() if steps[0].prompt_kind == "choice" else []
            if options and all(option.template.is_literal for option in options):
                found[name] = steps[0]
    return found


def _missing(
    language: Language, prompt: Prompt, options: dict[str, Text], found: Comparisons
) -> Iterator[Finding]:
    meant = Nearest(options)

    def named(leaving: bool) -> set[str]:
        words = {word.value for one in found.all if one.leaves == leaving for word in one.words}
        return {word if word in options else meant.to(word) or "" for word in words} & options.keys()

    # If a condition leaves the list for some options, the steps after it see only the others.
    rest = options.keys() - named(leaving=True)
    handled = named(leaving=False) & rest
    missing = [name for name in options if name in rest - handled]
    # One of two options needs no branch: the run then continues with the next step.
    if not missing or not handled or len(rest) <= 2:
        return
    shown = ", ".join(f"`{name}`" for name in missing[:_SHOWN]) + (", ..." if len(missing) > _SHOWN else "")
    first = next(one for one in found.all if not one.leaves)
    noun = "option" if len(missing) == 1 else "options"
    yield Finding(
        options[missing[0]].span,
        f"no branch handles the {noun} {shown} of {language.call(prompt)}",
        help=f"add a branch for {'it' if len(missing) == 1 else 'them'}, or an `else` for the rest",
        notes=(Note("other options are compared here", first.span),),
        step=prompt.name,
    )


def _strange(
    language: Language, prompt: Prompt, options: dict[str, Text], found: list[Comparison]
) -> Iterator[Finding]:
    """Texts in lists that are not options. WF210 reports a comparison that is never true as a whole."""
    meant = Nearest(options)
    for one in found:
        if any(word.value in options for word in one.words):
            for word in one.words:
                if word.value not in options:
                    yield Finding(
                        one.text.at(*one.text.template.span(word)),
                        f"`{word.value}` is not an option of {language.call(prompt)}: it is never selected",
                        help=meant.hint(word.value),
                        notes=(Note("the options are here", prompt.value_span("options")),),
                        step=one.step.name,
                    )
