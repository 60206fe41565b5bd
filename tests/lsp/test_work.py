"""How much work an editor's questions take in a long file, in either language; `make bench` has the milliseconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.workspace import Workspace

from tests.counting import calls_of
from tests.lsp.editor import Editor, position
from tests.lsp.long import LANGUAGES, STEPS, Long, long
from wfc.lsp import analysis as analysing
from wfc.lsp import server, workspace
from wfc.lsp.workspace import WorkflowServer

MOST_CALLS = 30_000
"""For an answer from a text that has been checked; parsing and checking these texts takes more than 150,000."""


class InPlace(Executor):
    """Does at once, in the same thread, what it is given: there it can be counted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class Counted:
    """A language server in this process that counts texts loaded and checked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loaded = self.checked = 0
        self.folder = folder
        load, check = analysing.load_project, analysing.check_project

        def counted_load(*given: Any, **more: Any) -> Any:
            self.loaded += 1
            return load(*given, **more)

        def counted_check(*given: Any, **more: Any) -> Any:
            self.checked += 1
            return check(*given, **more)

        monkeypatch.setattr(analysing, "load_project", counted_load)
        monkeypatch.setattr(analysing, "check_project", counted_check)
        self.server = WorkflowServer()
        self.server.protocol._workspace = Workspace(folder.as_uri())
        self.server._checker = self.server._looker = InPlace()  # type: ignore[assignment]
        self.published: list[lsp.PublishDiagnosticsParams] = []
        self.server.text_document_publish_diagnostics = self.published.append  # type: ignore[method-assign]
        self._monkeypatch = monkeypatch
        self._version = 0

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def put(self, name: str, text: str) -> None:
        """A text that has just been typed: nothing has been worked out for it."""
        self._version += 1
        self.server.workspace.put_text_document(
            lsp.TextDocumentItem(self.uri(name), "yaml", self._version, text)
        )

    def open(self, name: str, text: str) -> None:
        """A text that has rested and been checked."""
        self.put(name, text)

        async def check() -> None:
            self.server.check_soon(self.uri(name))
            await self.server.rested(self.uri(name))

        self._monkeypatch.setattr(workspace, "_PAUSE", 0)
        asyncio.run(check())
        self.loaded = self.checked = 0

    def ask(self, name: str, question: str, at: lsp.Position) -> Any:
        return asyncio.run(self._asked(name, question, at))

    def _asked(self, name: str, question: str, at: lsp.Position) -> Coroutine[Any, Any, Any]:
        document = lsp.TextDocumentIdentifier(self.uri(name))
        match question:
            case "hover":
                return server.hover(self.server, lsp.HoverParams(document, at))
            case "complete":
                return server.complete(self.server, lsp.CompletionParams(document, at))
            case "define":
                return server.define(self.server, lsp.DefinitionParams(document, at))
            case "references":
                context = lsp.ReferenceContext(include_declaration=True)
                return server.refer(self.server, lsp.ReferenceParams(context, document, at))
            case "may_rename":
                return server.may_rename(self.server, lsp.PrepareRenameParams(document, at))
            case "rename":
                return server.rename(self.server, lsp.RenameParams(document, at, "another"))
            case "outline":
                return server.outline(self.server, lsp.DocumentSymbolParams(document))
            case "actions":
                context = lsp.CodeActionContext([])
                return server.act(self.server, lsp.CodeActionParams(document, lsp.Range(at, at), context))
        raise AssertionError(question)


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(tmp_path, monkeypatch)


@pytest.fixture(params=LANGUAGES)
def file(request: pytest.FixtureRequest) -> Long:
    return long(request.param)


def name_in(file: Long, text: str = "") -> lsp.Position:
    return position(text or file.text, file.reference, len(file.reference) + 2, last=True)


@pytest.mark.parametrize(
    "question", ["hover", "complete", "define", "references", "may_rename", "rename", "outline"]
)
def test_a_question_about_a_checked_text_loads_and_checks_nothing(
    counted: Counted, file: Long, question: str
) -> None:
    counted.open(file.name, file.text)
    assert counted.published[-1].diagnostics == []
    answers: list[Any] = []
    calls = calls_of(lambda: answers.append(counted.ask(file.name, question, name_in(file))))
    assert answers[0], "an answer of nothing is no answer"
    assert (counted.loaded, counted.checked) == (0, 0)
    assert calls < MOST_CALLS


def test_a_quick_fix_is_tried_once_and_then_known(counted: Counted, file: Long) -> None:
    wrong = file.text.replace("type: ", "tpye: ", 1)
    counted.open(file.name, wrong)
    at = position(wrong, "tpye", 1)
    first = counted.ask(file.name, "actions", at)
    assert first
    assert (counted.loaded, counted.checked) == (1, 1)
    answers: list[Any] = []
    calls = calls_of(lambda: answers.append(counted.ask(file.name, "actions", at)))
    assert answers == [first]
    assert (counted.loaded, counted.checked) == (1, 1)
    assert calls < MOST_CALLS


def test_completions_need_no_new_look_for_each_character_typed_in_a_line(
    counted: Counted, file: Long
) -> None:
    counted.open(file.name, file.text)
    at = position(file.text, file.reference, len(file.reference), last=True)
    offset = file.text.rindex(file.reference) + len(file.reference)
    for typed in ("o", "ou", "out", "outp", "outpu", "output"):
        counted.put(file.name, file.text[:offset] + typed + file.text[offset:])
        found: list[Any] = []
        place = lsp.Position(at.line, at.character + len(typed))
        calls = calls_of(
            lambda place=place, into=found: into.append(counted.ask(file.name, "complete", place))
        )
        assert len(found[0]) > STEPS // 2
        assert calls < MOST_CALLS
    assert (counted.loaded, counted.checked) == (0, 0)


@pytest.mark.parametrize("question", ["hover", "define"])
def test_a_question_right_after_a_key_far_above_needs_no_new_look(
    counted: Counted, file: Long, question: str
) -> None:
    counted.open(file.name, file.text)
    for typed in range(5):
        text = file.text.replace("\n", "\n# " + "x" * typed + "\n", 1)
        counted.put(file.name, text)
        assert counted.ask(file.name, question, name_in(file, text))
    assert (counted.loaded, counted.checked) == (0, 0)


@pytest.mark.parametrize("question", ["references", "may_rename", "rename", "outline"])
def test_what_only_a_new_text_can_say_takes_one_look_and_no_check(
    counted: Counted, file: Long, question: str
) -> None:
    counted.open(file.name, file.text)
    text = f"{file.text}# more\n"
    counted.put(file.name, text)
    for _ in range(3):
        assert counted.ask(file.name, question, name_in(file, text))
    assert (counted.loaded, counted.checked) == (1, 0)


@pytest.mark.parametrize("question", ["hover", "complete", "define", "references", "outline"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_question_takes_work_at_most_in_proportion_to_the_text(
    counted: Counted, language: str, question: str
) -> None:
    def work(number: int) -> int:
        file = long(language, number)
        counted.open(file.name, file.text)
        return calls_of(lambda: counted.ask(file.name, question, name_in(file)))

    work(STEPS // 4)  # The first question of a process also fills caches that later ones share.
    assert work(STEPS) < 4.5 * work(STEPS // 4)


def test_a_definition_asked_for_while_one_types_is_where_the_line_is_now(tmp_path: Path, file: Long) -> None:
    editor = Editor(tmp_path)
    assert editor.open(file.name, file.text) == []
    at = name_in(file)
    defined = editor.define(file.name, at)
    for added in range(1, 6):
        editor.change(file.name, file.text.replace("\n", "\n" + "#\n" * added, 1))
        moved = lsp.Position(at.line + added, at.character)
        assert editor.define(file.name, moved) == [
            (name, line + added * (line > 1)) for name, line in defined
        ]
    editor.close()
