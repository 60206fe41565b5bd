"""An editor: the real client of a language server, talking to a real process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import TimeoutError
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from tests.forks import command
from tests.support import PATIENCE

T = TypeVar("T")


class Editor:
    """Opens texts, asks, and waits for diagnostics."""

    def __init__(self, folder: Path, server: Sequence[str] = ()) -> None:
        """`server` is the command that starts the language server; without one, it is forked."""
        self.folder = folder
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._client = LanguageClient("tests", "1")
        self._published: dict[str, list[lsp.Diagnostic]] = {}
        self._news = threading.Condition()
        self._versions: dict[str, int] = {}

        @self._client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(found: lsp.PublishDiagnosticsParams) -> None:
            # What is told of an earlier text may come after the next one has been sent.
            if found.version in (None, self._versions.get(found.uri)):
                with self._news:
                    self._published[found.uri] = list(found.diagnostics)
                    self._news.notify_all()

        self._wait(self._client.start_io(*(server or command("lsp")), cwd=str(folder)))
        capabilities = lsp.ClientCapabilities()
        asked = lsp.InitializeParams(capabilities=capabilities, root_uri=folder.as_uri())
        self.server = self._wait(self._client.initialize_async(asked))
        self._loop.call_soon_threadsafe(self._client.initialized, lsp.InitializedParams())

    def close(self) -> None:
        self._wait(self._client.shutdown_async(None))
        self._loop.call_soon_threadsafe(self._client.exit, None)
        self._wait(self._client.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    # -- texts -----------------------------------------------------------------

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> list[lsp.Diagnostic]:
        """Open a text, or change all of it, and wait for what is found in it."""
        uri = self.uri(name)
        version = self._versions[uri] = self._versions.get(uri, 0) + 1
        self._published.pop(uri, None)
        if version == 1:
            item = lsp.TextDocumentItem(uri, "yaml", version, text)
            opened = lsp.DidOpenTextDocumentParams(item)
            self._loop.call_soon_threadsafe(self._client.text_document_did_open, opened)
        else:
            identifier = lsp.VersionedTextDocumentIdentifier(version, uri)
            changes = [lsp.TextDocumentContentChangeWholeDocument(text)]
            changed = lsp.DidChangeTextDocumentParams(identifier, changes)
            self._loop.call_soon_threadsafe(self._client.text_document_did_change, changed)
        return self.found(name)

    def change(self, name: str, text: str) -> None:
        """Change a text, and wait for nothing."""
        uri = self.uri(name)
        self._versions[uri] += 1
        identifier = lsp.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        changed = lsp.DidChangeTextDocumentParams(
            identifier, [lsp.TextDocumentContentChangeWholeDocument(text)]
        )
        self._loop.call_soon_threadsafe(self._client.text_document_did_change, changed)

    def change_on_disk(self, name: str) -> list[lsp.Diagnostic]:
        """Say that a file has changed, and wait for what is then found in the first open text."""
        first = next(iter(self._versions)).removeprefix(f"{self.folder.as_uri()}/")
        self.forget(first)
        event = lsp.FileEvent(self.uri(name), lsp.FileChangeType.Changed)
        changed = lsp.DidChangeWatchedFilesParams([event])
        self._loop.call_soon_threadsafe(self._client.workspace_did_change_watched_files, changed)
        return self.found(first)

    def close_text(self, name: str) -> None:
        del self._versions[self.uri(name)]
        closed = lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(self.uri(name)))
        self._loop.call_soon_threadsafe(self._client.text_document_did_close, closed)

    def forget(self, name: str) -> None:
        """What has been found in a text so far."""
        self._published.pop(self.uri(name), None)

    def found(self, name: str) -> list[lsp.Diagnostic]:
        """What is found in a text, as soon as it is told."""
        uri = self.uri(name)
        with self._news:
            if not self._news.wait_for(lambda: uri in self._published, PATIENCE):
                raise TimeoutError(f"no diagnostics for {name}")
            return self._published[uri]

    # -- questions -------------------------------------------------------------

    def hover(self, name: str, at: lsp.Position) -> str:
        asked = lsp.HoverParams(lsp.TextDocumentIdentifier(self.uri(name)), at)
        found = self._wait(self._client.text_document_hover_async(asked))
        if found is None:
            return ""
        assert isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value

    def complete(self, name: str, at: lsp.Position) -> dict[str, lsp.CompletionItem]:
        asked = lsp.CompletionParams(lsp.TextDocumentIdentifier(self.uri(name)), at)
        found = self._wait(self._client.text_document_completion_async(asked))
        items = found.items if isinstance(found, lsp.CompletionList) else found or ()
        return {item.label: item for item in items}

    def define(self, name: str, at: lsp.Position) -> list[tuple[str, int]]:
        """File names and lines from 1."""
        asked = lsp.DefinitionParams(lsp.TextDocumentIdentifier(self.uri(name)), at)
        found: Any = self._wait(self._client.text_document_definition_async(asked))
        return [(one.uri.rpartition("/")[2], one.range.start.line + 1) for one in found or ()]

    def references(self, name: str, at: lsp.Position) -> list[int]:
        context = lsp.ReferenceContext(include_declaration=True)
        asked = lsp.ReferenceParams(context, lsp.TextDocumentIdentifier(self.uri(name)), at)
        found = self._wait(self._client.text_document_references_async(asked))
        return [one.range.start.line + 1 for one in found or ()]

    def rename(self, name: str, at: lsp.Position, to: str) -> list[lsp.TextEdit]:
        asked = lsp.RenameParams(lsp.TextDocumentIdentifier(self.uri(name)), at, to)
        found = self._wait(self._client.text_document_rename_async(asked))
        assert found is not None
        assert found.changes is not None
        return list(found.changes[self.uri(name)])

    def may_rename(self, name: str, at: lsp.Position) -> bool:
        asked = lsp.PrepareRenameParams(lsp.TextDocumentIdentifier(self.uri(name)), at)
        return self._wait(self._client.text_document_prepare_rename_async(asked)) is not None

    def actions(self, name: str, where: lsp.Range, *only: str) -> list[lsp.CodeAction]:
        context = lsp.CodeActionContext([], only=list(only) or None)
        asked = lsp.CodeActionParams(lsp.TextDocumentIdentifier(self.uri(name)), where, context)
        found = self._wait(self._client.text_document_code_action_async(asked))
        return [one for one in found or () if isinstance(one, lsp.CodeAction)]

    def outline(self, name: str) -> list[str]:
        asked = lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(self.uri(name)))
        found = self._wait(self._client.text_document_document_symbol_async(asked))
        return [one.name for one in found or ()]


def position(text: str, needle: str, inside: int = 0, *, last: bool = False) -> lsp.Position:
    """The place of some characters of a text, as an editor counts."""
    offset = (text.rindex if last else text.index)(needle) + inside
    before = text[:offset]
    line = before.count("\n")
    column = before[before.rfind("\n") + 1 :]
    return lsp.Position(line, len(column.encode("utf-16-le")) // 2)


def edited(text: str, edits: list[lsp.TextEdit]) -> str:
    """A text with edits applied, as an editor applies them."""
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines) + 1)]

    def offset(at: lsp.Position) -> int:
        if at.line >= len(lines):
            return len(text)
        units = lines[at.line].encode("utf-16-le")[: at.character * 2]
        return starts[at.line] + len(units.decode("utf-16-le"))

    for edit in sorted(edits, key=lambda one: offset(one.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text
