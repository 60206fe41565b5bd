"""What the editor tells: texts that are opened, changed and closed, files that change on disk."""

from __future__ import annotations

from lsprotocol import types as lsp

from wfc.lsp.workspace import WorkflowServer

_WATCHED = lsp.Registration(
    "files",
    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES,
    lsp.DidChangeWatchedFilesRegistrationOptions(
        [lsp.FileSystemWatcher("**/pyproject.toml"), lsp.FileSystemWatcher("**/*.{yaml,yml}")]
    ),
)


async def begun(server: WorkflowServer, told: lsp.InitializedParams) -> None:
    workspace = server.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace else None
    if watching and watching.dynamic_registration:
        await server.client_register_capability_async(lsp.RegistrationParams([_WATCHED]))


async def shut_down(server: WorkflowServer, told: None) -> None:
    server.was_shut_down = True


async def opened(server: WorkflowServer, told: lsp.DidOpenTextDocumentParams) -> None:
    server.check_soon(told.text_document.uri)


async def changed(server: WorkflowServer, told: lsp.DidChangeTextDocumentParams) -> None:
    server.check_soon(told.text_document.uri)


async def saved(server: WorkflowServer, told: lsp.DidSaveTextDocumentParams) -> None:
    """Files that nobody has open may now have what this one calls."""
    server.check_all_soon()


async def changed_on_disk(server: WorkflowServer, told: lsp.DidChangeWatchedFilesParams) -> None:
    """The settings, or files that nobody has open: a switch of branches, for one."""
    server.check_all_soon()


async def closed(server: WorkflowServer, told: lsp.DidCloseTextDocumentParams) -> None:
    server.forget(told.text_document.uri)
