"""The permissions that an operator gives a server: command patterns, file patterns, and the grant."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from wfc_runtime.execute.protected import Protected
from wfc_runtime.scopes import ANY_DEPTH, is_wild, matches

# Command patterns: which commands the operator's patterns cover, and the words that are executed for them.
#
# A command granted by a pattern never reaches a shell. It is split into words, the words are compared with
# the pattern, and the same words are passed to `execve`. The grammar of a command:
#
# - Spaces and tabs separate words. Newlines at the end of the text are ignored.
# - `'...'` is literal. So is `"..."`, which must not contain `$`, a backtick, `\` or `!`.
# - `\` before a printable ASCII character outside quotes stands for that character.
# - Everything that a POSIX shell or bash would treat specially (operators, redirections, expansions, globs,
#   braces, comments, assignments, newlines, control characters) has no meaning here. A command that contains
#   it is not covered by any pattern.
#
# For a text that the grammar accepts, the words are those that `/bin/sh` would produce.
#
# A pattern has the same grammar, and an unquoted `*` in addition: as the last word it matches any number of words,
# including none; anywhere else it matches any characters within one word, including a leading `-`. In the first word,
# the program, it does not match `/`, nor a `..` between slashes.

_SPECIAL = {
    "|": "a pipe (`|`)",
    "&": "`&`",
    ";": "`;`",
    "<": "a redirection (`<`)",
    ">": "a redirection (`>`)",
    "(": "parentheses",
    ")": "parentheses",
    "$": "an expansion (`$`)",
    "`": "a command substitution (a backtick)",
    "*": "a glob (`*`)",
    "?": "a glob (`?`)",
    "[": "a glob (`[`)",
    "{": "braces",
    "}": "braces",
    "!": "`!`",
    "\n": "a newline outside quotes",
}
_SPECIAL_IN_DOUBLE_QUOTES = "$`\\!"
_BUILTINS = frozenset(
    (
        *(".", ":", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command"),
        *("compgen", "complete", "continue", "coproc", "declare", "dirs", "disown", "do", "done", "elif"),
        *("else", "enable", "esac", "eval", "exec", "exit", "export", "fc", "fg", "fi", "for", "function"),
        *("getopts", "hash", "help", "history", "if", "in", "jobs", "let", "local", "logout", "mapfile"),
        *("popd", "pushd", "read", "readarray", "readonly", "return", "select", "set", "shift", "shopt"),
        *("source", "suspend", "then", "time", "times", "trap", "type", "typeset", "ulimit", "umask"),
        *("unalias", "unset", "until", "wait", "while"),
    )
)
_ANY_WORDS = ("", "")

_Word = tuple[str, ...]
"""The literal pieces of a word, with a `*` between each two of them; a word without `*` has a single piece."""


class NotWordsError(ValueError):
    """The text is not a plain list of words. The message says why."""


def words_of(command: str) -> list[str]:
    """The words of a command; raises `NotWordsError`."""
    return [piece for (piece,) in _parse(command)]


def refusal_of(command: str, patterns: Iterable[str]) -> str:
    """Why no pattern covers a command; empty if one does."""
    try:
        words = words_of(command)
    except NotWordsError as error:
        return str(error)
    if not any(_covers(_parse_pattern(pattern), words) for pattern in patterns):
        return "the command matches no --allow-exec pattern of the server"
    # A file of that name in PATH is a program like any other, such as `/usr/bin/time`.
    if words[0] in _BUILTINS and find_program(words[0], None, os.environ.get("PATH")) is None:
        return f"it needs a shell: `{words[0]}` is a shell builtin, not a program"
    return ""


def check_pattern(pattern: str) -> None:
    """Raise `NotWordsError` if a text can't be a pattern."""
    _parse_pattern(pattern)


