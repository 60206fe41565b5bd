"""Incremental check: the findings of each file are cached with a digest of their dependencies.

The findings of a file depend on its own text, on the files that it calls, directly or indirectly, on the inputs that
others give it (the fix of WF309), on files that need the same module name (WF110), on the runs of its workflow (WF703)
and, if it calls any workflow, on the names of all (WF111). Those of a test file depend on the workflow that it is
about and on all that this one calls. Everything else, such as settings and wfc itself, is part of the key of the whole
cache. A file is checked again when its digest differs; only that file and those that it depends on are parsed for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from wfc.checker import check_file, check_project, in_order
from wfc.config import Config, ReadError
from wfc.findings import Diagnostic, Edit, Fix, Note, Redaction, Severity
from wfc.lower.names import module_name
from wfc.project import Project, SourceFile, load_file
from wfc.struct import struct
from wfc.testfiles import tested_names
from wfc.worker_pool import run_in_workers
from wfc.workspace.cache import Content, Snapshot, as_bytes, digest_of, place_of, read_sealed, write_sealed
from wfc.workspace.files import Selection, as_typed
from wfc.workspace.loading import load_project, new_project
from wfc.yaml import Source, Span, read_source

_Json = Any


def check_incrementally(
    question: object, selection: Selection, snapshot: Snapshot, progress: Callable[[int, int], None]
) -> list[Diagnostic]:
    """All findings of the selected files, sorted by position. `question` distinguishes selections of the same
    folder."""
    try:
        return _check_changed(question, selection, snapshot, progress)
    except ReadError:
        # Some file can't be read. The full check reports that if it needs the file.
        project, _ = load_project(selection, with_runs=True, snapshot=snapshot)
        project.progress = progress
        return check_project(project)


def _check_changed(
    question: object, selection: Selection, snapshot: Snapshot, progress: Callable[[int, int], None]
) -> list[Diagnostic]:
    asked = as_bytes(repr(("findings", question, os.getcwd())))
    # Settings, options and wfc itself are part of the key, so a change of them drops all entries at once.
    place, key = place_of(asked), digest_of([asked, snapshot.surroundings.encode()])
    files = _Files(selection.config, snapshot)
    remembered = _read(place, key)
    # The facts depend on the file alone, so they stay valid when only a dependency has changed.
    known = {path: one.facts for path, one in remembered.items() if one.content == files.digest(path)}
    index = _Index(files, known)
    depends_on = {path: index.dependencies(path) for path in files.selected}
    found: dict[str, list[Diagnostic]] = {}
    for path, digest in depends_on.items():
        # A changed file has no valid facts; an unchanged one may still have stale findings.
        if path in known and remembered[path].depends_on == digest:
            found |= _revived(path, remembered[path].findings, files)
    changed = [path for path in files.selected if path not in found]
    found |= zip(changed, _check(files, index, changed, progress), strict=True)
    # If nothing is new, the entries on disk are right already.
    if changed or not index.facts.keys() <= known.keys():
        write_sealed(place, key, _entries(files, index, depends_on, found))
    return in_order(found.values())


def _check(
    files: _Files, index: _Index, changed: list[str], progress: Callable[[int, int], None]
) -> list[list[Diagnostic]]:
    project = files.project_of({path for one in changed for path in index.needed_for(one)})
    # Names of all files without parsing them, for suggestions.
    project.known_names = list(index.by_name)
    return run_in_workers(check_file, [files.parsed[path] for path in changed], project.processes, progress)


# -- what is known of each file ------------------------------------------------


@struct(frozen=True)
class _Facts:
    """The facts about a file that decide which other files depend on it."""

    name: str | None
    calls: dict[str, list[str]]
    """The workflows that it calls, each with the inputs that it passes."""
    tests: list[str] | None = None
    """Of a test file, the names that the file of its workflow may have, relative to its own folder."""

    @classmethod
    def of(cls, file: SourceFile) -> _Facts:
        calls: dict[str, set[str]] = {}
        for step in file.steps:
            child = step.child()
            if child is not None and not child.is_task:
                # A call whose name can't be read is recorded under the empty name: the file still depends on all names.
                calls.setdefault(child.name.text if child.name else "", set()).update(child.inputs or {})
        return cls(file.name, {name: sorted(inputs) for name, inputs in calls.items()}, _tested_names(file))


def _tested_names(file: SourceFile) -> list[str] | None:
    if not file.is_test:
        return None
    named = file.tests.workflow if file.tests else None
    return [named.value] if named else tested_names(os.path.basename(file.source.path))


@struct(frozen=True)
class _Entry:
    """The cached data of a file."""

    content: str
    facts: _Facts
    depends_on: str = ""
    """Empty for a file that is only called, which is read but not checked."""
    findings: _Json = ()


class _Files:
    """The files of a snapshot by the paths in messages, parsed on first use."""

    def __init__(self, config: Config, snapshot: Snapshot) -> None:
        self.selected: dict[str, Content] = {str(path): found for path, found in snapshot.selected.items()}
        self.others = {str(as_typed(path)): found for path, found in snapshot.others.items()}
        self.contents = {**self.others, **self.selected}
        self.runs = snapshot.runs
        self.parsed: dict[str, SourceFile] = {}
        self._sources: dict[str, Source] = {}
        self._config = config
        self._project = new_project(config, lambda: snapshot.runs, snapshot=snapshot)
        self._project.companions = lambda: snapshot.companions
        # Set in advance: the property would read and parse every other file.
        self._project.beside = Project(
            config,
            overrides=self._project.overrides,
            texts=self._project.texts,
            companions=self._project.companions,
        )

    def digest(self, path: str) -> str:
        """Empty for a file that no longer exists."""
        return self.contents[path].digest if path in self.contents else ""

    def parse(self, path: str) -> SourceFile:
        if path not in self.parsed:
            project = self._project if path in self.selected else self._project.beside
            self.parsed[path] = load_file(path, self.contents[path].read(), self._config, project)
        return self.parsed[path]

    def project_of(self, needed: set[str]) -> Project:
        """A project of some of the files in their original order: of several files with a name, the first is
        called."""
        for project, contents in ((self._project, self.selected), (self._project.beside, self.others)):
            for path in contents:
                if path in needed:
                    self.parse(path)
            # Files that were parsed for their facts stay in the project, in the order of the snapshot.
            project.files[:] = [self.parsed[path] for path in contents if path in self.parsed]
        return self._project

    def source(self, path: str) -> Source:
        if path in self.parsed:
            return self.parsed[path].source
        if path not in self._sources:
            data = self.contents[path].read()
            self._sources[path], _ = read_source(data, path, self._config.limits.source_bytes)
        return self._sources[path]

    def holds(self, source: Source) -> bool:
        """Whether a cached finding in this source can be located by the path of the source."""
        # Two files may have the same path in messages, such as one that was staged.
        return source.path in self.contents and self.source(source.path).text == source.text


class _Index:
    """Which files depend on which."""

    def __init__(self, files: _Files, known: dict[str, _Facts]) -> None:
        self._files = files
        self.facts = {path: known.get(path) or _Facts.of(files.parse(path)) for path in files.selected}
        # Other files matter only to calls and tests: without any, they are not even parsed.
        if any(facts.calls or facts.tests for facts in self.facts.values()):
            self.facts |= {path: known.get(path) or _Facts.of(files.parse(path)) for path in files.others}
        self.by_name: dict[str, list[str]] = {}
        for path, facts in self.facts.items():
            if facts.name is not None:
                self.by_name.setdefault(facts.name, []).append(path)
        # Of all names, since a new workflow can be a better suggestion.
        self._names = digest_of(map(as_bytes, self.by_name))
        self._by_place = {os.path.realpath(path): path for path in self.facts}
        self._callers: dict[str, list[str]] = {}
        self._modules: dict[str, list[str]] = {}
        for path in files.selected:
            facts = self.facts[path]
            for name in facts.calls:
                self._callers.setdefault(name, []).append(path)
            if facts.name is not None:
                self._modules.setdefault(_module(facts.name), []).append(path)

    def dependencies(self, path: str) -> str:
        """A digest of everything that the findings of a file depend on."""
        facts, digest = self.facts[path], self._files.digest
        name = facts.name or ""
        # Inputs that callers pass decide a fix of this file.
        given = {one for caller in self._callers.get(name, ()) for one in self.facts[caller].calls[name]}
        depends_on = (
            digest(path),
            [digest(one) for one in self._called(path)],
            [digest(one) for one in self._clashing(path)],
            sorted(given),
            [run for run in self._files.runs if run.workflow == facts.name],
            # An unknown workflow gets a suggestion from the names of all others (WF111).
            self._names if facts.calls else "",
            self._tested(path),
            [digest(one) for one in self._tested(path)],
            # With no such file, the nearest name of a file is suggested.
            sorted(self._by_place) if facts.tests and not self._tested(path) else "",
        )
        return digest_of([as_bytes(repr(depends_on))])

    def needed_for(self, path: str) -> Iterator[str]:
        """The files that must be parsed to check one."""
        yield path
        yield from self._called(path)
        yield from self._clashing(path)
        # The inputs that they pass are part of a fix.
        yield from self._callers.get(self.facts[path].name or "", ())
        yield from self._tested(path)
        if self.facts[path].tests and not self._tested(path):
            yield from self.facts

    def _tested(self, path: str) -> list[str]:
        """The workflow file that a test file is about, and those that it calls."""
        places = [os.path.join(os.path.dirname(path), name) for name in self.facts[path].tests or ()]
        found = [self._by_place[place] for place in map(os.path.realpath, places) if place in self._by_place]
        return [*found[:1], *self._called(found[0])] if found else []

    def _called(self, path: str) -> list[str]:
        """The files that it calls, directly or indirectly; all of them if several have the called name."""
        found: dict[str, None] = {}
        todo = [path]
        while todo:
            for name in self.facts[todo.pop()].calls:
                # All files of that name: which of them is called is for the rules to report.
                called = [one for one in self.by_name.get(name, ()) if one not in found]
                found |= dict.fromkeys(called)
                todo += called
        return list(found)

    def _clashing(self, path: str) -> list[str]:
        name = self.facts[path].name
        # On systems without case, two names may need the same module file.
        return self._modules[_module(name)] if name is not None else []


def _module(name: str) -> str:
    return module_name(name).casefold()


# -- the file of the cache -----------------------------------------------------


def _read(place: Path, key: str) -> dict[str, _Entry]:
    """Read the cache; empty if it can't be decoded."""
    try:
        return {
            str(path): _Entry(content, _Facts(*facts), depends_on, findings)
            for path, (content, facts, depends_on, findings) in (read_sealed(place, key) or {}).items()
        }
    except (AttributeError, TypeError, ValueError):
        return {}


