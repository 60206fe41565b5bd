"""Mistakes that let outside text do harm."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.mutation.seeding import Change, Seed, Where, drop, mistake, put, replace
from wfc.language.ast import Scope
from wfc.language.steps.mcp_call import McpCall
from wfc.language.steps.shell import Shell
from wfc.language.values import Text
from wfc.project import SourceFile

_QUOTED = re.compile(r"\{\{([^{}]*?) *\| *shquote *\}\}")
_SPECIAL = " \n\t;|&$`'\"<>()*?[]#~=%!{}\\"


def _holes(file: SourceFile) -> Iterator[tuple[Scope, Shell, Text, re.Match[str]]]:
    for scope in file.scopes:
        for step in scope.walk():
            if isinstance(step, Shell) and step.command:
                for hole in _QUOTED.finditer(step.command.template.text):
                    yield scope, step, step.command, hole


def _differs(scope: Scope, expression: str, texts: list[str]) -> bool:
    """Whether the value can be one of the texts: if not, quoting it or not gives the same command.

    A value of inputs alone whose patterns no such text fits can't, nor can a number.
    """
    names = re.findall(r"inputs\.(\w+)", expression)
    if "state." in expression or "inputs" not in expression or " for " in expression or not names:
        return True
    declared = [scope.declared_inputs[name] for name in names if name in scope.declared_inputs]
    rules = [decl.rule_value("pattern") for decl in declared if decl.kind == "string"]
    fixed = re.sub(r"inputs\.\w+|\| *int|[~() ]", "", expression)
    if any(char in fixed.replace("'", "") for char in _SPECIAL) or len(declared) < len(names):
        return True
    return any(rule is None or any(re.search(rule, text) for text in texts) for rule in rules)


def _unquoted(scope: Scope, expression: str) -> bool:
    return _differs(
        scope, expression, [f"{before}{char}a1" for char in _SPECIAL for before in ("", "a", "1.2", "a/")]
    )


@mistake(Where.HERE)
def leave_a_value_unquoted(file: SourceFile) -> Iterator[Seed]:
    for scope, step, command, hole in _holes(file):
        if _unquoted(scope, hole[1]):
            yield replace(step, command.at(*hole.span()), f"{{{{{hole[1]} }}}}")


@mistake(Where.HERE)
def quote_by_hand(file: SourceFile) -> Iterator[Seed]:
    for scope, step, command, hole in _holes(file):
        if command.node.style not in ("'", '"') and _unquoted(scope, hole[1]):
            yield replace(step, command.at(*hole.span()), f'"{{{{{hole[1]} }}}}"')


@mistake(Where.STEP)
def drop_the_dashes_before_a_value(file: SourceFile) -> Iterator[Seed]:
    for scope, step, command, hole in _holes(file):
        text = command.template.text
        if text[: hole.start()].endswith(" -- ") and _differs(scope, hole[1], ["-a", "-1"]):
            yield Seed(
                step.name, f"no -- before {hole[0]}", (put(command.at(hole.start() - 3, hole.start()), ""),)
            )


@mistake(Where.HERE)
def paste_a_token(file: SourceFile) -> Iterator[Seed]:
    token = "ghp_" + "R2d2C3poBb8Yoda5Chewie7Leia9Han3Luke"
    for step in file.steps:
        if isinstance(step, Shell) and step.command:
            at = step.command.at(0, 0).start
            yield Seed(step.name, "a token in the command", (Change(at, at, f"GITHUB_TOKEN={token} "),))
        elif isinstance(step, McpCall) and step.tool:
            end = step.tool.span.end
            column = step.key_span("tool").column
            text = f"\n{' ' * (column - 1)}description: token {token}"
            yield Seed(step.name, "a token in the description", (Change(end, end, text),))


@mistake(Where.HERE)
def reach_into_the_inner_parts(file: SourceFile) -> Iterator[Seed]:
    """`state.x.__class__`, which the sandbox refuses."""
    for step in file.steps:
        reads = [(text, read) for text in step.texts() for read in text.template.reads]
        for text, read in [(text, read) for text, read in reads if read.root == "state"][:1]:
            at = text.at(read.end, read.end).start
            yield Seed(step.name, f"state.{read.path[0].name}.__class__", (Change(at, at, ".__class__"),))


@mistake(Where.STEP)
def parse_without_a_way_out(file: SourceFile) -> Iterator[Seed]:
    for step in file.steps:
        entry = step.node.entry("on_error")
        if entry and "parse_json" in step.node.span.text:
            yield drop(step, step.node, entry)