def find_program(name: str, folder: Path | None, path: str | None) -> str | None:
    """The file that a program word names: with a slash, relative to the folder; otherwise in PATH.

    Relative and empty entries of PATH are skipped: they would run a file of the working directory for a plain name.
    """
    if "/" in name:
        found = os.path.join(folder or "", name)
        return found if _is_executable(found) else None
    for entry in (path or os.defpath).split(os.pathsep):
        found = os.path.join(entry, name)
        if os.path.isabs(entry) and _is_executable(found):
            return found
    return None


def _is_executable(path: str) -> bool:
    try:
        return os.path.isfile(path) and os.access(path, os.X_OK)
    except ValueError:
        # A path with a NUL character.
        return False


# -- patterns ------------------------------------------------------------------


@lru_cache(maxsize=256)
def _parse_pattern(pattern: str) -> list[_Word]:
    words = _parse(pattern, is_pattern=True)
    if words == [_ANY_WORDS]:
        raise NotWordsError("`*` alone names no program")
    return words


def _covers(pattern: list[_Word], words: list[str]) -> bool:
    if pattern[-1] == _ANY_WORDS:
        pattern = pattern[:-1]
        if len(words) < len(pattern):
            return False
    elif len(words) != len(pattern):
        return False
    # The program is compared more strictly than its arguments: `bin/*` must not match `bin/../../x`.
    if not _is_same_depth(pattern[0], words[0]):
        return False
    return all(_fits(word, expected) for word, expected in zip(words, pattern, strict=False))


def _is_same_depth(expected: _Word, program: str) -> bool:
    """Whether every `/` and every `..` of the program is in the pattern itself: a `*` matches neither."""
    wanted, given = "*".join(expected).split("/"), program.split("/")
    return len(wanted) == len(given) and wanted.count("..") == given.count("..")


def _fits(word: str, expected: _Word) -> bool:
    """Match one word. Taking the leftmost match of each piece is always right, so there is no backtracking."""
    head, tail = expected[0], expected[-1]
    if len(expected) == 1:
        return word == head
    at, end = len(head), len(word) - len(tail)
    if end < at or not (word.startswith(head) and word.endswith(tail)):
        return False
    for piece in expected[1:-1]:
        found = word.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


# -- the grammar ---------------------------------------------------------------


def _parse(text: str, *, is_pattern: bool = False) -> list[_Word]:
    # A trailing newline comes from YAML block texts. In a pattern it would be a mistake.
    text = text.rstrip("\n") if not is_pattern else text
    words: list[_Word] = []
    index = 0
    while True:
        while index < len(text) and text[index] in " \t":
            index += 1
        if index == len(text):
            break
        word, index = _word(text, index, is_pattern)
        words.append(word)
    # An empty program name, such as from two quotes, is invalid.
    if not words or words[0] == ("",):
        raise NotWordsError("the command names no program")
    if any("=" in piece for piece in words[0]):
        raise NotWordsError("it needs a shell: an assignment (`NAME=value`)")
    return words


def _word(text: str, index: int, is_pattern: bool) -> tuple[_Word, int]:
    """The word that starts at an index, and the index after it."""
    start = index
    pieces: list[str] = []
    piece: list[str] = []
    while index < len(text) and (char := text[index]) not in " \t":
        if char in "'\"":
            end = text.find(char, index + 1)
            if end < 0:
                raise NotWordsError("it can't be split into words: a quote is not closed")
            piece.append(_quoted(text[index + 1 : end], char))
            index = end
        elif char == "\\":
            index += 1
            if not " " <= text[index : index + 1] <= "~":
                raise NotWordsError("it needs a shell: `\\` before a character that is not printable ASCII")
            piece.append(text[index])
        elif char == "*" and is_pattern:
            pieces.append("".join(piece))
            piece = []
        else:
            _require_plain(char, previous=text[index - 1] if index > start else "")
            piece.append(char)
        index += 1
    return (*pieces, "".join(piece)), index


def _quoted(content: str, quote: str) -> str:
    for char in content:
        if quote == '"' and char in _SPECIAL_IN_DOUBLE_QUOTES:
            raise NotWordsError(f"it needs a shell: {_SPECIAL.get(char, f'`{char}`')} in double quotes")
        if char not in "\n\t":
            _require_encodable(char)
    return content


