"""The file contains a password, key or token.

Everyone who can read the repository or a copy of its history can read the secret. Revoke it where it was issued: a
committed secret counts as leaked. Commands read secrets from the environment of the agent that runs them, and tools
from their own configuration. Findings show only the first characters of the secret.

Bad:

```yaml
- id: upload
  type: mcp_call
  tool: storage.upload
  parameters:
    path: report.html
    password: t7Q2-xv91-PLk3-zz08
```

Good:

```yaml
- id: upload
  type: shell
  command: curl --fail --user "reports:$STORAGE_PASSWORD" --upload-file report.html https://files.example.org/
```
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from wfc.caching import pattern
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.struct import struct
from wfc.yaml import Mapping, Node, Scalar
from wfc.yaml.nodes import nodes_of


@rule("WF504", "hardcoded-secret")
def check(file: SourceFile) -> Iterator[Finding]:
    nodes = nodes_of(file.document.root)
    if not may_hold_secrets([scalar.text for scalar in nodes.scalars]):
        return
    for scalar in nodes.scalars:
        for secret in secrets_in(scalar.text):
            yield _finding(scalar, secret)
    for mapping in nodes.mappings:
        for entry in mapping.entries:
            yield from _by_name(entry.key.text, entry.value)


def _by_name(name: str, node: Node) -> Iterator[Finding]:
    """A value under a name that suggests a secret, or the default of an input with such a name."""
    value = node.get("default") if isinstance(node, Mapping) else node
    if isinstance(value, Scalar) and isinstance(value.value, str):
        found = named_secret(name, value.text)
        # A value that was found by its form has been reported, with a more precise message.
        if found is not None and not secrets_in(value.text):
            yield _finding(value, found)


def _finding(node: Scalar, secret: Secret) -> Finding:
    beginning = node.text[secret.start : secret.start + secret.shown]
    shown = f" (`{beginning}...`)" if beginning and beginning.isprintable() else ""
    return Finding(
        node.at(secret.start, secret.end),
        f"hardcoded secret: {secret.what}{shown}",
        help="revoke it where it was issued; commands can read secrets from the environment, and tools from "
        "their own configuration",
        secret=node.at(secret.start + secret.shown, _end(node, secret)),
    )


def _end(node: Scalar, secret: Secret) -> int:
    """Only the first line of a private key is matched; the key itself is all that follows."""
    return len(node.text) if node.text.startswith("-----", secret.start) else secret.end


@struct(frozen=True)
class Secret:
    what: str
    start: int
    end: int
    shown: int = 4
    """The number of characters that a message may show."""


_KINDS: tuple[tuple[str, str], ...] = (
    # AWS uses keys that end in EXAMPLE in its documentation.
    ("an AWS access key", r"\b(?:AKIA|ASIA)(?!\w*EXAMPLE)[0-9A-Z]{16}\b"),
    ("a GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{20,}\b|\bgithub_pat_[A-Za-z0-9_]{22,}\b"),
    ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+"),
    ("a Slack webhook", r"\bhttps://hooks\.slack\.com/services/T\w+/B\w+/\w{16,}"),
    ("an API key", r"\bsk[-_](?:ant|proj|live|test|or)[-_][A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9]{20,}\b"),
    ("a Google API key", r"\bAIza[0-9A-Za-z_-]{35}"),
    ("an npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a signed token (JWT)", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
    ("a private key", r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
)
_ANY = pattern("|".join(f"(?P<k{number}>{form})" for number, (_, form) in enumerate(_KINDS)))
_HINTS = (
    "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "hooks.slack", "AIza",
    "npm_", "eyJ", "PRIVATE KEY",
)  # fmt: skip
_API_KEY_HINT = pattern(r"sk(?<=\bsk)[-_]")  # Not the end of `task-`.
# `{`, `}` and `$` are excluded: a password that a template or a variable supplies is not hardcoded.
_IN_ADDRESS = pattern(r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@{}$]{1,100}:(?P<secret>[^\s/:@{}$]{6,200})@")
_WORD = r"(?:pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)"
_NAME = pattern(rf"(?:.*[_.-])?{_WORD}|.*(?:Password|Secret|Token|ApiKey|AccessKey)", re.IGNORECASE)
_ASSIGNED = pattern(
    rf"(?:\b[\w-]{{0,40}}{_WORD}[ \t]*[=:]|--[\w-]{{0,40}}{_WORD}|\bBearer[ \t])[ \t]*"
    r"[\"']?(?P<secret>[^\s\"'{}$&;|]{12,})",
    re.IGNORECASE,
)
_WORD_HINTS = ("pass", "secret", "token", "key", "credential", "bearer")
_SIGN = pattern(r"[=:]|--|\bBearer\b", re.IGNORECASE)
_PLACEHOLDER = pattern(r"example|change|placeholder|dummy|your|xxx|\*\*\*|<|\.\.\.", re.IGNORECASE)
_LEAST_LENGTH, _LEAST_BITS = 12, 3.0
_SHORTEST = 16
"""No pattern above matches a shorter text."""


def may_hold_secrets(texts: Iterable[str]) -> bool:
    """A cheap test of all texts and names of a file, since most contain no prefix of any pattern."""
    whole = "\n".join(texts)
    small = whole.casefold()
    return "://" in whole or _is_hinted_at(whole) or any(hint in small for hint in _WORD_HINTS)


def _is_hinted_at(text: str) -> bool:
    return any(hint in text for hint in _HINTS) or _API_KEY_HINT.search(text) is not None


def secrets_in(text: str) -> list[Secret]:
    """Secrets that are recognised by their form, under any name."""
    found: list[Secret] = []
    if len(text) < _SHORTEST:
        return found
    if _is_hinted_at(text):
        for hit in _ANY.finditer(text):
            what = _KINDS[int((hit.lastgroup or "k0")[1:])][0]
            found.append(Secret(what, hit.start(), hit.end(), 0 if hit[0].startswith("-") else 4))
    if "://" in text:
        for hit in _IN_ADDRESS.finditer(text):
            if not _PLACEHOLDER.search(hit["secret"]):
                found.append(Secret("a password in an address", *hit.span("secret"), shown=0))
    known = {secret.start for secret in found}
    for hit in _ASSIGNED.finditer(text) if _SIGN.search(text) else ():
        if looks_random(hit["secret"]) and hit.start("secret") not in known:
            found.append(Secret("a secret", *hit.span("secret"), shown=2))
    return found


def named_secret(name: str, value: str) -> Secret | None:
    """A random-looking value under a name that suggests a secret."""
    if not _NAME.fullmatch(name) or not looks_random(value):
        return None
    return Secret(f"the value of `{name}`", 0, len(value), shown=2)


def looks_random(text: str) -> bool:
    """Whether it looks generated: long, without spaces, letters and digits mixed, high entropy."""
    # Templates, variables (`$NAME`) and paths are long and mixed too, but are not secrets.
    if len(text) < _LEAST_LENGTH or any(char.isspace() or char in "{}$/" for char in text[:1000]):
        return False
    mixed = any(char.isdigit() for char in text) and any(char.isalpha() for char in text)
    return mixed and not _PLACEHOLDER.search(text) and _bits(text) >= _LEAST_BITS


def _bits(text: str) -> float:
    """Shannon entropy per character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
