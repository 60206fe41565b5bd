"""The protocol: a handler for each notification and request."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path, to_fs_path

from wfc.dialects.editing import Suggestion
from wfc.lsp.analysis import Analysis
from wfc.lsp.findings import FIX_ALL, actions_of
from wfc.lsp.hover import hover_at
from wfc.lsp.navigation import RenameError, definitions_at, references_at, renamable_at, renamed
from wfc.lsp.positions import Lines, to_offset, to_position, to_range
from wfc.lsp.workspace import WorkflowServer
from wfc.yaml import Source, Span

# Notifications: documents opened, changed and closed, and files changed on disk.

_WATCHED = lsp.Registration(
    "files",
    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES,
    lsp.DidChangeWatchedFilesRegistrationOptions(
        [lsp.FileSystemWatcher("**/pyproject.toml"), lsp.FileSystemWatcher("**/*.{yaml,yml}")]
    ),
)


async def begun(server: WorkflowServer, params: lsp.InitializedParams) -> None:
    workspace = server.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace else None
    # Some editors can't watch files. With those, saving a document checks everything again.
    if watching and watching.dynamic_registration:
        await server.client_register_capability_async(lsp.RegistrationParams([_WATCHED]))


async def shut_down(server: WorkflowServer, params: None) -> None:
    server.was_shut_down = True


async def opened(server: WorkflowServer, params: lsp.DidOpenTextDocumentParams) -> None:
    server.check_soon(params.text_document.uri)


async def changed(server: WorkflowServer, params: lsp.DidChangeTextDocumentParams) -> None:
    server.check_soon(params.text_document.uri)


async def saved(server: WorkflowServer, params: lsp.DidSaveTextDocumentParams) -> None:
    """Check everything: another tool may have changed files on disk that the open ones call."""
    server.check_all_soon()


async def changed_on_disk(server: WorkflowServer, params: lsp.DidChangeWatchedFilesParams) -> None:
    """Check everything: settings or files changed on disk, for example because of a `git switch`."""
    server.check_all_soon()


async def closed(server: WorkflowServer, params: lsp.DidCloseTextDocumentParams) -> None:
    server.forget(params.text_document.uri)


# Requests. Each is answered from an analysis of the current text.

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


async def hover(server: WorkflowServer, params: lsp.HoverParams) -> lsp.Hover | None:
    found = await server.ask_soon(params.text_document.uri, params.position, _hover, _hover_moved)
    return found[0] if found else None


async def complete(server: WorkflowServer, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    uri = params.text_document.uri
    text = server.workspace.get_text_document(uri).source
    offset = to_offset(Source("", text), params.position)
    known = await server.known(uri, params.position.line)
    return [_item(one) for one in known.complete(text, offset)]


async def define(server: WorkflowServer, params: lsp.DefinitionParams) -> list[lsp.Location]:
    return await server.ask_soon(
        params.text_document.uri,
        params.position,
        _definitions,
        partial(_definitions_moved, params.text_document.uri),
    )


async def refer(server: WorkflowServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
    uri = params.text_document.uri

    def references(now: Analysis) -> list[lsp.Location]:
        found = references_at(now, _offset(now, params.position), params.context.include_declaration)
        return [lsp.Location(uri, to_range(span)) for span in found]

    return await server.ask(uri, references)


async def may_rename(server: WorkflowServer, params: lsp.PrepareRenameParams) -> lsp.Range | None:
    def name(now: Analysis) -> lsp.Range | None:
        found = renamable_at(now, _offset(now, params.position))
        return to_range(found[1]) if found else None

    return await server.ask(params.text_document.uri, name)


async def rename(server: WorkflowServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    def edits(now: Analysis) -> list[lsp.TextEdit]:
        spans = renamed(now, _offset(now, params.position), params.new_name)
        return [lsp.TextEdit(to_range(span), params.new_name) for span in spans]

    uri = params.text_document.uri
    try:
        return lsp.WorkspaceEdit(changes={uri: await server.ask(uri, edits)})
    except RenameError as error:
        raise JsonRpcInvalidParams(str(error)) from None


async def act(server: WorkflowServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Editors ask whenever the cursor moves, so the answer waits for the check in progress instead of repeating it."""
    uri = params.text_document.uri
    await server.rested(uri)
    if uri not in server.workspace.text_documents:  # It was closed while this waited.
        return []
    return await server.ask(uri, lambda now: actions_of(now, uri, params))


