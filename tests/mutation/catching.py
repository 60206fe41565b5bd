"""Whether wfc notices: a mutant is checked as its user would check the project."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import cache

from tests.mutation import in_commands, in_control, in_expressions, in_form, in_references, in_state
from tests.mutation.misses import LISTED
from tests.mutation.seeding import MISTAKES, Mutant, Where, mutants
from tests.support import ROOT, is_sampled
from wfc.checker import check_file, each_finding
from wfc.config import Config, load_config
from wfc.dialects import dialect_of
from wfc.findings import Diagnostic, Severity
from wfc.language.steps.call import Call
from wfc.language.values import plain
from wfc.project import Project, SourceFile, load_file
from wfc.rules import RULES
from wfc.yaml import Source, YamlLimits, parse_document

TABLE = (in_form, in_references, in_expressions, in_state, in_control, in_commands)
"""Where the mistakes are: importing a module adds its own."""


PLACES = 4
"""How many places of a file the tests try for each mistake."""


@cache
def _config() -> Config:
    return load_config(ROOT)


@cache
def originals() -> dict[str, SourceFile]:
    """Our workflows in the steps language, by file name."""
    config = _config()
    project = Project(config)
    for path in sorted((ROOT / "workflows").glob("*.yaml")):
        if not is_sampled(path.stem):
            continue
        source = Source(path.name, path.read_text(encoding="utf-8"))
        # The reactive language has `steps` too, so the key alone does not tell the language.
        if dialect_of(parse_document(source, YamlLimits()).root).name == "steps":
            load_file(path.name, source.text.encode(), config, project)
    return {file.source.path: file for file in project.files}


@cache
def all_mutants() -> list[Mutant]:
    found: dict[object, Mutant] = {}
    for mistake in MISTAKES.values():
        for file, source_file in originals().items():
            for mutant in mutants(mistake, file, source_file):
                found.setdefault((mistake, mutant.seed.what) if mistake.once else mutant, mutant)
    return list(found.values())


@cache
def _called(file: SourceFile) -> list[str]:
    return [step.workflow.text for step in file.steps if isinstance(step, Call) and step.workflow]


@cache
def _beside(file: str) -> tuple[list[str], list[str]]:
    """The workflows that call this one, and all others that it or they call."""
    files = originals()
    callers = [other for other, source_file in files.items() if files[file].name in _called(source_file)]
    names = {name for one in (file, *callers) for name in _called(files[one])}
    return callers, [
        other
        for other, source_file in files.items()
        if source_file.name in names and other not in (file, *callers)
    ]


def clean_findings() -> list[str]:
    """What is found in the originals themselves."""
    found = [item for file in originals().values() for item in check_file(file)]
    return [f"{item.path}: {item.message}" for item in found if item.severity is not Severity.INFO]


def meaning(text: str) -> str | None:
    """What a text says, order included, whatever its layout; none where it can't be read."""
    root = parse_document(Source("w.yaml", text), YamlLimits()).root
    return json.dumps(plain(root)) if root is not None else None


_LATEST: dict[str, str] = {}
"""The check that caught the latest mutant of a kind: the next is looked at by it first."""


def is_caught(mutant: Mutant) -> bool:
    """Whether a finding points where the mistake is. The originals are clean, so every finding is new."""
    for item in findings(mutant):
        if _tells(mutant, item):
            _LATEST[mutant.mistake.name] = item.code
            return True
    return False


def _tells(mutant: Mutant, item: Diagnostic) -> bool:
    assert not item.is_crash, item.message
    match mutant.mistake.where:
        case Where.ANYWHERE:
            return True
        case Where.STEP:
            return item.step == mutant.seed.owner or _points_at(mutant, item)
        case Where.HERE:
            return _points_at(mutant, item)


def findings(mutant: Mutant) -> Iterator[Diagnostic]:
    """What is found in the mutant, and after that in the workflows that call it; information left out."""
    text = mutant.text(originals()[mutant.file].source.text)
    latest = _LATEST.get(mutant.mistake.name)
    # The last of the rules looks at what the others have seen.
    rules = [*sorted(RULES[:-1], key=lambda rule: rule.code != latest), *RULES[-1:]]
    for callers in (False, True) if mutant.mistake.where is Where.ANYWHERE else (False,):
        for file in _project(mutant.file, text, callers).files:
            for item in each_finding(file, rules):
                if item.severity is not Severity.INFO:
                    yield item


def findings_in(file: str) -> tuple[str, Callable[[str], list[Diagnostic]]]:
    """A workflow's text, and what is found in another text in its place."""
    return originals()[file].source.text, lambda text: check_file(_project(file, text, False).files[0])


def chosen_mutants(mistake: str) -> list[Mutant]:
    """The mutants that the tests look at: a few of each file, spread over it, and all that the list names.

    Places of one file are alike, and all 4,700 take minutes: `HYPOTHESIS_PROFILE=long` looks at every one.
    """
    by_file: dict[str, list[Mutant]] = {}
    for mutant in all_mutants():
        if mutant.mistake.name == mistake:
            by_file.setdefault(mutant.file, []).append(mutant)
    if os.environ.get("HYPOTHESIS_PROFILE") == "long":
        return [mutant for found in by_file.values() for mutant in found]
    return [
        mutant
        for found in by_file.values()
        for number, mutant in enumerate(found)
        if number * PLACES // len(found) != (number - 1) * PLACES // len(found) or str(mutant) in LISTED
    ]


def one_of_each() -> list[Mutant]:
    """A mutant of each kind: the middle one of those that are not listed."""
    found: dict[str, list[Mutant]] = {}
    for mutant in all_mutants():
        if str(mutant) not in LISTED:
            found.setdefault(mutant.mistake.name, []).append(mutant)
    return [mutants[len(mutants) // 2] for mutants in found.values()]


def _project(file: str, text: str, callers: bool) -> Project:
    config = _config()
    calling, called = _beside(file)
    project = Project(config, others=lambda: [_file(name) for name in called])
    for name, data in [(file, text.encode()), *map(_file, calling if callers else ())]:
        load_file(name, data, config, project)
    return project


def _file(name: str) -> tuple[str, bytes]:
    return name, originals()[name].source.text.encode()


def _points_at(mutant: Mutant, item: Diagnostic) -> bool:
    return item.path == mutant.file and any(
        item.span.start <= end and start <= item.span.end for start, end in mutant.places()
    )
