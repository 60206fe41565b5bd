"""A model is not among those that the project names.

`models` in `[tool.wfc.agents]` of pyproject.toml maps names to models, such as `{fast = "haiku"}`. If it is
present, the `model` of every step must be one of its names: an agent's program would replace an unknown name by its
default. Without `models`, the check is off.

Bad: `models` has `fast` and `strong`.

```yaml
- {id: review, type: delegate, model: fats, instructions: Review the plan.}
```

Good:

```yaml
- {id: review, type: delegate, model: fast, instructions: Review the plan.}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.values import Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import rename
from wfc.suggest import Nearest


@rule("WF118", "unknown-model", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    known = (file.config.agents or {}).get("models")
    if not known:
        return
    names = Nearest(known)
    for step in file.steps:
        word = step.values.get("model")
        name = word.text if isinstance(word, Word) and word.node.value is not None else ""
        if isinstance(word, Word) and name and name not in known:
            near = names.to(name)
            yield Finding(
                word.span,
                f"unknown model `{word.text[:100]}`: [tool.wfc.agents] does not define it",
                help=f"did you mean `{near}`?" if near else f"known: {', '.join(known)}",
                fix=rename(word.node, f"{near}", f"rename it to {near}") if near else None,
                step=step.name,
            )
