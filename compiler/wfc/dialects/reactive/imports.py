"""The tasks of other files: `imports` names files, and their tasks can be run like the file's own.

Imports of an imported file count too. Only tasks that a step runs become part of the workflow, so that a file of many
tasks costs nothing. Findings in an imported task point into its own file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from wfc.config import IMPORT_ENDINGS, import_places
from wfc.dialects.base import Reports, Surroundings
from wfc.dialects.reactive.build import places_of
from wfc.dialects.reactive.kinds import ParallelForeach
from wfc.dialects.reactive.model import ReactiveFile, Task
from wfc.dialects.reactive.reading import read_file
from wfc.dialects.reactive.scopes import Written, all_steps
from wfc.findings import Note, Severity
from wfc.language.values import Word
from wfc.suggest import nearest
from wfc.yaml import Mapping, Span, YamlLimits, parse_document, read_source

_OTHER_PARTS = ("steps", "blocks", "phases", "workflow", "imports")
"""The parts that can be imported from a file without tasks."""


def add_imported(file: ReactiveFile, around: Surroundings, reports: Reports) -> None:
    """Add the tasks of imported files that the workflow runs, directly or from another task, to its own."""
    if not file.imports:
        return
    own: dict[str, Task] = dict(file.sub_agent_tasks or {})
    imports = _Imports(around, reports, own, places_of(file.node.get("sub_agent_tasks")))
    imports.read(file, around.path, ())
    used = dict(own)
    todo: list[Written] = [file, *own.values()]
    for shape in todo:  # The list grows while it is read.
        for name in _run_by(shape):
            if name in imports.tasks and name not in used:
                used[name] = imports.tasks[name]
                todo.append(imports.tasks[name])
    if used:
        file.put("sub_agent_tasks", used)


def _run_by(shape: Written) -> Iterator[str]:
    for step in all_steps(shape):
        if isinstance(step, ParallelForeach) and step.sub_agent_task:
            yield step.sub_agent_task.text


class _Imports:
    """Reads the files that a file imports, each once."""

    def __init__(
        self, around: Surroundings, reports: Reports, own: dict[str, Task], places: dict[str, Span]
    ) -> None:
        self.tasks: dict[str, Task] = dict(own)
        self._places = places
        self._around = around
        self._reports = reports
        self._done: set[str] = set()
        config = around.config
        self._folders = [os.path.relpath(one, config.root) for one in config.workflow_dirs]

    def read(self, file: ReactiveFile, path: str, above: tuple[str, ...]) -> None:
        """Read what a file imports. `above`: the files on the way to it, the workflow first."""
        listed: set[str] = set()
        for word in file.imports or ():
            found = self._find(word, path)
            if found is None:
                continue
            if found in (*above, path):
                way = " -> ".join(f"`{one}`" for one in (*above, path, found))
                self._reports.add(
                    "WF108", word.span, f"files import each other: {way}", "remove one of the imports"
                )
            elif found in listed:
                self._reports.add(
                    "WF009",
                    word.span,
                    "no effect: this file is imported already",
                    "remove it",
                    severity=Severity.WARNING,
                )
            # A file that several files import is read once. That is no mistake, so it is not reported.
            elif found not in self._done:
                self._done.add(found)
                self._add(word, found, (*above, path))
            listed.add(found)

    def _find(self, word: Word, path: str) -> str | None:
        """The path of an imported file, relative to the project."""
        name = word.text
        if not name.endswith(IMPORT_ENDINGS):
            self._unusable(word.span, f"`{name}` is not a YAML file ({' or '.join(IMPORT_ENDINGS)})")
            return None
        places = import_places(path.rpartition("/")[0], name, self._folders)
        if not places:
            is_absolute = os.path.isabs(name)
            why = "must be relative to the folder of the file" if is_absolute else "is outside the project"
            self._unusable(word.span, f"`{name}` {why}")
            return None
        found = next((one for one in places if one in self._around.files or one == self._around.path), None)
        if found is None:
            near = nearest(name, [one for one in self._around.files if one.endswith(IMPORT_ENDINGS)])
            self._unusable(
                word.span,
                f"there is no file `{name}` in the project",
                f"did you mean `{near}`?" if near else "",
            )
        return found

    def _add(self, word: Word, path: str, above: tuple[str, ...]) -> None:
        config = self._around.config
        limits = config.limits
        text = self._around.files[path]
        if "\ufffd" in text:  # Bytes that can't be decoded were replaced by this character.
            self._unusable(word.span, f"`{path}` is not UTF-8 text")
            return
        # Findings name files relative to the current folder.
        shown = os.path.relpath(os.path.join(config.root, path))
        source, problems = read_source(text.encode(), shown, limits.source_bytes)
        document = (
            None if problems else parse_document(source, YamlLimits(limits.yaml_depth, limits.yaml_nodes))
        )
        problems = [*problems, *(document.problems if document else ())]
        if problems:
            note = (Note(problems[0].message, problems[0].span),)
            self._unusable(word.span, f"`{path}` can't be read as YAML", notes=note)
            return
        root = document.root if document else None
        if not isinstance(root, Mapping):
            self._unusable(word.span, f"`{path}` has no tasks: it is not a mapping")
            return
        file = read_file(root)
        places = places_of(file.node.get("sub_agent_tasks"))
        has_tasks = isinstance(root.get("sub_agent_tasks"), Mapping)
        if not has_tasks and all(root.entry(key) is None for key in _OTHER_PARTS):
            self._unusable(word.span, f"`{path}` has neither `sub_agent_tasks` nor a workflow")
        for name, task in (file.sub_agent_tasks or {}).items():
            self._places.setdefault(name, places[name])
            if self.tasks.setdefault(name, task) is not task:
                self._reports.add(
                    "WF101",
                    word.span,
                    f"two tasks have the name `{name}`",
                    "rename one of them",
                    notes=(Note("the first", self._places[name]), Note("the second", places[name])),
                )
        self.read(file, path, above)

    def _unusable(self, span: Span, why: str, help: str = "", notes: tuple[Note, ...] = ()) -> None:
        help = (
            help
            or "name a file beside this one or in a folder of workflows, without a link out of the project"
        )
        self._reports.add("WF117", span, f"unusable file: {why}", help, notes=notes)
