"""A tool that the project's list of tools does not have.

`[tool.wfc] tools` in pyproject.toml lists the tools that agents have; an entry may end in `*`. Where it is
given, every `tool` of an mcp_call is held against it. Without it nothing is said.

Bad:

```yaml
- id: open-issue
  type: mcp_call
  tool: github.create_isue
```

Good:

```yaml
- id: open-issue
  type: mcp_call
  tool: github.create_issue
```
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from wfc.findings import Severity
from wfc.language.values import Text
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.suggest import Nearest


@rule("WF107", "unknown-tool", Severity.WARNING)
def check(file: SourceFile) -> Iterator[Finding]:
    known = file.config.tools
    if known is None:
        return
    plain = frozenset(known)
    patterns = [name for name in known if "*" in name]
    names = Nearest(name for name in known if "*" not in name)
    for step in file.steps:
        tool = step.values.get("tool")
        if not isinstance(tool, Text) or not tool.template.is_literal or tool.node.text in plain:
            continue
        name = tool.node.text
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            yield Finding(
                tool.span,
                f"the project's agents have no tool `{name[:100]}`",
                help=_hint(names, name) + "`tools` in [tool.wfc] of pyproject.toml lists those they have",
                step=step.name,
            )


def _hint(names: Nearest, name: str) -> str:
    near = names.to(name)
    return f"did you mean `{near}`? " if near else ""
