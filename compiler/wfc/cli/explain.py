"""`wfc explain`."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import click

from wfc.cli.shared.names import TOPICS, topics
from wfc.cli.shared.words import Word, find_words, words
from wfc.language.reference import FieldPage, ResultPage, StepPage, find_step, step_page
from wfc.language.steps import STEP_TYPES
from wfc.render.style import Style, style_for
from wfc.rules import RULES, find_rule
from wfc.rules.base import Rule
from wfc.suggest import nearest

_WIDTH = 100
_KINDS = {
    "fields": "field",
    "filters": "filter",
    "tests": "test",
    "functions": "function",
    "settings": "setting",
}
_FIXES = {
    "safe": "fixable with `wfc check --fix`",
    "unsafe": "fixable with `wfc check --fix --unsafe-fixes`",
    "": "no automatic fix",
}


@click.command("explain")
@click.argument("topic", required=False, shell_complete=TOPICS)
@click.option("--json", "as_json", is_flag=True, help="Print the page as JSON.")
def command(topic: str | None, as_json: bool) -> int:
    """Explain a check, a step type, a field, a filter, a test, a function or a setting.

    TOPIC is a check's code (WF301) or name (needs-state-missing), a step type (shell), a field of steps or of the file
    (retry, needs_state), something that expressions can call (tojson, now, defined), or a setting of [tool.wfc]
    (exec.allow). Without one, all of them are listed.
    """
    style = style_for(sys.stdout)
    if topic is None:
        click.echo(_as_json(_list_data()) if as_json else "\n".join(_list(style)))
        return 0
    rule, step = find_rule(topic), find_step(topic)
    if rule:
        click.echo(_as_json(rule.to_data()) if as_json else "\n".join(_rule(rule, style)))
    elif step:
        # A name like `goto` is a field as well.
        also = ["", *_words(meanings, style)] if (meanings := find_words(topic)) else []
        click.echo(_as_json(step.to_data()) if as_json else "\n".join([*_step(step, style), *also]))
    elif meanings := find_words(topic):
        data = {"kind": "word", "name": topic, "meanings": [one.to_data() for one in meanings]}
        click.echo(_as_json(data) if as_json else "\n".join(_words(meanings, style)))
    else:
        # No suggestion for a code: similar codes are about different things.
        is_code = topic[:2].upper() == "WF" and topic[2:].isdigit()
        near = None if is_code else nearest(topic, topics()) or nearest(topic.upper(), topics())
        hint = f"did you mean `{near}`?" if near else "`wfc explain` lists them all"
        raise click.UsageError(f"nothing is called `{topic}`; {hint}")
    return 0


def _as_json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


# -- everything there is -------------------------------------------------------


def _list_data() -> dict[str, Any]:
    pages = [step_page(kind) for kind in STEP_TYPES.values()]
    return {
        "checks": [{key: value for key, value in rule.to_data().items() if key != "doc"} for rule in RULES],
        "steps": [{"kind": "step", "name": page.name, "summary": page.summary} for page in pages],
        **{
            name: [
                {"kind": one.kind, "name": one.name, "summary": one.doc}
                for one in words()
                if one.kind == kind
            ]
            for name, kind in _KINDS.items()
        },
    }


def _list(style: Style) -> Iterator[str]:
    yield style.paint("Checks", "bold")
    rows = [(rule.code, rule.name, str(rule.severity), rule.fix or "-", rule.summary) for rule in RULES]
    yield from _table([("code", "name", "severity", "fix", "what it finds"), *rows])
    yield ""
    yield style.paint("Step types", "bold")
    pages = [step_page(kind) for kind in STEP_TYPES.values()]
    yield from _table([(page.name, page.summary) for page in pages])
    for title, kind in _KINDS.items():
        yield ""
        yield style.paint(title.capitalize(), "bold")
        yield from _table([(one.name, one.doc) for one in words() if one.kind == kind])
    yield ""
    yield "`wfc explain TOPIC` explains one of them."


# -- one page ------------------------------------------------------------------


def _rule(rule: Rule, style: Style) -> Iterator[str]:
    yield f"{style.paint(f'{rule.code} {rule.name}', 'bold')} ({rule.severity}, {_FIXES[rule.fix]})"
    yield ""
    yield rule.doc.strip()


def _step(page: StepPage, style: Style) -> Iterator[str]:
    yield f"{style.paint(page.name, 'bold')} (step type)"
    yield ""
    yield page.doc
    yield ""
    yield style.paint("Fields", "bold")
    yield from _table([_field_row(field) for field in page.fields])
    for result in page.results:
        yield ""
        yield from _result(page, result, style)


def _field_row(field: FieldPage) -> tuple[str, ...]:
    default = "" if field.default is None else f"default {_shown(field.default)}"
    return field.name, "required" if field.required else default, f"{field.doc} Takes {field.takes}."


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _result(page: StepPage, result: ResultPage, style: Style) -> Iterator[str]:
    where = f" with `{result.where}`" if result.where else ""
    yield style.paint(f"Result{where}", "bold")
    rows = [(prop.name, prop.type, "optional" if prop.optional else "") for prop in result.properties]
    yield from _table(rows) if rows else [f"  {result.type}"]
    if not result.where and any(field.name == "result_schema" for field in page.fields):
        yield "  With `result_schema`: the value that the schema describes."


def _words(meanings: Sequence[Word], style: Style) -> Iterator[str]:
    for number, word in enumerate(meanings):
        if number:
            yield ""
        place = " of [tool.wfc]" if word.kind == "setting" else ""
        yield f"{style.paint(word.name, 'bold')} ({word.kind}{place})"
        yield ""
        yield from textwrap.wrap(word.doc, _WIDTH, break_on_hyphens=False)
        about = [("takes", word.takes)] if word.takes else []
        about += [("default", _shown(word.default))] if word.default is not None else []
        about += [("of", ", ".join(word.of))] if word.of else []
        yield from ["", *_table(about)] if about else []
        if word.fields:
            yield from ("", style.paint("Fields", "bold"))
            yield from _table([_field_row(field) for field in word.fields])


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Columns as wide as their longest cell; the last column is wrapped."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    indent = sum(width + 2 for width in widths) + 2
    for row in rows:
        start = "  " + "".join(f"{cell:<{width}}  " for cell, width in zip(row, widths, strict=False))
        wrapped = textwrap.wrap(row[-1], max(40, _WIDTH - indent), break_on_hyphens=False) or [""]
        yield (start + wrapped[0]).rstrip()
        yield from (" " * indent + line for line in wrapped[1:])
