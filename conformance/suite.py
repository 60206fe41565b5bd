"""The requirements and their cases, read from the YAML files of a language and checked against their schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

ROOT = Path(__file__).parent
LANGUAGES = ("steps", "blocks", "reactive", "phases")

_MARK = re.compile(r"‹([^›]*)›")
_PLACEHOLDER = re.compile(r"<<(\w+)>>")
_WHOLE = re.compile(r"^(name|version|workflow):", re.MULTILINE)


class SuiteError(Exception):
    """A file of the suite is wrong."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Failure(_Strict):
    """The error of a failed run."""

    code: str | None = None
    step_id: str | None = None
    message: Any = None


class Event(_Strict):
    """One thing that happens to a run: what is expected to be pending, and what the agent then does."""

    step: str | None = Field(None, description="The `step_id` of an action that must be pending.")
    within: str = Field(
        "", alias="in", description="The child run: `audit[0]`, `audit[0]/deploy[0]`; else the run itself."
    )
    type: str | None = Field(None, description="The type of that action.")
    has: dict[str, Any] = Field({}, description="Parameters that the action must have; a partial match.")
    lacks: list[str] = Field([], description="Parameters that it must not have.")
    pending: list[str] | None = Field(
        None, description="All step_ids that are pending in that run, in any order."
    )
    messages: list[Any] | None = Field(None, description="The texts in `messages` of the last reply.")
    state: dict[str, Any] | None = Field(None, description="State fields that have these values now.")
    status: str | None = Field(None, description="The status of that run now.")
    answer: Any = Field(None, description="The result to submit.")
    refused: str | None = Field(None, description="The call is refused with a text that contains this.")
    repeated: bool = Field(False, description="The submit repeats an accepted one: it changes nothing.")
    passes: bool = Field(False, description="Wait until the step is no longer pending, without an answer.")
    do: Literal["retry", "cancel"] | None = Field(
        None, description="Retry or cancel the run instead of submitting."
    )

    @model_validator(mode="after")
    def _is_a_call(self) -> Event:
        if (self.refused is not None or self.repeated) and not (self.submits or self.do):
            raise ValueError("only a call can be refused or repeated: it needs `answer` or `do`")
        if (self.submits or self.passes) and self.step is None:
            raise ValueError("`answer` and `passes` need a `step`")
        return self

    @property
    def submits(self) -> bool:
        return "answer" in self.model_fields_set


class Case(_Strict):
    """One case as the file has it. With `check` a verdict is expected, with `run` the script of a run."""

    check: str | None = Field(
        None, description="A workflow. Marks such as ‹WF301› show where findings begin."
    )
    run: str | None = Field(None, description="A workflow to execute.")
    also: list[str] = Field([], description="Other requirements that the case is about.")
    columns: list[str] = Field([], description="Names of the columns of `rows`.")
    rows: list[list[Any]] = Field(
        [], description="Each row is a case; `<<name>>` in the texts stands for its values."
    )
    inputs: dict[str, Any] | None = None
    script: list[Event] = []
    start_refused: str | None = Field(None, description="The run can't start; the refusal contains this.")
    status: Literal["completed", "failed", "cancelled", "pending_action"] | None = None
    result: Any = Field(None, description="The result of the run, exactly.")
    result_has: Any = Field(None, description="A partial match of the result.")
    error: Failure | None = None
    state: dict[str, Any] = Field({}, description="State fields and their values at the end.")
    messages: list[Any] | None = Field(None, description="The texts in `messages` of the last reply.")
    engines: list[str] = Field([], description="Only these engines; by default all.")

    @model_validator(mode="after")
    def _is_one_kind(self) -> Case:
        if (self.check is None) == (self.run is None):
            raise ValueError("a case has either `check` or `run`")
        if bool(self.columns) != bool(self.rows):
            raise ValueError("`columns` and `rows` need each other")
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("each row has a value for each column")
        return self

    @property
    def ends_as(self) -> str:
        """The expected status, which follows from what else is expected."""
        given = {"result", "result_has"} & self.model_fields_set
        return self.status or ("failed" if self.error else "completed" if given else "")


class Requirement(_Strict):
    id: str = Field(pattern=r"^(steps|blocks|reactive|phases)-\d{3}$")
    text: str = Field(description="One sentence about the behaviour of the language.")
    source: str = Field(description="Where the sentence comes from.")
    cases: dict[str, Case] = Field(min_length=1)


class Chapter(_Strict):
    """One file."""

    title: str
    header: str = Field(
        "", description="Put before each workflow that has no `name` or `version` of its own."
    )
    requirements: list[Requirement]


