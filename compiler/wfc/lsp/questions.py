"""What the editor asks. Each question is answered from an analysis of the text as it is now."""

from __future__ import annotations

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path

from wfc.lsp.completion import suggestions_at
from wfc.lsp.findings import actions_of
from wfc.lsp.hover import hover_at
from wfc.lsp.naming import RenameError, definitions_at, references_at, renamable_at, renamed
from wfc.lsp.places import to_offset, to_position, to_range
from wfc.lsp.suggestion import Suggestion
from wfc.lsp.workspace import WorkflowServer
from wfc.source import Source, Span

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


async def hover(server: WorkflowServer, asked: lsp.HoverParams) -> lsp.Hover | None:
    analysis, offset = await server.place(asked)
    found = hover_at(analysis, offset)
    if found is None:
        return None
    text, (start, end) = found
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return lsp.Hover(content, to_range(Span(analysis.unit.source, start, end)))


async def complete(server: WorkflowServer, asked: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    uri = asked.text_document.uri
    text = server.workspace.get_text_document(uri).source
    offset = to_offset(Source("", text), asked.position)
    known = await server.known(uri, asked.position.line)
    return [_item(one) for one in suggestions_at(known, text, offset)]


async def define(server: WorkflowServer, asked: lsp.DefinitionParams) -> list[lsp.Location]:
    found = definitions_at(*(await server.place(asked)))
    return [lsp.Location(from_fs_path(str(path)) or "", to_range(span)) for path, span in found]


async def refer(server: WorkflowServer, asked: lsp.ReferenceParams) -> list[lsp.Location]:
    found = references_at(*(await server.place(asked)), asked.context.include_declaration)
    return [lsp.Location(asked.text_document.uri, to_range(span)) for span in found]


async def may_rename(server: WorkflowServer, asked: lsp.PrepareRenameParams) -> lsp.Range | None:
    found = renamable_at(*(await server.place(asked)))
    return to_range(found[1]) if found else None


async def rename(server: WorkflowServer, asked: lsp.RenameParams) -> lsp.WorkspaceEdit:
    try:
        spans = renamed(*(await server.place(asked)), asked.new_name)
    except RenameError as error:
        raise JsonRpcInvalidParams(str(error)) from None
    edits = [lsp.TextEdit(to_range(span), asked.new_name) for span in spans]
    return lsp.WorkspaceEdit(changes={asked.text_document.uri: edits})


async def act(server: WorkflowServer, asked: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Editors ask at every move of the cursor: what is found soon need not be looked for at once, in everyone's way."""
    uri = asked.text_document.uri
    await server.rested(uri)
    if uri not in server.workspace.text_documents:  # Closed in the meantime.
        return []
    return actions_of(server.analysis(uri), uri, asked)


async def outline(server: WorkflowServer, asked: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    analysis = await server.current(asked.text_document.uri)
    return [
        _symbol(analysis.unit.source, step.name, step.kind, step.node.span, step.span)
        for step in analysis.unit.steps
        if step.name
    ]


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
