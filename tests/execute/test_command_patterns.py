"""Command patterns: the grammar of a command, what a pattern covers, and which words are executed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfc_runtime.execute.permissions import NotWordsError, check_pattern, find_program, refusal_of, words_of


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("pytest -q tests", ["pytest", "-q", "tests"]),
        ("  pytest \t -q\t", ["pytest", "-q"]),
        ("pytest -q\n", ["pytest", "-q"]),
        ("pytest -q\n\n", ["pytest", "-q"]),
        ("pytest 'a; b' '$(x)'", ["pytest", "a; b", "$(x)"]),
        ('pytest "a && b" "it\'s"', ["pytest", "a && b", "it's"]),
        ("pytest a\\;b\\ c \\$x \\\\", ["pytest", "a;b c", "$x", "\\"]),
        ("pytest '' \"\"", ["pytest", "", ""]),
        ("py'te's\"t\" x", ["pytest", "x"]),
        ("git commit -m 'one\n\ntwo\tthree'", ["git", "commit", "-m", "one\n\ntwo\tthree"]),
        ("git diff HEAD~1 HEAD^ a#b --x=1", ["git", "diff", "HEAD~1", "HEAD^", "a#b", "--x=1"]),
        ("pytest -k 'a or b' x::y[1]".replace("[1]", "'[1]'"), ["pytest", "-k", "a or b", "x::y[1]"]),
        ("pytest caf\u00e9\u00a0x \u2003", ["pytest", "caf\u00e9\u00a0x", "\u2003"]),
        ("echo 'it'\"'\"'s'", ["echo", "it's"]),
        ("'my program' x", ["my program", "x"]),
    ],
)
def test_a_command_is_words_and_quotes(command: str, words: list[str]) -> None:
    assert words_of(command) == words


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("", "names no program"),
        (" \t\n", "names no program"),
        ("'' x", "names no program"),
        ("pytest x | sh", "a pipe (`|`)"),
        ("pytest x || sh", "a pipe (`|`)"),
        ("pytest x; rm y", "`;`"),
        ("pytest x && rm y", "`&`"),
        ("pytest x &", "`&`"),
        ("pytest x > y", "a redirection (`>`)"),
        ("pytest x < y", "a redirection (`<`)"),
        ("pytest $HOME", "an expansion (`$`)"),
        ('pytest "$HOME"', "an expansion (`$`) in double quotes"),
        ("pytest `rm y`", "a command substitution (a backtick)"),
        ('pytest "`rm y`"', "a command substitution (a backtick) in double quotes"),
        ('pytest "a\\b"', "`\\` in double quotes"),
        ('pytest "!x"', "`!` in double quotes"),
        ("! pytest", "`!`"),
        ("pytest *.py", "a glob (`*`)"),
        ("pytest a?", "a glob (`?`)"),
        ("pytest [a]", "a glob (`[`)"),
        ("pytest {a,b}", "braces"),
        ("(pytest)", "parentheses"),
        ("pytest ~/x", "a home directory (`~`)"),
        ("pytest --x=~/x", "a home directory (`~`)"),
        ("pytest a:~/x", "a home directory (`~`)"),
        ("pytest x # y", "a comment (`#`)"),
        ("X=1 pytest", "an assignment"),
        ("X+=1 pytest", "an assignment"),
        ("'X=1' pytest", "an assignment"),
        ("pytest x\nrm y", "a newline outside quotes"),
        ("\npytest x", "a newline outside quotes"),
        ("pytest x\\\ny", "before a character that is not printable ASCII"),
        ("pytest x\\", "before a character that is not printable ASCII"),
        ("pytest x\\\u00e9", "before a character that is not printable ASCII"),
        ("pytest 'x", "a quote is not closed"),
        ('pytest "x', "a quote is not closed"),
        ("pytest x\0", "a control character (U+0000)"),
        ("pytest 'x\0'", "a control character (U+0000)"),
        ("pytest x\r", "a control character (U+000D)"),
        ("pytest 'x\r'", "a control character (U+000D)"),
        ("pytest \x1b[0m", "a control character (U+001B)"),
        ("pytest x\x85y", "a control character (U+0085)"),
        ("pytest '\x7f'", "a control character (U+007F)"),
        ("pytest \udc80", "half of a surrogate pair"),
        ("pytest '\ud800'", "half of a surrogate pair"),
    ],
)
def test_what_needs_a_shell_is_covered_by_no_pattern_and_the_reason_says_why(command: str, why: str) -> None:
    assert why in refusal_of(command, ("pytest *", "* *"))
    with pytest.raises(NotWordsError):
        words_of(command)


def _covered(command: str, pattern: str) -> bool:
    return not refusal_of(command, (pattern,))


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("pytest *", "pytest"),
        ("pytest *", "pytest -q --rootdir=x 'a b' ''"),
        ("pytest", "pytest"),
        ("pytest * -q", "pytest x -q"),
        ("pytest * -q", "pytest '' -q"),
        ("pytest tests/*", "pytest tests/a/../b"),
        ("pytest tests/* *", "pytest tests/a -x -q"),
        ("pytest *a*b*", "pytest xxaxxbxx"),
        ("pytest *a*a*", "pytest aa"),
        ("pytest '*'", "pytest '*'"),
        ("pytest \\*", "pytest '*'"),
        ("py* *", "pytest x"),
        ("* --version", "git --version"),
        ("./* *", "./tool x"),
        ("/usr/bin/git *", "/usr/bin/git status"),
        ("'my tool' *", "my\\ tool x"),
        ("../tools/* x", "../tools/y x"),
        ("git commit -m *", "git commit -m 'a | b; c'"),
    ],
)
def test_a_pattern_covers(pattern: str, command: str) -> None:
    assert _covered(command, pattern)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("pytest *", "pytest2 x"),
        ("pytest *", "/tmp/pytest x"),
        ("pytest *", "./pytest x"),
        ("pytest *", "'pytest x'"),
        ("pytest *", "PYTEST x"),
        ("pytest *", "pytest\u00a0x"),
        ("pytest", "pytest x"),
        ("pytest '*'", "pytest x"),
        ("pytest \\*", "pytest x"),
        ("pytest -q", "pytest"),
        ("pytest * -q", "pytest a b -q"),
        ("pytest * -q", "pytest -q"),
        ("pytest ab*ba", "pytest aba"),
        ("pytest *a*a*", "pytest a"),
        ("pytest **", "pytest a b"),
        ("py* x", "py/../../bin/sh x"),
        ("* x", "/bin/sh x"),
        ("*sh x", "/bin/sh x"),
        ("./* x", "./a/b x"),
        ("./* x", "./../x x"),
        ("*/tool x", "../tool x"),
        ("tools/* x", "tools/.. x"),
        ("tools/*/x y", "tools/../x y"),
        ("git *", "gi't' \udc80"),
    ],
)
def test_a_pattern_does_not_cover(pattern: str, command: str) -> None:
    assert not _covered(command, pattern)


def test_no_pattern_covers_nothing() -> None:
    assert refusal_of("true", ())


@pytest.mark.parametrize(
    "pattern",
    ["pytest | tee *", "pytest 'x", "X=1 pytest *", "", "*", "  *", "'' *", "pytest > x", "a\nb", "a $x"],
)
def test_a_text_that_can_match_no_command_is_no_pattern(pattern: str) -> None:
    with pytest.raises(NotWordsError):
        check_pattern(pattern)


def test_matching_takes_time_in_proportion_to_the_length() -> None:
    many_stars = "pytest " + "*a" * 2_000 + "b"
    assert not _covered("pytest " + "a" * 200_000, many_stars)
    assert _covered("pytest " + "a" * 200_000 + "b", many_stars)
    assert len(words_of("echo " + "'x' " * 100_000)) == 100_001


@pytest.mark.parametrize("builtin", ["cd x", "exit 1", "export X", ". x", "eval x", "if x", "source x"])
def test_a_builtin_of_the_shell_is_refused_where_no_program_has_its_name(
    builtin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = builtin.split()[0]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert f"`{name}` is a shell builtin" in refusal_of(builtin, ("* *",))
    if name != ".":
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert refusal_of(builtin, ("* *",)) == ""


def test_a_plain_name_is_found_in_absolute_folders_of_path_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("bin", "here", "here/sub"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tool").write_text("#!/bin/sh\n")
        (tmp_path / folder / "tool").chmod(0o755)
    here, right = tmp_path / "here", str(tmp_path / "bin" / "tool")
    monkeypatch.chdir(here)
    for path in ("", ".", ":", "./", "sub", ":/nowhere:", "../bin"):
        assert find_program("tool", here, path) is None
        assert find_program("tool", here, f"{path}:{tmp_path}/bin") == right
    assert find_program("./tool", here, "") == f"{here}/./tool"
    assert find_program("sub/tool", here, "") == f"{here}/sub/tool"
    assert find_program("sub", tmp_path, str(here)) is None
    (tmp_path / "bin" / "tool").chmod(0o644)
    assert find_program("tool", here, f"{tmp_path}/bin") is None


SHELL_TEXT = st.lists(
    st.one_of(
        st.sampled_from(list("abz09-_./=:,+@%^~#]} \t'\"\\$`!*?[{(|&;<>\n\r\x00\x7f\u00e9\u00a0\u2028")),
        st.sampled_from(
            ["'a b'", '"a b"', "\\ ", "''", " -n ", "$'", "\\\n", "$(", "a=", "~/", " # ", "&&", "\\'"]
        ),
    ),
    max_size=12,
).map("".join)
IN_QUOTES = st.text(st.sampled_from("ab |&;<>()*?[]{}~#=^\n\t\u00e9\u2028"), max_size=6)
MOSTLY_PLAIN = st.lists(
    st.one_of(
        st.sampled_from(list("abz09-_./=:,+@%^]~# \t")),
        IN_QUOTES.map("'{}'".format),
        IN_QUOTES.map('"{}"'.format),
        st.sampled_from([f"\\{chr(code)}" for code in range(0x20, 0x7F)]),
    ),
    max_size=12,
).map("".join)


@given(st.one_of(SHELL_TEXT, MOSTLY_PLAIN))
def test_the_words_are_those_that_a_shell_gives(text: str) -> None:
    command = f"echo {text}"
    if refusal_of(command, ("echo *",)):
        return
    words = words_of(command)
    assert words[0] == "echo"
    # The real shell, with a program that shows its words in the place of `echo`.
    printed = subprocess.run(
        ["/bin/sh", "-c", f"printf '%s\\0' {text}"], capture_output=True, check=True, stdin=subprocess.DEVNULL
    )
    shown = os.fsdecode(printed.stdout).split("\0")[:-1]
    assert shown == (words[1:] or [""])
    assert printed.stderr == b""


@given(st.text(max_size=20))
def test_any_text_is_split_or_refused(text: str) -> None:
    try:
        words = words_of(text)
    except NotWordsError:
        return
    assert all("\0" not in word and os.fsencode(word) is not None for word in words)