def _entries(
    files: _Files, index: _Index, depends_on: dict[str, str], found: dict[str, list[Diagnostic]]
) -> dict[str, _Json]:
    redaction = Redaction(one for some in found.values() for one in some)
    entries: dict[str, _Json] = {}
    for path, facts in index.facts.items():
        findings = [_as_json(one) for one in found.get(path, ())]
        known = [facts.name, facts.calls, facts.tests]
        entry = [files.digest(path), known, depends_on.get(path, ""), findings]
        # Secrets must not be copied to the cache, so findings that contain one are computed each time. So are internal
        # failures, whose cause may lie outside the files.
        is_kept = not any(one.secret or one.is_crash for one in found.get(path, ()))
        places = (span for one in found.get(path, ()) for span in _spans(one))
        if is_kept and not _holds_secret(entry, redaction) and all(files.holds(one.source) for one in places):
            entries[path] = entry
    return entries


def _spans(found: Diagnostic) -> Iterator[Span]:
    yield found.span
    yield from (note.span for note in (*found.notes, *found.flow) if note.span)
    yield from (edit.span for edit in found.fix.edits) if found.fix else ()


def _holds_secret(value: _Json, redaction: Redaction) -> bool:
    if isinstance(value, str):
        return redaction.text(value) != value
    if isinstance(value, dict):
        return any(_holds_secret(one, redaction) for item in value.items() for one in item)
    return isinstance(value, list | tuple) and any(_holds_secret(one, redaction) for one in value)


