"""The open documents and their analyses. Documents are checked in the background as they change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from wfc.caching import clear_file_caches
from wfc.lsp.analysis import Analysis
from wfc.lsp.findings import diagnostics_of
from wfc.lsp.positions import Lines
from wfc.testfiles import is_test_file
from wfc.workspace.files import IMPORTING_KEY
from wfc_runtime.version import __version__

T = TypeVar("T")

_PAUSE = 0.15
"""Seconds without a change before a document is checked."""
_LONG = 8_000
"""Documents with more characters than this are answered from an older analysis where possible: a new one takes time."""


class WorkflowServer(LanguageServer):
    def __init__(self) -> None:
        super().__init__("wfc", __version__)
        self._latest: dict[str, Analysis] = {}
        self._readable: dict[str, Analysis] = {}
        self._checked: dict[str, Analysis] = {}
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._checker = ThreadPoolExecutor(max_workers=1)
        self._looker = ThreadPoolExecutor(max_workers=1)
        """Answers requests in its own thread, so that the event loop stays responsive."""
        self._at_work: Analysis | None = None
        """The analysis that is being checked at this moment."""
        self.was_shut_down = False
        """Whether the editor asked for a shutdown. The protocol treats an exit without one as a failure."""

    # -- answers ---------------------------------------------------------------

    async def known(self, uri: str, line: int) -> Analysis:
        """A checked analysis that differs from the text in this line at most; otherwise the last readable one.

        While a line is being typed, the document is often not valid YAML, and the names and types of its other lines do
        not change with each character.
        """
        checked = self._checked.get(uri)
        text = self.workspace.get_text_document(uri).source
        if checked is not None and _is_same_but_for(line, checked.text.split("\n"), text.split("\n")):
            return checked
        latest = await self.ask(uri, _loaded)
        return self._readable.get(uri, latest)

    async def rested(self, uri: str) -> None:
        """Wait until the current text has been checked."""
        while (check := self._checks.get(uri)) is not None and not check.done():
            await asyncio.wait([check])

    async def ask(self, uri: str, answer: Callable[[Analysis], T]) -> T:
        """Answer a request from the current text."""
        check, at_work = self._checks.get(uri), self._at_work
        text = self.workspace.get_text_document(uri).source
        if check and at_work and (at_work.path, at_work.text) == (_path(uri), text):
            await asyncio.wait(
                [check]
            )  # The same text is being checked: wait for that instead of starting over.
        analysis = self._latest.get(uri)
        if analysis is None or analysis.text != text:
            analysis = self._latest[uri] = self._look(uri)
        found = await asyncio.get_running_loop().run_in_executor(self._looker, answer, analysis)
        # A newer analysis may have started meanwhile.
        if self._latest.get(uri) is analysis:
            self._keep(uri, analysis)
        return found

    async def ask_soon(
        self,
        uri: str,
        place: lsp.Position,
        answer: Callable[[Analysis, lsp.Position], T],
        moved: Callable[[T, Lines], T | None],
    ) -> T:
        """The same for a position. After an edit elsewhere in a long document the older analysis answers.

        `moved` maps such an answer to the current lines. It returns None if the answer depends on lines that changed.
        """
        text = self.workspace.get_text_document(uri).source
        checked = self._checked.get(uri)
        if checked is not None and checked.text != text and len(text) > _LONG:
            lines = Lines.between(checked.text, text)
            before = lines.back(place)
            found = moved(answer(checked, before), lines) if before else None
            if found is not None:
                return found
        return await self.ask(uri, lambda now: answer(now, place))

    def _look(self, uri: str) -> Analysis:
        opened = {_path(one): document.source for one, document in self.workspace.text_documents.items()}
        return Analysis(_path(uri), self.workspace.get_text_document(uri).source, opened)

    def _keep(self, uri: str, analysis: Analysis) -> None:
        self._latest[uri] = analysis
        if analysis.file.workflow is not None:
            self._readable[uri] = analysis

    # -- checking --------------------------------------------------------------

    def check_soon(self, uri: str, *, alone: bool = False) -> None:
        """Check a document after a pause, and then the documents that call its workflow, unless `alone`."""
        # Each change restarts the pause, so that no check begins while someone types.
        self._stop_checking(uri)
        self._checks[uri] = asyncio.get_running_loop().create_task(self._check(uri, alone))

    def check_all_soon(self) -> None:
        for uri in list(self.workspace.text_documents):
            self.check_soon(uri, alone=True)

    async def _check(self, uri: str, alone: bool) -> None:
        await asyncio.sleep(_PAUSE)
        document = self.workspace.get_text_document(uri)
        analysis, version, before = self._look(uri), document.version, self._readable.get(uri)
        await asyncio.get_running_loop().run_in_executor(self._checker, self._prepare, analysis)
        # An edit during the check has scheduled another one, whose findings will be current.
        if self.workspace.get_text_document(uri).source != analysis.text:
            return
        self._keep(uri, analysis)
        if analysis.file.workflow is not None:
            self._checked[uri] = analysis
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, diagnostics_of(analysis, uri), version)
        )
        if not alone:
            # After a rename, the callers of the old name are affected too.
            self._check_callers(uri, {one.file.name for one in (before, analysis) if one})

    def _prepare(self, analysis: Analysis) -> None:
        """Runs in one thread: documents checked in parallel would all be late, because of the GIL."""
        self._at_work = analysis
        try:
            analysis.prepare()
        finally:
            self._at_work = None
            clear_file_caches()

    def _check_callers(self, uri: str, names: set[str | None]) -> None:
        """Check the documents that name a workflow whose name or inputs may have changed, or that import files."""
        for other, document in list(self.workspace.text_documents.items()):
            # A text search is enough: a superfluous check is cheap, and a missed one shows stale findings. A test
            # file need not name its workflow, and a file may be imported through another one.
            is_named = any(name and name in document.source for name in names)
            imports = IMPORTING_KEY.decode() in document.source
            if other != uri and (is_named or imports or is_test_file(other)):
                self.check_soon(other, alone=True)

    def _stop_checking(self, uri: str) -> None:
        waiting = self._checks.pop(uri, None)
        if waiting:
            waiting.cancel()

    def forget(self, uri: str) -> None:
        """Drop a closed document. From now on its file on disk counts, so the others are checked again."""
        for table in (self._latest, self._readable, self._checked):
            table.pop(uri, None)
        self._stop_checking(uri)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))
        self.check_all_soon()


def _loaded(analysis: Analysis) -> Analysis:
    _ = analysis.file
    return analysis


def _is_same_but_for(line: int, before: list[str], now: list[str]) -> bool:
    """Whether the texts differ in one line only, which may be new."""
    before_it, after_it = now[:line], now[line + 1 :]
    skipped = len(before) - len(before_it) - len(after_it)
    return skipped in (0, 1) and before[:line] == before_it and before[line + skipped :] == after_it


def _path(uri: str) -> Path:
    return Path(to_fs_path(uri) or "untitled.yaml")
