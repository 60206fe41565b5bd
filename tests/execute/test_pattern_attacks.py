"""Attempts to run another program with the command of a step, where the operator granted `pytest *` only.

Every attempt is executed for real, in a folder full of traps. If any other program ran, it would leave a file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from wfc_runtime.execute import Grant, execute
from wfc_runtime.execute.permissions import words_of

MADE = "MADE"
"""The file that must not be there."""

ATTEMPTS = {
    # Operators, in all their spellings.
    "semicolon": "pytest x; touch MADE",
    "and": "pytest x && touch MADE",
    "or": "pytest x || touch MADE",
    "pipe": "pytest x | touch MADE",
    "pipe-both": "pytest x |& touch MADE",
    "background": "pytest x & touch MADE",
    "newline": "pytest x\ntouch MADE",
    "carriage-return": "pytest x\r\ntouch MADE",
    "form-feed": "pytest x\ftouch MADE",
    "vertical-tab": "pytest x\v;touch MADE",
    "next-line": "pytest x\x85touch MADE",
    "group": "{ pytest x; touch MADE; }",
    "subshell": "(touch MADE)",
    "case-terminator": "pytest x ;; touch MADE",
    # Comments that hide the end of a quote.
    "quote-in-comment": "pytest x # '\ntouch MADE # '",
    "double-quote-in-comment": 'pytest x # "\ntouch MADE # "',
    "backslash-in-comment": "pytest x # \\\ntouch MADE",
    "quote-in-comment-behind-quotes": "pytest 'x' #'\ntouch MADE\n#'",
    "comment-first": "# pytest\ntouch MADE",
    "backtick-in-comment": "pytest x # `\ntouch MADE\n#`",
    # Expansions.
    "substitution": "pytest $(touch MADE)",
    "substitution-in-quotes": 'pytest "$(touch MADE)"',
    "substitution-over-lines": 'pytest "$\\\n(touch MADE)"',
    "substitution-over-lines-unquoted": "pytest $\\\n(touch MADE)",
    "backtick": "pytest `touch MADE`",
    "backtick-in-quotes": 'pytest "`touch MADE`"',
    "backtick-over-lines": 'pytest "\\\n`touch MADE`"',
    "arithmetic": "pytest $[$(touch MADE)]",
    "arithmetic-array": "pytest $[a[$(touch MADE)]]",
    "arithmetic-parentheses": "pytest $((a[$(touch MADE)]))",
    "parameter-default": "pytest ${x:=$(touch MADE)}",
    "parameter-transformed": "pytest ${x@P}",
    "ansi-quote": "pytest $'\\'' ; touch MADE #'",
    "ansi-quote-hex": "pytest $'\\x27; touch MADE #'",
    "locale-quote": 'pytest $"x"; touch MADE',
    "bash-function-substitution": "pytest ${ touch MADE; }",
    "process-substitution": "pytest <(touch MADE)",
    "process-substitution-out": "pytest >(touch MADE)",
    "brace": "{touch,MADE}",
    "history": "pytest !!; touch MADE",
    # Redirections.
    "redirection": "pytest x > MADE",
    "redirection-append": "pytest x >> MADE",
    "redirection-number": "pytest x 2>MADE",
    "redirection-both": "pytest x &> MADE",
    "redirection-first": "> MADE pytest x",
    "redirection-read-write": "pytest <> MADE",
    "here-document": "pytest <<E\n$(touch MADE)\nE",
    "here-string": "pytest <<< $(touch MADE)",
    # What stands before the program.
    "assignment": "PATH=. pytest x",
    "assignment-preload": "LD_PRELOAD=./evil.so pytest x",
    "assignment-substitution": "X=$(touch MADE) pytest x",
    "assignment-array": "X=(a $(touch MADE)) pytest x",
    "env": "env pytest x; touch MADE",
    "exec": "exec touch MADE",
    "eval": "eval 'touch MADE'",
    "keyword": "if touch MADE; then pytest x; fi",
    "negated": "! touch MADE",
    "function": "pytest() { touch MADE; }; pytest x",
    "alias": "alias pytest='touch MADE'\npytest x",
    # Another program of the same or nearly the same name.
    "relative": "./pytest x",
    "relative-by-parent": "sub/../pytest x",
    "folder": "sub/pytest x",
    "space-in-name": "'pytest x' y",
    "case": "PYTEST x",
    "wide-space": "pytest\u00a0x",
    "home": "~/pytest x",
    "glob": "./pyt?st x",
    "glob-star": "./pytes* x",
    "empty-name": "'' pytest x",
    "quoted-slash": "'./'pytest x",
    "escaped-slash": ".\\/pytest x",
    "escaped-newline": "./\\\npytest x",
    # Texts that end where nobody looks.
    "open-quote": "pytest 'x",
    "open-double-quote": 'pytest "x; touch MADE',
    "open-escape": "pytest x\\",
    "nul": "pytest x\0; touch MADE",
    "nul-name": "pytest\0 x; touch MADE",
    "surrogate": "pytest \udc3b touch MADE",
    "escape-character": "pytest \x1b; touch MADE",
}
"""None of them may be executed at all."""

DATA = {
    "quoted-operators": "pytest '; touch MADE' \"| touch MADE\" \\; touch MADE",
    "quoted-substitution": "pytest '$(touch MADE)' '`touch MADE`' \\$\\(touch MADE\\)",
    "quoted-newline": "pytest 'x\ntouch MADE\n'",
    "quoted-ansi": "pytest '$'\\'\"'\"'; touch MADE #'",
    "quoted-redirection": "pytest '>' MADE \\> MADE",
    "quoted-arithmetic": "pytest '$[a[$(touch MADE)]]'",
    "not-a-home": "pytest a~b HEAD~1",
    "options": "pytest -c MADE --exec=touch -- touch MADE",
    "odd-letters": "pytest \u037e\uff1b touch MADE \u2028 \u00a0",
    "only-spaces": "\t pytest\t\tx \t",
    "long": "pytest " + "'a; touch MADE' " * 2_000,
}
"""These run `pytest` and nothing else: what looks like a program is an argument."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`pytest` on PATH writes its arguments down; every other `pytest` is a trap."""
    real, root = tmp_path / "bin", tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    real.mkdir()
    _script(real / "pytest", 'printf \'%s\\0\' "$@" > "${0%/*}/../ran"')
    for trap in ("pytest", "sub/pytest", "pytest x", "PYTEST", "pytest\u00a0x", ".scratch-pytest"):
        _script(root / trap, f"touch {root}/{MADE}")
    home = tmp_path / "home"
    home.mkdir()
    _script(home / "pytest", f"touch {root}/{MADE}")
    monkeypatch.setenv("HOME", str(home))
    # An empty and a relative entry come first, as some people have it.
    monkeypatch.setenv("PATH", f":.:sub:{real}:/usr/bin:/bin")
    monkeypatch.chdir(root)
    return root


