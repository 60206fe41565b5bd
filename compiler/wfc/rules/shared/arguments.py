"""Which arguments of well-known tools would be read as options if they began with a dash."""

from __future__ import annotations

import re

from wfc.analysis.taint.shell import HOLE, Spot
from wfc.caching import pattern
from wfc_runtime.expr import nodes

_FLAGS = {
    "cat": "AbeEnstTuv", "cd": "LP", "chmod": "Rcfv", "chown": "RHLPcfhv", "cp": "HLPRafilnprsuvx",
    "diff": "abBiNqrsuw", "du": "abcDhkmsx", "egrep": "EFGHLRchilnoqrsvwxz", "fgrep": "EFGHLRchilnoqrsvwxz",
    "grep": "EFGHLPRchilnoqrsvwxz", "head": "qvz", "ln": "finrsv", "ls": "1AFGHLQRSXacdfghiklmnopqrstuvx",
    "mkdir": "pv", "mv": "finuv", "readlink": "efmnqsvz", "realpath": "ELPemqsz", "rm": "Rdfirv",
    "rmdir": "pv", "sort": "Vbcdfghimnrsuz", "stat": "Lft", "tail": "Ffqvz", "tee": "aip", "touch": "acfhm",
    "wc": "Lclmw",
}  # fmt: skip
"""Tools that take `--` before their arguments, each with its options that take no value."""
_SUBCOMMANDS = {
    "docker": "build exec images inspect kill logs pull push restart rm rmi run start stop tag",
    "git": "add branch clean clone fetch init mv pull push rm tag",
    "kubectl": "delete describe get logs",
    "npm": "add i install remove uninstall update",
    "pip": "download install uninstall",
    "podman": "build exec images inspect kill logs pull push restart rm rmi run start stop tag",
}
_LONG_FLAGS = frozenset(
    {
        "--all",
        "--archive",
        "--detach",
        "--force",
        "--no-verify",
        "--parents",
        "--quiet",
        "--recursive",
        "--rm",
    }
)
_FIRST_ONLY = frozenset({"run", "exec"})
"""Behind their first argument comes a command with options of its own."""
_BEFORE_TOOL = pattern(r"sudo|command|time|nohup|[A-Za-z_]\w*=.*", re.DOTALL)
_REDIRECTION = pattern(r"\d*[<>&]+")


def may_be_option(spot: Spot) -> bool:
    """Whether a value that begins with a dash would be an option there, and `--` before it helps."""
    if spot.prefix or spot.quote not in ("", "'", '"') or _has_safe_start(spot):
        return False
    words = list(spot.words)
    while words and _BEFORE_TOOL.fullmatch(words[0]):
        words.pop(0)
    if not words or "--" in words or _REDIRECTION.fullmatch(words[-1]):
        return False
    tool, *rest = words
    tool = tool.rsplit("/", 1)[-1]
    if tool in _FLAGS:
        return not rest or not _wants_value(rest[-1], _FLAGS[tool])
    if tool not in _SUBCOMMANDS or not rest or rest[0] not in _SUBCOMMANDS[tool].split():
        return False
    if rest[0] in _FIRST_ONLY and not all(word.startswith("-") for word in rest[1:]):
        return False
    return not any(_wants_value(word) for word in (rest[1:] if rest[0] in _FIRST_ONLY else rest[-1:]))


def _wants_value(word: str, flags: str = "") -> bool:
    """Whether a word may be an option whose value comes next."""
    if not word.startswith("-") or "=" in word or word in _LONG_FLAGS:
        return False
    return HOLE in word or word.startswith("--") or not set(word[1:]) <= set(flags)


def _has_safe_start(spot: Spot) -> bool:
    """Whether the value begins with a text of the file that is no dash."""
    node: nodes.Node | None = spot.hole.node
    while isinstance(node, nodes.Filter):
        if node.name not in ("shquote", "string"):
            return False
        node = node.node
    while isinstance(node, nodes.Concat | nodes.Add):
        node = node.nodes[0] if isinstance(node, nodes.Concat) else node.left
    return isinstance(node, nodes.Const) and not str(node.value).startswith("-") and node.value != ""
