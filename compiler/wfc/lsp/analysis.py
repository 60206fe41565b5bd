"""One version of one document. Everything about it is computed on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as Table
from functools import partial
from pathlib import Path

from wfc.analysis.types.lattice import join
from wfc.analysis.types.reaching import child_names
from wfc.analysis.types.workflow import ScopeTypes, types_of
from wfc.caching import cached_property
from wfc.checker import check_project
from wfc.config import Config, ConfigError, load_config
from wfc.dialects import is_workflow
from wfc.dialects.editing import Suggestion
from wfc.findings import Diagnostic
from wfc.fixes import Candidate, Change, Checked, Trial, changes_of, fix_texts
from wfc.language.ast import Scope, Task, Workflow
from wfc.language.dialect import Parsed
from wfc.language.scopes import Site, runners, template_sites
from wfc.language.steps.base import Step
from wfc.language.steps.protocol import Child
from wfc.language.types import Type, member
from wfc.lsp.index import Index
from wfc.project import SourceFile
from wfc.workspace.files import MARKDOWN, Selection, is_left_out
from wfc.workspace.loading import load_project

PathTexts = Table[Path, str]
Files = Iterable[tuple[str, bytes]]


class Analysis:
    """A text in the project that it belongs to."""

    def __init__(self, path: Path, text: str, opened: PathTexts | None = None) -> None:
        """`opened` has the texts of all open documents, which override the files on disk."""
        self.path = path
        self.text = text
        self._opened = opened or {}
        self.config_error = ""
        self._judged: dict[tuple[Change, ...], bool] = {}

    @cached_property
    def file(self) -> SourceFile:
        selection = Selection.of_file(self._config(), self.path)
        # An editor may send lone surrogates, which no file can have.
        text = self.text.encode("utf-8", "replace").decode()
        project, files = load_project(selection, {self.path: text}, opened=self._opened, with_runs=True)
        project.others = partial(self._others, project.others, selection.config)
        return files[self.path]

    def _others(
        self, on_disk: Callable[[], Iterable[tuple[str, bytes]]], config: Config
    ) -> Iterator[tuple[str, bytes]]:
        """The other workflows of the project as the editor shows them, including those that were never saved."""
        opened = {path.resolve(): text.encode("utf-8", "replace") for path, text in self._opened.items()}
        # This document is loaded with the text of the analysis, not as one of the others.
        opened.pop(self.path.resolve(), None)
        for shown, data in on_disk():
            yield shown, opened.pop(Path(shown).resolve(), data)
        for path, data in opened.items():
            folder = _around(path, config)
            if folder is not None and not is_left_out(path, folder, config):
                yield str(path), data

    def _config(self) -> Config:
        try:
            return load_config(self.path.parent)
        except ConfigError as error:
            # An invalid pyproject.toml is reported, but the editor continues with the default settings.
            self.config_error = str(error)
            return Config(self.path.parent)

    @cached_property
    def index(self) -> Index:
        return Index(self.file)

    @cached_property
    def findings(self) -> list[Diagnostic]:
        """The findings in this file, including those that another file of the project causes."""
        if not self.is_workflow:
            return []
        return [found for found in check_project(self.file.project) if found.span.source is self.file.source]

    def is_harmless(self, found: Diagnostic) -> bool:
        """Whether the fix of a finding, applied alone, does what it says and nothing else."""
        if found.fix is None or not found.is_fixed_in_place:
            return False
        changes = changes_of(found.fix)
        if changes not in self._judged:
            trial = Trial({self.path: self.file.source.text}, self._checked, self._look)
            same = [one for one in self.findings if one.fix and changes_of(one.fix) == changes]
            trial.settle([Candidate(self.path, found.fix, changes, same)])
            self._judged[changes] = not trial.refused
        return self._judged[changes]

    @cached_property
    def fixed(self) -> str:
        """The text with all safe fixes."""
        text = self.file.source.text
        if not any(found.fix and found.fix.safe for found in self.findings):
            return text
        return fix_texts({self.path: text}, self._look, unsafe=False).texts[self.path]

    @property
    def _checked(self) -> dict[Path, Checked]:
        return {self.path: Checked(self.file, self.findings)}

    def _look(self, texts: PathTexts) -> dict[Path, Checked]:
        """The same document with another text."""
        if texts[self.path] == self.text:
            return self._checked
        return Analysis(self.path, texts[self.path], self._opened)._checked

    @cached_property
    def sites(self) -> list[Site]:
        """The templates of the document. Those of imported parts are in other files."""
        found = template_sites(self.file.workflow) if self.file.workflow else []
        return [site for site in found if site.text.node.span.source is self.file.source]

    @cached_property
    def scopes(self) -> dict[Scope, ScopeTypes]:
        types = types_of(self.file)
        return {scope.scope: scope for scope in types.scopes} if types else {}

    @cached_property
    def is_workflow(self) -> bool:
        """Whether the document is a workflow: editors send every YAML file."""
        path = self.path.resolve()
        folder = _around(path, self.file.config)
        if self.file.is_test:
            return folder is not None or self.file.project.tested_by(self.file) is not None
        if path.suffix == ".md" and path.name != MARKDOWN:
            return False
        if folder is not None:
            return not is_left_out(path, folder, self.file.config)
        return is_workflow(self.file.document.root)

    def prepare(self) -> None:
        """Compute in advance what most requests need."""
        _ = self.findings, self.index, self.sites, self.scopes

    def site_at(self, offset: int) -> Site | None:
        """The template at an offset."""
        for site in self.sites:
            span = site.text.node.span
            if span.start <= offset <= span.end:
                return site
        return None

    def step_named(self, name: str) -> tuple[Scope, Step] | None:
        for scope in self.file.scopes:
            for step in scope.walk():
                if step.name == name:
                    return scope, step
        return None

    def complete(self, text: str, offset: int) -> list[Suggestion]:
        """The completions at a position of `text`, which may be newer than this version."""
        is_dialect = self.is_workflow and not self.file.is_test
        return list(self.file.dialect.complete(self, text, offset)) if is_dialect else []

    # -- for the dialect: `wfc.dialects.editing.OpenFile` ----------------------

    @property
    def parsed(self) -> Parsed | None:
        return self.file.parsed

    def workflows(self) -> Iterable[str]:
        return self.file.project.names()

    def called(self, name: str) -> Workflow | None:
        return next((file.workflow for file in self.file.project.named(name) if file.workflow), None)

    def fields(self, scope: Scope | None) -> dict[str, Type]:
        types = self.scopes.get(scope) if scope else None
        return dict(types.field_types()) if types else {}

    def names_given(self, scope: Scope | None, starting: Child | None = None) -> dict[str, Type]:
        workflow = self.file.workflow
        if starting is not None:
            children = [starting]
        else:
            named = scope.task_name if isinstance(scope, Task) else None
            children = runners(workflow).get(named, []) if workflow and named else []
        owners = {step: types for types in self.scopes.values() for step in types.scope.walk()}
        given = [
            child_names(child, owners[child.step].item_of(child), owners[child.step].file)
            for child in children
            if child.step in owners
        ]
        # A task that several steps run has only the names that each of them gives.
        common = set(given[0]).intersection(*given[1:]) if given else ()
        return {name: join(*(one[name] for one in given)) for name in sorted(common)}

    def type_of_path(
        self, scope: Scope, path: Sequence[str | int | None], starting: Child | None = None
    ) -> Type | None:
        match path:
            case ["state", field, *rest]:
                kind = self.fields(scope).get(str(field))
            case ["inputs", name, *rest]:
                declared = scope.declared_inputs.get(str(name))
                kind = declared.read_type if declared else None
            case [root, *rest]:
                kind = self.names_given(scope, starting).get(str(root))
            case _:
                return None
        for name in rest:
            kind = member(kind, name) if kind is not None else None
        return kind


def _around(path: Path, config: Config) -> Path | None:
    """The workflow folder of the project that a file is in."""
    folders = (folder.resolve() for folder in config.workflow_dirs)
    return next((folder for folder in folders if path.is_relative_to(folder)), None)
