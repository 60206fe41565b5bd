"""The protocol: what the server hears and answers, and the function for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lsprotocol import types as lsp

from wfc.lsp import events, questions
from wfc.lsp.findings import FIX_ALL
from wfc.lsp.workspace import WorkflowServer

_TRIGGERS = [".", "{", "|", " ", "[", "@"]
_ACTIONS = [lsp.CodeActionKind.QuickFix, FIX_ALL]
_HANDLERS: dict[str, tuple[Callable[..., Any], object]] = {
    lsp.INITIALIZED: (events.begun, None),
    lsp.SHUTDOWN: (events.shut_down, None),
    lsp.TEXT_DOCUMENT_DID_OPEN: (events.opened, None),
    lsp.TEXT_DOCUMENT_DID_CHANGE: (events.changed, None),
    lsp.TEXT_DOCUMENT_DID_SAVE: (events.saved, None),
    lsp.TEXT_DOCUMENT_DID_CLOSE: (events.closed, None),
    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: (events.changed_on_disk, None),
    lsp.TEXT_DOCUMENT_HOVER: (questions.hover, None),
    lsp.TEXT_DOCUMENT_COMPLETION: (questions.complete, lsp.CompletionOptions(trigger_characters=_TRIGGERS)),
    lsp.TEXT_DOCUMENT_DEFINITION: (questions.define, None),
    lsp.TEXT_DOCUMENT_REFERENCES: (questions.refer, None),
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: (questions.may_rename, None),
    lsp.TEXT_DOCUMENT_RENAME: (questions.rename, lsp.RenameOptions(prepare_provider=True)),
    lsp.TEXT_DOCUMENT_CODE_ACTION: (questions.act, lsp.CodeActionOptions(code_action_kinds=_ACTIONS)),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (questions.outline, None),
}


def build() -> WorkflowServer:
    server = WorkflowServer()
    for name, (handler, options) in _HANDLERS.items():
        server.feature(name, options)(handler)
    return server
