"""A step of a type that does not exist.

Bad:

```yaml
- id: build
  type: shel
  command: make
```

Good:

```yaml
- id: build
  type: shell
  command: make
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.findings import Edit, Fix, Severity
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Step
from wfc.language.steps.prompt import PROMPT_KINDS
from wfc.language.steps.run_block import RunBlock
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import add_entry, rename
from wfc.suggest import Nearest
from wfc.yaml import Scalar
from wfc.yaml.explain import excerpt

_SAME = {
    "shell": ("bash", "sh", "run", "command", "cmd", "exec", "script", "zsh", "powershell", "terminal"),
    "condition": ("if", "branch", "switch", "when", "conditional", "decision", "case"),
    "set_state": ("set", "assign", "state_update", "state", "update", "update_state", "variables", "let"),
    "foreach": ("for", "for_each", "each", "map", "parallel_foreach"),
    "while": ("while_loop", "until", "repeat"),
    "fail": ("abort", "error", "raise", "throw", "failure", "reject"),
    "return": ("end", "finish", "exit", "stop", "output", "result", "done"),
    "goto": ("jump", "go_to"),
    "call": ("workflow", "subworkflow", "call_workflow", "include"),
    "parallel": ("concurrent", "fork", "all"),
    "mcp_call": ("mcp", "tool", "tool_call", "mcp_tool", "call_tool"),
    "prompt": ("ask", "input", "user_input", "question", "user_message", "message", "notify", "approval"),
    "wait": ("sleep", "delay", "pause", "timer"),
    "delegate": (
        "agent",
        "subagent",
        "sub_agent",
        "agent_task",
        "llm",
        "ai",
        "claude",
        "task",
        "agent_prompt",
    ),
}
_OTHER_NAMES = {name: kind for kind, names in _SAME.items() for name in names}
_HINTS = {
    "python": "run it with a shell step: `command: python script.py`",
    "node": "run it with a shell step: `command: node script.js`",
    "http": "use a shell step with curl, or an mcp_call step with a tool that fetches",
    "loop": "use `while` to repeat steps, or `foreach` to run a task once per item",
    "else": "`else` is a field of the condition step before it",
    "then": "`then` is a field of the condition step before it",
    "try": "use `on_error` on the step that may fail",
    "retry": "use the field `retry` on the step that may fail",
}


@rule("WF007", "unknown-step-type", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    names = Nearest(STEP_TYPES)
    for step in file.steps:
        if step.type and step.type.text not in STEP_TYPES:
            yield _finding(step, step.type.node, names)
        if isinstance(step, RunBlock) and step.block and step.block.text not in file.config.plugins:
            yield Finding(
                step.block.span,
                f"the block type `{excerpt(step.block.text)}` is not among the `plugins` of [tool.wfc]",
                help="install the distribution that has it, and list its name there",
                severity=Severity.INFO,
                step=step.name,
            )


def _finding(step: Step, node: Scalar, names: Nearest) -> Finding:
    help, fix = _way_out(step, node, names)
    return Finding(
        node.span, f"there is no step type `{excerpt(node.text)}`", help=help, fix=fix, step=step.name
    )


def _way_out(step: Step, node: Scalar, names: Nearest) -> tuple[str, Fix | None]:
    name = node.text.strip().lower().replace("-", "_")
    # Authors often write the kind of a prompt as its type.
    if name in PROMPT_KINDS:
        return f"write `type: prompt` and `prompt_type: {name}`", _prompt(step, node, name)
    if name in _HINTS:
        return _HINTS[name], None
    near = _OTHER_NAMES.get(name) or names.to(node.text)
    if near:
        verb = "that is called" if name in _OTHER_NAMES else "did you mean"
        return f"{verb} `{near}`" + ("?" if "you" in verb else " here"), rename(node, near, f"make it {near}")
    return "the types are " + ", ".join(f"`{kind}`" for kind in STEP_TYPES), None


def _prompt(step: Step, node: Scalar, kind: str) -> Fix | None:
    entry = step.node.entry("type")
    added = add_entry(step.node, entry, f"prompt_type: {kind}") if entry else None
    if added is None or step.node.entry("prompt_type") is not None:
        return None
    return Fix(f"make it a prompt of the kind {kind}", (Edit(node.span, "prompt"), added), safe=False)