def _require_plain(char: str, previous: str) -> None:
    """`previous` is the character before it in the same word."""
    if char in _SPECIAL:
        raise NotWordsError(f"it needs a shell: {_SPECIAL[char]}")
    if char == "#" and not previous:
        raise NotWordsError("it needs a shell: a comment (`#`)")
    # bash also expands `~` after `=` and `:` in a word that looks like an assignment.
    if char == "~" and previous in ("", "=", ":"):
        raise NotWordsError("it needs a shell: a home directory (`~`)")
    _require_encodable(char)


def _require_encodable(char: str) -> None:
    code = ord(char)
    if code < 0x20 or 0x7F <= code <= 0x9F:
        raise NotWordsError(f"it contains a control character (U+{code:04X})")
    if 0xD800 <= code <= 0xDFFF:
        raise NotWordsError("it contains half of a surrogate pair, which is not a character")


# Patterns of files, as `--allow-read` and `--allow-write` take them.
#
# A pattern is relative to the project or absolute inside a granted folder, with `/` between its segments.
# `*` and `?` match within one segment, hidden names included; a segment `**` matches any number of
# segments; a trailing `/` means everything in the folder. Other characters match themselves.


def pattern_problem(pattern: str, root: Path, more_roots: Iterable[Path] = ()) -> str:
    """Why a text cannot be used as a pattern; empty if it can."""
    if not pattern.strip():
        return "the pattern is empty"
    if "\0" in pattern or "\\" in pattern:
        return "it contains a NUL character or a backslash; use `/` between segments"
    if pattern.startswith("~"):
        return "`~` is not expanded; write a path relative to the project, or an absolute one"
    segments = pattern.split("/")
    if ".." in segments:
        return "it contains `..`; --exec-root grants folders outside the project"
    if any(ANY_DEPTH in segment and segment != ANY_DEPTH for segment in segments):
        return "`**` must be a whole segment, as in `reports/**`"
    if pattern.startswith("/"):
        literal = _literal_folder(_segments_of(pattern))
        if not any(literal.is_relative_to(folder.resolve()) for folder in (root, *more_roots)):
            return "it is outside the project; name the folder with --exec-root as well"
    return ""


def matches_any(patterns: Iterable[str], root: Path, path: Path) -> bool:
    """Whether a resolved path matches one of the patterns, relative ones below `root`."""
    names = path.parts[1:]
    return any(matches(_absolute(pattern, root), names) for pattern in patterns)


@lru_cache(maxsize=256)
def _absolute(pattern: str, root: Path) -> tuple[str, ...]:
    """The segments of a pattern from the file system's root down. Links in its literal part are resolved."""
    segments = _segments_of(pattern)
    if not pattern.startswith("/"):
        return (*root.resolve().parts[1:], *segments)
    literal = _literal_folder(segments)
    count = next((at for at, one in enumerate(segments) if is_wild(one)), len(segments) - 1)
    return (*literal.parts[1:], *segments[count:])


def _segments_of(pattern: str) -> tuple[str, ...]:
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    return (*segments, ANY_DEPTH) if pattern.endswith("/") else tuple(segments)


def _literal_folder(segments: Sequence[str]) -> Path:
    """The folder that an absolute pattern starts in: its segments before the first wildcard or the last name."""
    count = next((at for at, one in enumerate(segments) if is_wild(one)), len(segments) - 1)
    return Path("/", *segments[:count]).resolve()


# The grant: what the operator of a server allows it to execute. Without a grant the server executes nothing, and the
# agent is asked.
#
# SECURITY. A granted command runs with all rights of the server's user: command patterns and folders protect against
# mistakes and against manipulated workflows, but they are not a sandbox. Anyone who can write a file that a granted
# command reads (a Makefile, a test) can run anything. For untrusted workflows, run the server in a container.

Access = Literal["read", "write"]
DEFAULT_ENV = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "VIRTUAL_ENV"),
    *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ"),
)
"""The server's environment variables that commands see by default. Others may hold keys and tokens."""