async def outline(server: WorkflowServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    def symbols(now: Analysis) -> list[lsp.DocumentSymbol]:
        return [
            _symbol(now.file.source, step.name, step.kind, step.node.span, step.span)
            for step in now.file.steps
            if step.name and step.span.source is now.file.source
        ]

    return await server.ask(params.text_document.uri, symbols)


def _offset(analysis: Analysis, place: lsp.Position) -> int:
    return to_offset(analysis.file.source, place)


def _hover(analysis: Analysis, place: lsp.Position) -> list[lsp.Hover]:
    """A list of one hover or none."""
    found = hover_at(analysis, _offset(analysis, place))
    if found is None:
        return []
    text, (start, end) = found
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return [lsp.Hover(content, to_range(Span(analysis.file.source, start, end)))]


def _hover_moved(found: list[lsp.Hover], lines: Lines) -> list[lsp.Hover]:
    return [lsp.Hover(one.contents, lines.forth(one.range) if one.range else None) for one in found]


def _definitions(analysis: Analysis, place: lsp.Position) -> list[lsp.Location]:
    found = definitions_at(analysis, _offset(analysis, place))
    return [lsp.Location(from_fs_path(str(path)) or "", to_range(span)) for path, span in found]


def _definitions_moved(uri: str, found: list[lsp.Location], lines: Lines) -> list[lsp.Location] | None:
    moved: list[lsp.Location] = []
    for one in found:
        is_here = to_fs_path(one.uri) == to_fs_path(uri)
        place = lines.forth(one.range) if is_here else one.range
        if place is None:
            return None
        moved.append(lsp.Location(one.uri, place))
    return moved


def _item(found: Suggestion) -> lsp.CompletionItem:
    doc = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.doc) if found.doc else None
    return lsp.CompletionItem(
        found.text, kind=_KINDS[found.kind], detail=found.detail or None, documentation=doc
    )


def _symbol(source: Source, name: str, kind: str, whole: Span, own: Span) -> lsp.DocumentSymbol:
    # The span of a block mapping may end before the name does, and the protocol requires that it contains the name.
    end = max(whole.end, own.end)
    span = lsp.Range(to_position(source, min(whole.start, own.start)), to_position(source, end))
    return lsp.DocumentSymbol(name, lsp.SymbolKind.Event, span, to_range(own), detail=kind)


# The server with its handlers.

_TRIGGERS = [".", "{", "|", " ", "[", "@"]
_ACTIONS = [lsp.CodeActionKind.QuickFix, FIX_ALL]
_HANDLERS: dict[str, tuple[Callable[..., Any], object]] = {
    lsp.INITIALIZED: (begun, None),
    lsp.SHUTDOWN: (shut_down, None),
    lsp.TEXT_DOCUMENT_DID_OPEN: (opened, None),
    lsp.TEXT_DOCUMENT_DID_CHANGE: (changed, None),
    lsp.TEXT_DOCUMENT_DID_SAVE: (saved, None),
    lsp.TEXT_DOCUMENT_DID_CLOSE: (closed, None),
    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: (changed_on_disk, None),
    lsp.TEXT_DOCUMENT_HOVER: (hover, None),
    lsp.TEXT_DOCUMENT_COMPLETION: (complete, lsp.CompletionOptions(trigger_characters=_TRIGGERS)),
    lsp.TEXT_DOCUMENT_DEFINITION: (define, None),
    lsp.TEXT_DOCUMENT_REFERENCES: (refer, None),
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: (may_rename, None),
    lsp.TEXT_DOCUMENT_RENAME: (rename, lsp.RenameOptions(prepare_provider=True)),
    lsp.TEXT_DOCUMENT_CODE_ACTION: (act, lsp.CodeActionOptions(code_action_kinds=_ACTIONS)),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (outline, None),
}


def build() -> WorkflowServer:
    server = WorkflowServer()
    for name, (handler, options) in _HANDLERS.items():
        server.feature(name, options)(handler)
    return server
