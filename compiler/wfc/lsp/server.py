"""The protocol. Each request is answered from an analysis; texts are checked in the background as they change."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from wfc.lsp.analysis import Analysis
from wfc.lsp.completion import suggestions_at
from wfc.lsp.findings import FIX_ALL, actions_of, diagnostics_of
from wfc.lsp.hover import hover_at
from wfc.lsp.naming import RenameError, definitions_at, references_at, renamable_at, renamed
from wfc.lsp.places import to_offset, to_position, to_range
from wfc.lsp.suggestion import Suggestion
from wfc.source import Source, Span
from wfc_runtime.version import __version__

_PAUSE = 0.15
"""How long a text must rest before it is checked, in seconds."""
_WATCHED = lsp.Registration(
    "files",
    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES,
    lsp.DidChangeWatchedFilesRegistrationOptions(
        [lsp.FileSystemWatcher("**/pyproject.toml"), lsp.FileSystemWatcher("**/*.{yaml,yml}")]
    ),
)
_KINDS = {
    "field": lsp.CompletionItemKind.Variable,
    "input": lsp.CompletionItemKind.Variable,
    "property": lsp.CompletionItemKind.Property,
    "step": lsp.CompletionItemKind.Reference,
    "task": lsp.CompletionItemKind.Function,
    "workflow": lsp.CompletionItemKind.Module,
    "type": lsp.CompletionItemKind.Class,
    "key": lsp.CompletionItemKind.Field,
    "value": lsp.CompletionItemKind.EnumMember,
    "filter": lsp.CompletionItemKind.Function,
    "test": lsp.CompletionItemKind.Function,
    "function": lsp.CompletionItemKind.Function,
    "name": lsp.CompletionItemKind.Variable,
}


class WorkflowServer(LanguageServer):
    """The open documents and what is known of them."""

    def __init__(self) -> None:
        super().__init__("wfc", __version__)
        self._latest: dict[str, Analysis] = {}
        self._readable: dict[str, Analysis] = {}
        self._checks: dict[str, asyncio.Task[None]] = {}

    def analysis(self, uri: str) -> Analysis:
        """Of the text as it is now."""
        text = self.workspace.get_text_document(uri).source
        known = self._latest.get(uri)
        if known is None or known.text != text:
            known = Analysis(Path(to_fs_path(uri) or "untitled.yaml"), text)
            self._latest[uri] = known
            if known.unit.workflow is not None:
                self._readable[uri] = known
        return known

    def readable(self, uri: str) -> Analysis:
        """Of the last text that could be read: while one types, that is often an earlier one."""
        latest = self.analysis(uri)
        return self._readable.get(uri, latest)

    def check_soon(self, uri: str) -> None:
        waiting = self._checks.pop(uri, None)
        if waiting:
            waiting.cancel()
        self._checks[uri] = asyncio.get_running_loop().create_task(self._check(uri))

    def check_all_soon(self) -> None:
        for uri in list(self.workspace.text_documents):
            self.check_soon(uri)

    async def _check(self, uri: str) -> None:
        await asyncio.sleep(_PAUSE)
        document = self.workspace.get_text_document(uri)
        analysis, version = (
            Analysis(Path(to_fs_path(uri) or "untitled.yaml"), document.source),
            document.version,
        )
        await asyncio.to_thread(analysis.prepare)
        if self.workspace.get_text_document(uri).source != analysis.text:
            return
        self._latest[uri] = analysis
        if analysis.unit.workflow is not None:
            self._readable[uri] = analysis
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, diagnostics_of(analysis, uri), version)
        )

    def forget(self, uri: str) -> None:
        for table in (self._latest, self._readable):
            table.pop(uri, None)
        waiting = self._checks.pop(uri, None)
        if waiting:
            waiting.cancel()
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def place(self, asked: Any) -> tuple[Analysis, int]:
        analysis = self.analysis(asked.text_document.uri)
        return analysis, to_offset(analysis.unit.source, asked.position)


def build() -> WorkflowServer:
    server = WorkflowServer()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(asked: lsp.DidOpenTextDocumentParams) -> None:
        server.check_soon(asked.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(asked: lsp.DidChangeTextDocumentParams) -> None:
        server.check_soon(asked.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(asked: lsp.DidSaveTextDocumentParams) -> None:
        """Another file may now have what this one calls."""
        server.check_all_soon()

    @server.feature(lsp.INITIALIZED)
    async def begun(asked: lsp.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace else None
        if watching and watching.dynamic_registration:
            await server.client_register_capability_async(lsp.RegistrationParams([_WATCHED]))

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def changed_on_disk(asked: lsp.DidChangeWatchedFilesParams) -> None:
        """The settings, or files that nobody has open: a switch of branches, for one."""
        server.check_all_soon()

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(asked: lsp.DidCloseTextDocumentParams) -> None:
        server.forget(asked.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(asked: lsp.HoverParams) -> lsp.Hover | None:
        analysis, offset = server.place(asked)
        found = hover_at(analysis, offset)
        if found is None:
            return None
        text, (start, end) = found
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
        return lsp.Hover(content, to_range(Span(analysis.unit.source, start, end)))

    triggers = [".", "{", "|", " ", "[", "@"]

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=triggers))
    def complete(asked: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        uri = asked.text_document.uri
        text = server.workspace.get_text_document(uri).source
        offset = to_offset(Source("", text), asked.position)
        return [_item(one) for one in suggestions_at(server.readable(uri), text, offset)]

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def define(asked: lsp.DefinitionParams) -> list[lsp.Location]:
        analysis, offset = server.place(asked)
        found = definitions_at(analysis, offset)
        return [lsp.Location(from_fs_path(str(path)) or "", to_range(span)) for path, span in found]

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def refer(asked: lsp.ReferenceParams) -> list[lsp.Location]:
        analysis, offset = server.place(asked)
        found = references_at(analysis, offset, asked.context.include_declaration)
        return [lsp.Location(asked.text_document.uri, to_range(span)) for span in found]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def may_rename(asked: lsp.PrepareRenameParams) -> lsp.Range | None:
        found = renamable_at(*server.place(asked))
        return to_range(found[1]) if found else None

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(asked: lsp.RenameParams) -> lsp.WorkspaceEdit:
        analysis, offset = server.place(asked)
        try:
            spans = renamed(analysis, offset, asked.new_name)
        except RenameError as error:
            raise JsonRpcInvalidParams(str(error)) from None
        edits = [lsp.TextEdit(to_range(span), asked.new_name) for span in spans]
        return lsp.WorkspaceEdit(changes={asked.text_document.uri: edits})

    kinds = [lsp.CodeActionKind.QuickFix, FIX_ALL]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=kinds))
    def act(asked: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = asked.text_document.uri
        return actions_of(server.analysis(uri), uri, asked)

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(asked: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        analysis = server.analysis(asked.text_document.uri)
        return [
            _symbol(analysis.unit.source, step.name, step.kind, step.node.span, step.span)
            for step in analysis.unit.steps
            if step.name
        ]

    return server


def _item(found: Suggestion) -> lsp.CompletionItem:
    doc = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.doc) if found.doc else None
    return lsp.CompletionItem(
        found.text, kind=_KINDS[found.kind], detail=found.detail or None, documentation=doc
    )


def _symbol(source: Source, name: str, kind: str, whole: Span, own: Span) -> lsp.DocumentSymbol:
    # What stands for a block of YAML may end on the line after it; a symbol must hold its own name.
    end = max(whole.end, own.end)
    span = lsp.Range(to_position(source, min(whole.start, own.start)), to_position(source, end))
    return lsp.DocumentSymbol(name, lsp.SymbolKind.Event, span, to_range(own), detail=kind)
