"""A tool is not in the project's list of tools.

`[tool.wfc] tools` in pyproject.toml lists the tools that agents have; an entry may end in `*`. If the setting is
present, the `tool` of every mcp_call must match an entry. Without the setting, the check is off.

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
                f"unknown tool `{name[:100]}`: the project's agents do not have it",
                help=_hint(names, name) + "`tools` in [tool.wfc] of pyproject.toml lists the known tools",
                step=step.name,
            )


def _hint(names: Nearest, name: str) -> str:
    near = names.to(name)
    return f"did you mean `{near}`? " if near else ""
