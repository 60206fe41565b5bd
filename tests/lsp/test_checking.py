"""When texts are checked: after a pause, one at a time, and never twice for one question."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.workspace import Workspace

from tests.e2e.command import SMALL
from tests.support import PATIENCE
from wfc.lsp import server as requests
from wfc.lsp import workspace
from wfc.lsp.analysis import Analysis
from wfc.lsp.workspace import WorkflowServer
from wfc.project import SourceFile


class Checked:
    """What was looked through, how many at once, and a gate that all of it waits at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        self.at_once = self.most_at_once = 0
        self.gate = threading.Event()
        prepare = Analysis.prepare

        def counted(analysis: Analysis) -> None:
            self.texts.append(analysis.text)
            self.at_once += 1
            self.most_at_once = max(self.at_once, self.most_at_once)
            assert self.gate.wait(PATIENCE)
            prepare(analysis)
            self.at_once -= 1

        monkeypatch.setattr(Analysis, "prepare", counted)
        monkeypatch.setattr(workspace, "_PAUSE", 0)

    async def begun(self, number: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.texts) < number:
                await asyncio.sleep(0.01)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> Checked:
    return Checked(monkeypatch)


@pytest.fixture
def server(tmp_path: Path) -> WorkflowServer:
    made = WorkflowServer()
    made.protocol._workspace = Workspace(tmp_path.as_uri())
    made.text_document_publish_diagnostics = lambda told: None  # type: ignore[method-assign]
    return made


async def _turns() -> None:
    """As many turns of the loop as any task needs to come to where it waits."""
    for _ in range(100):
        await asyncio.sleep(0)


def put(server: WorkflowServer, uri: str, text: str, version: int = 1) -> None:
    server.workspace.put_text_document(lsp.TextDocumentItem(uri, "yaml", version, text))
    server.check_soon(uri)


def test_of_many_changes_the_first_and_the_last_are_looked_through_one_after_the_other(
    server: WorkflowServer, checked: Checked, tmp_path: Path
) -> None:
    uri = (tmp_path / "build.yaml").as_uri()
    texts = [SMALL.format(name=f"build{number}") for number in range(6)]

    async def type_on() -> None:
        for version, text in enumerate(texts, 1):
            put(server, uri, text, version)
            await checked.begun(1)
            await _turns()
        checked.gate.set()
        await server.rested(uri)

    asyncio.run(type_on())
    assert checked.texts == [texts[0], texts[-1]]
    assert checked.most_at_once == 1


def test_a_question_about_a_text_that_is_being_checked_waits_for_that(
    server: WorkflowServer, checked: Checked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = (tmp_path / "build.yaml").as_uri()
    text = SMALL.format(name="build")
    looked: list[str] = []
    look = server._look

    def counted(uri: str) -> Analysis:
        looked.append(uri)
        return look(uri)

    monkeypatch.setattr(server, "_look", counted)

    async def ask() -> lsp.Hover | None:
        put(server, uri, text)
        await checked.begun(1)
        place = lsp.Position(4, 11)
        asked = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), place)
        answer = asyncio.ensure_future(requests.hover(server, asked))
        await _turns()
        assert not answer.done()
        checked.gate.set()
        return await answer

    found = asyncio.run(ask())
    assert found is not None
    assert "Run a command" in str(found.contents)
    assert looked == [uri]


def test_versions_of_a_text_that_are_past_are_let_go(
    server: WorkflowServer, checked: Checked, tmp_path: Path
) -> None:
    uri = (tmp_path / "build.yaml").as_uri()
    checked.gate.set()
    seen: list[weakref.ref[SourceFile]] = []

    async def type_on() -> None:
        for version in range(1, 12):
            put(server, uri, SMALL.format(name=f"build{version}"), version)
            await server.rested(uri)
            seen.append(await server.ask(uri, lambda now: weakref.ref(now.file)))

    asyncio.run(type_on())
    gc.collect()
    assert sum(one() is not None for one in seen) == 1