def _script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _run(place: Path, command: str, **more: Any) -> dict[str, Any]:
    parameters = {"command": command, **more}
    return execute({"type": "shell", "parameters": parameters}, Grant(place, commands=("pytest *",)))


def _found(place: Path) -> set[str]:
    return {path.name for path in place.parent.rglob("*") if path.name in (MADE, "ran")}


@pytest.mark.parametrize("shell", [True, False])
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_attempt_is_refused_and_nothing_is_executed(place: Path, attempt: str, shell: bool) -> None:
    result = _run(place, ATTEMPTS[attempt], shell=shell)
    assert result["error"]["code"] == "refused"
    assert _found(place) == set()


@pytest.mark.parametrize("shell", [True, False])
@pytest.mark.parametrize("attempt", DATA)
def test_what_only_looks_like_a_program_is_an_argument(place: Path, attempt: str, shell: bool) -> None:
    assert _run(place, DATA[attempt], shell=shell)["exit_code"] == 0
    assert _found(place) == {"ran"}
    ran = os.fsdecode((place.parent / "ran").read_bytes()).split("\0")[:-1]
    assert ran == words_of(DATA[attempt])[1:]


@pytest.mark.parametrize("folder", ["", "sub"])
def test_a_program_of_the_working_directory_is_never_meant_by_a_plain_name(place: Path, folder: str) -> None:
    assert _run(place, "pytest x", working_dir=folder)["exit_code"] == 0
    assert _found(place) == {"ran"}


def test_a_variable_that_the_operator_named_does_not_decide_which_program_runs(place: Path) -> None:
    grant = Grant(place, commands=("pytest *",), env=("PATH",))
    parameters = {"command": "pytest x", "env": {"PATH": str(place)}}
    assert execute({"type": "shell", "parameters": parameters}, grant)["exit_code"] == 0
    assert _found(place) == {"ran"}


@pytest.mark.parametrize(
    "name", ["BASH_ENV", "ENV", "LD_PRELOAD", "PATH", "PYTEST_ADDOPTS", "IFS", "SHELLOPTS"]
)
def test_a_step_sets_no_variable_that_the_operator_did_not_name(place: Path, name: str) -> None:
    result = _run(place, "pytest x", env={name: f"touch {MADE}"})
    assert result["error"]["code"] == "refused"
    assert _found(place) == set()


def test_a_program_that_is_missing_ends_as_in_a_shell(place: Path) -> None:
    grant = Grant(place, commands=("no-such-program *", "/etc/passwd"))
    missing = {"type": "shell", "parameters": {"command": "no-such-program x"}}
    result = execute(missing, grant)
    assert (result["exit_code"], result["success"]) == (127, False)
    assert "no such program" in result["stderr"]
    missing["parameters"]["shell"] = False  # type: ignore[index]
    assert "can't be started" in execute(missing, grant)["error"]["message"]


def test_a_script_without_an_interpreter_is_not_given_to_a_shell(place: Path) -> None:
    (place / "bare").write_text(f"touch {MADE}\n")
    (place / "bare").chmod(0o755)
    result = execute(
        {"type": "shell", "parameters": {"command": "./bare"}}, Grant(place, commands=("./bare",))
    )
    assert (result["exit_code"], "Exec format error" in result["stderr"]) == (126, True)
    assert _found(place) == set()


def test_a_worktree_is_covered_only_if_both_ways_to_add_it_are(place: Path) -> None:
    parameters = {"branch": "b", "path": "wt", "base_branch": "main; touch MADE"}
    action = {"type": "create_worktree", "parameters": parameters}
    for patterns in (("git worktree add wt b",), ("git worktree add -b *",), ("git status",)):
        assert execute(action, Grant(place, commands=patterns))["error"]["code"] == "refused"
    # It is covered now, and fails for want of a repository.
    result = execute(action, Grant(place, commands=("git worktree add *",)))
    assert result["error"]["code"] == "execution"
    assert _found(place) == set()