@dataclass(frozen=True)
class Grant:
    """Granted commands, folders and environment variables, and limits."""

    root: Path
    """Where commands start; relative paths are resolved against it."""
    commands: tuple[str, ...] | None = ()
    """Command patterns. None: any command, and any file in the folders."""
    more_roots: tuple[Path, ...] = ()
    """Further folders that files and working directories may be in."""
    read: tuple[str, ...] = ()
    """Patterns of files that may be read. Command patterns grant no file access."""
    write: tuple[str, ...] = ()
    """Patterns of files that may be written."""
    http: tuple[str, ...] = ()
    """Hosts that requests may be made to: see `wfc_runtime.execute.hosts`. Any command does not include these."""
    blocks: tuple[str, ...] = ()
    """Own block types that may be run: see `wfc_runtime.execute.own_blocks`."""
    pattern_root: Path | None = None
    """The folder that relative patterns are relative to, if it is not `root`."""
    protected: Protected = field(default_factory=Protected)
    """Files that are never written, regardless of grants."""
    env: tuple[str, ...] = ()
    """Environment variables that commands see in addition to `DEFAULT_ENV`. With command patterns, a workflow may set
    no others: with PATH or LD_PRELOAD, a granted command could run any other."""
    stdout_bytes: int = 128 * 1024
    stderr_bytes: int = 48 * 1024
    file_bytes: int = 10 * 1024 * 1024
    database_bytes: int = 100 * 1024 * 1024
    """The size up to which a database may grow."""
    http_bytes: int = 100 * 1024
    """The size of a response. Its text and its parsed form must both fit into a result."""
    result_bytes: int = 250 * 1024
    seconds: float = 6 * 3600
    parallel: int = 8
    """The number of commands at the same time, over all runs of a server."""

    @classmethod
    # The folder does not matter, since nothing is granted in it.
    def nothing(cls) -> Grant:
        return cls(Path.cwd())

    @classmethod
    def all_commands(cls, root: Path) -> Grant:
        """For a person who runs a workflow in a terminal: any command, files below `root`, and temporary files."""
        return cls(root, commands=None, more_roots=temporary_folders())

    def extended(self, roots: Iterable[Path], env: Iterable[str]) -> Grant:
        """The same grant with further folders and environment variables."""
        return replace(self, more_roots=(*self.more_roots, *roots), env=(*self.env, *env))

    @property
    def anything(self) -> bool:
        # Any command includes any file, but neither requests nor blocks.
        return self.commands is None or bool(
            self.commands or self.read or self.write or self.http or self.blocks
        )

    @property
    def roots(self) -> tuple[Path, ...]:
        return (self.root, *self.more_roots)

    def grants_files(self, access: Access) -> bool:
        """Whether any file may be read or written."""
        return self.commands is None or bool(self._patterns(access))

    def file_refusal(self, access: Access, path: Path) -> str:
        """Why a resolved path is not covered; empty if it is. Protected paths are checked separately."""
        if self.commands is None or matches_any(self._patterns(access), self.pattern_root or self.root, path):
            return ""
        return f"{path} matches no --allow-{access} pattern of the server"

    def _patterns(self, access: Access) -> tuple[str, ...]:
        return self.read if access == "read" else self.write

    def refusal(self, command: str) -> str:
        """Why a command is not covered; empty if it is."""
        if self.commands is None:
            return ""
        if not self.commands:
            return "no command was granted to the server (no --allow-exec pattern was given)"
        return refusal_of(command, self.commands)

    def environment(self, own: dict[str, str]) -> dict[str, str]:
        """The environment of a command: the server's variables that are granted, then the action's own."""
        names = (*DEFAULT_ENV, *self.env)
        # The action's variables come last, so they can replace those of the server that are granted.
        return {**{name: os.environ[name] for name in names if name in os.environ}, **own}


def temporary_folders() -> tuple[Path, ...]:
    return tuple(dict.fromkeys((Path(tempfile.gettempdir()), Path("/tmp"))))