@dataclass(frozen=True)
class Finding:
    code: str
    line: int
    column: int
    severity: str = ""

    def __str__(self) -> str:
        return f"{self.code} at {self.line}:{self.column}"


@dataclass(frozen=True)
class Expanded:
    """A case that is ready to be tried."""

    id: str
    requirements: tuple[str, ...]
    case: Case
    text: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Suite:
    language: str
    chapters: list[Chapter]

    @property
    def requirements(self) -> list[Requirement]:
        return [one for chapter in self.chapters for one in chapter.requirements]

    @property
    def project(self) -> Path:
        """Files that the cases need beside them: called workflows, agents, settings."""
        return ROOT / self.language / "project"

    def cases(self) -> Iterator[Expanded]:
        for chapter in self.chapters:
            for requirement in chapter.requirements:
                for name, case in requirement.cases.items():
                    for suffix, one in _rows_of(case):
                        yield _expanded(f"{requirement.id}/{name}{suffix}", requirement, one, chapter.header)


def load(language: str) -> Suite:
    chapters = []
    for path in sorted((ROOT / language).glob("*.yaml")):
        try:
            chapters.append(Chapter.model_validate(yaml.load(path.read_text(encoding="utf-8"), _Loader)))
        except (ValidationError, yaml.YAMLError) as error:
            raise SuiteError(f"{language}/{path.name}: {error}") from error
    suite = Suite(language, chapters)
    _check_ids(suite)
    return suite


def _check_ids(suite: Suite) -> None:
    ids = [one.id for one in suite.requirements]
    texts = [one.text for one in suite.requirements]
    for found in (ids, texts):
        if twice := {one for one in found if found.count(one) > 1}:
            raise SuiteError(f"{suite.language}: more than once: {', '.join(sorted(twice))}")
    for requirement in suite.requirements:
        if not requirement.id.startswith(f"{suite.language}-"):
            raise SuiteError(f"{suite.language}: {requirement.id} belongs to another language")
        for name, case in requirement.cases.items():
            if unknown := set(case.also) - set(ids):
                raise SuiteError(
                    f"{requirement.id}/{name}: no such requirement: {', '.join(sorted(unknown))}"
                )


def _rows_of(case: Case) -> Iterator[tuple[str, Case]]:
    """Each row as its own case, with its values replacing `<<name>>`."""
    if not case.rows:
        yield "", case
        return
    plain = case.model_dump(exclude_unset=True, by_alias=True, exclude={"columns", "rows"})
    for number, row in enumerate(case.rows, 1):
        values = dict(zip(case.columns, row, strict=True))
        own = {name: value for name, value in values.items() if name in Case.model_fields}
        yield f"/{number}", Case.model_validate(_filled({**plain, **own}, values))


def _filled(value: Any, values: dict[str, Any]) -> Any:
    match value:
        case str():
            whole = _PLACEHOLDER.fullmatch(value)
            if whole and whole[1] in values:
                return values[whole[1]]
            return _PLACEHOLDER.sub(lambda found: str(values.get(found[1], found[0])), value)
        case dict():
            return {_filled(key, values): _filled(item, values) for key, item in value.items()}
        case list():
            return [_filled(item, values) for item in value]
    return value


def _expanded(name: str, requirement: Requirement, case: Case, header: str) -> Expanded:
    text = case.check if case.check is not None else case.run
    assert text is not None
    whole = text if _WHOLE.search(_MARK.sub("", text)) else header + text
    shown, findings = unmarked(whole) if case.check is not None else (whole, ())
    return Expanded(name, (requirement.id, *case.also), case, shown, findings)


def unmarked(text: str) -> tuple[str, tuple[Finding, ...]]:
    """A text without its marks, and the findings that they stand for. A mark has one or more codes, each with a
    severity if that matters: ‹WF501:warning›."""
    findings = []
    shown = ""
    end = 0
    for mark in _MARK.finditer(text):
        shown += text[end : mark.start()]
        end = mark.end()
        line, column = shown.count("\n") + 1, len(shown) - (shown.rfind("\n") + 1) + 1
        for word in mark[1].split():
            code, _, severity = word.partition(":")
            findings.append(Finding(code, line, column, severity))
    return shown + text[end:], tuple(findings)


class _Loader(yaml.SafeLoader):
    """YAML in which a duplicate key is an error: a case must not hide another."""


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for place, key in enumerate(keys):
        if key in keys[:place]:
            raise yaml.YAMLError(f"{key!r} stands twice, line {node.value[place][0].start_mark.line + 1}")
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