def _as_json(found: Diagnostic) -> _Json:
    fix = found.fix
    return [
        found.code,
        found.name,
        found.severity,
        found.message,
        _span_as_json(found.span),
        [_note_as_json(note) for note in found.notes],
        found.help,
        fix and [fix.description, [[_span_as_json(edit.span), edit.text] for edit in fix.edits], fix.safe],
        found.step,
        [_note_as_json(note) for note in found.flow],
    ]


def _note_as_json(note: Note) -> _Json:
    return [note.message, note.span and _span_as_json(note.span)]


def _span_as_json(span: Span) -> _Json:
    return [span.source.path, span.start, span.end]


def _revived(path: str, findings: _Json, files: _Files) -> dict[str, list[Diagnostic]]:
    """Decode the cached findings of a file; empty if that fails, so that the file is checked again."""
    try:
        return {path: list(_revive(findings, files))}
    except (TypeError, ValueError, LookupError):
        return {}


def _revive(findings: _Json, files: _Files) -> Iterator[Diagnostic]:
    def span(made: _Json) -> Span:
        path, start, end = made
        return Span(files.source(path), start, end)

    def notes(made: _Json) -> tuple[Note, ...]:
        return tuple(Note(message, place and span(place)) for message, place in made)

    for code, name, severity, message, place, around, help_, fix, step, flow in findings:
        edits = tuple(Edit(span(where), text) for where, text in fix[1]) if fix else ()
        yield Diagnostic(
            code=code,
            name=name,
            severity=Severity(severity),
            message=message,
            span=span(place),
            notes=notes(around),
            help=help_,
            fix=Fix(fix[0], edits, fix[2]) if fix else None,
            step=step,
            flow=notes(flow),
        )
