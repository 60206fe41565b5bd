"""A password, key or token stands in the file.

Whoever can read the repository has it, and so has every copy of its history. Take it back where it was issued: once
committed, it counts as known. Commands get secrets from the environment of the agent that runs them, tools from
their own configuration. Nothing of the secret but its beginning is repeated here.

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

from collections.abc import Iterator

from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.shared.nodes import nodes_of
from wfc.rules.shared.secrets import Secret, may_hold_secrets, named_secret, secrets_in
from wfc.yaml import Mapping, Node, Scalar


@rule("WF504", "hardcoded-secret")
def check(unit: SourceFile) -> Iterator[Finding]:
    nodes = nodes_of(unit.document.root)
    if not may_hold_secrets([scalar.text for scalar in nodes.scalars]):
        return
    for scalar in nodes.scalars:
        for secret in secrets_in(scalar.text):
            yield _finding(scalar, secret)
    for mapping in nodes.mappings:
        for entry in mapping.entries:
            yield from _by_name(entry.key.text, entry.value)


def _by_name(name: str, node: Node) -> Iterator[Finding]:
    """A value whose name says that it is a secret; or the default of an input whose name does."""
    value = node.get("default") if isinstance(node, Mapping) else node
    if isinstance(value, Scalar) and isinstance(value.value, str):
        found = named_secret(name, value.text)
        if found is not None and not secrets_in(value.text):
            yield _finding(value, found)


def _finding(node: Scalar, secret: Secret) -> Finding:
    beginning = node.text[secret.start : secret.start + secret.shown]
    shown = f" (`{beginning}...`)" if beginning and beginning.isprintable() else ""
    return Finding(
        node.at(secret.start, secret.end),
        f"{secret.what} stands in the file{shown}",
        help="withdraw it where it was issued, and let commands take it from the environment and tools from "
        "their own configuration",
        secret=node.at(secret.start + secret.shown, _end(node, secret)),
    )


def _end(node: Scalar, secret: Secret) -> int:
    """Of a private key only the head is found, and all that follows it is the key."""
    return len(node.text) if node.text.startswith("-----", secret.start) else secret.end
