"""Steps that somebody has to do: the agent, the person behind it, or the server."""

from __future__ import annotations

from typing import Any

from tests.property.expressions import (
    ANSWERS,
    ANY,
    BOOL,
    DELEGATED,
    NUMBER,
    SHELL,
    TEXT,
    Expression,
    Kinds,
    Sight,
    text,
)
from tests.property.inputs import PATTERNS
from tests.property.values import Chooser

Step = dict[str, Any]

SCHEMA = {
    "type": "object",
    "required": ["title", "count", "ok"],
    "properties": {
        "title": {"type": "string"},
        "count": {"type": "integer", "minimum": 0},
        "ok": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "level": {"enum": ["low", "high"]},
        "note": {"type": ["string", "null"]},
        "inner": {"type": "object", "properties": {"class": {"type": "number"}}},
    },
}
SCHEMA_KINDS: Kinds = ((".title", TEXT), (".count", NUMBER), (".ok", BOOL))


OUTPUTS = {"report": {"type": "json", "path": "$SCRATCH/report.json", "required": False}}
MORE: dict[str, Step] = {
    "create_file": {"encoding": "utf-8", "mode": "644", "create_parents": True},
    "read_file": {"encoding": "utf-8", "mode": "text", "max_size_mb": 1},
    "read_json_state": {"required": False},
    "write_json_state": {"create_parents": True},
    "merge_json_state": {"create_if_missing": True},
    "render_template": {"encoding": "utf-8", "strict": True, "overwrite": True, "create_parents": True},
    "create_worktree": {"base_branch": "main", "repo": "."},
    "edit_file": {
        "encoding": "utf-8",
        "create_if_missing": True,
        "backup": False,
        "dry_run": False,
        "atomic": True,
    },
    "read_files": {
        "base_path": ".",
        "exclude_patterns": ["*.bak"],
        "max_files": 3,
        "max_file_size_kb": 10,
        "respect_gitignore": False,
        "encoding": "utf-8",
        "line_start": 1,
        "line_end": 9,
    },
    "http_call": {
        "method": "POST",
        "headers": {"Accept": "text/plain"},
        "json": {"a": 1},
        "content": "a",
        "timeout": 5,
        "follow_redirects": False,
    },
    "sql": {
        "engine": "sqlite",
        "params": [1],
        "init_sql": "CREATE TABLE IF NOT EXISTS t (a)",
        "model": {"name": "t"},
        "op": "select",
        "data": {"a": 1},
        "where": {"a": 1},
        "order": ["a"],
        "limit": 3,
        "offset": 1,
        "columns": ["a"],
        "conflict": ["a"],
        "timeout": 5,
    },
    "run_block": {"inputs": {"a": 1}, "about": "Does it.", "timeout": 5, "result_schema": {"type": "object"}},
    "check_files": {"folder": "docs"},
    "git_snapshot": {"otherwise": "skip"},
    "git_changes": {"otherwise": "skip", "scopes": {"writer": ["docs/", "!docs/old"], "tester": None}},
}
"""What may be said of each, beside what it needs."""
UNMODELLED = (
    *("edit_file", "read_files", "check_files", "git_snapshot", "git_changes"),
    *("http_call", "sql", "run_block"),
)
FURTHER: dict[str, tuple[Step, ...]] = {
    "foreach": (
        {"child_deadline": 60},
        {"isolation": "worktree"},
        {"join": "all"},
        {"numbered": True},
        {"on_child_error": {"retries": 1}},
        {"prompt": "Look at it."},
        {"session": "one"},
        {"shares": ["tally"]},
    ),
    "while": ({"at_limit": "leave"}, {"count_to": "turns"}),
    "call": ({"choose": "{{ 'helper' }}", "among": ["helper"]},),
    "parallel": ({"join": "all"}, {"on_error": "continue"}),
    "return": ({"state": True},),
    "shell": ({"output_format": "lines"}, {"reason": "It is needed."}),
    "prompt": (
        {"default": "x"},
        {"error_message": "Not so."},
        {"input_type": "string"},
        {"instructions": "Take your time."},
        {"max_answers": 3},
        {"questions": [{"id": "q", "text": "Well?"}]},
    ),
    "wait": ({"until_answer": True},),
    "delegate": (
        {"context": {"a": 1}},
        {"instructions_file": "brief.md"},
        {"isolation": "worktree"},
        {"session": "one"},
    ),
    "read_files": ({"mode": "full"},),
}
"""What a step may have besides, one at a time. Only the form counts: such workflows are not run."""
UNANSWERED = (
    *("change", "each", "say", "condition", "while", "parallel", "goto", "set_state", "return", "fail"),
    *("break", "continue"),
)
"""Steps without a result that could be written in parts."""
SERVED = tuple(kind for kind in MORE if kind not in UNMODELLED)
"""What a server may do itself; where it may not, the agent does it."""


class Actions:
    """One method per type; each gives what can be read of its result."""

    choose: Chooser
    served: int
    whole: bool

    def _shell(self, step: Step, sight: Sight, reads: set[str], depth: int) -> Kinds:
        step["command"] = self._use(text(self.choose, sight, shell=True), reads)
        if self.choose.chance(3):
            step["timeout"] = self.choose.pick((5, 60, 2.5, "{{ 2 + 3 }}"))
        if self.choose.chance(6):
            step["fails_on_exit"] = self.choose.chance()
        if self.choose.chance(self.served // 2):
            step["runner"] = self.choose.pick(("server", "server", "agent"))
        if self.choose.chance(6):
            more = {"env": {"NAME": self._use(text(self.choose, sight), reads)}, "capture_output": True}
            step |= self.choose.pick(({"working_dir": "."}, more, {"shell": True}, {"outputs": OUTPUTS}))
        self._secrets(step)
        return SHELL

    def _served(self, step: Step, sight: Sight, reads: set[str], depth: int) -> Kinds:
        # No two branches may write the same file.
        path, chosen = f"file-{step['id']}", text(self.choose, sight)
        without_text = ("read_", "create_worktree", "check_", "git_", "http_", "sql", "run_block")
        says_nothing = step["type"].startswith(without_text)
        made = chosen.text if says_nothing else self._use(chosen, reads)
        fields: Step = {
            "create_file": {"path": path, "content": made, "overwrite": self.choose.chance()},
            "read_file": {"path": path, "required": False},
            "read_json_state": {"path": path},
            "write_json_state": {"path": path, "data": {"made": made, "raw": self.choose.json()}},
            "merge_json_state": {"path": path, "updates": {"made": made}, "create_parents": False},
            "render_template": {"template": "{% raw %}{{ made }}{% endraw %}", "variables": {"made": made}},
            "create_worktree": {"branch": f"branch-{len(step['id'])}", "path": path},
            "edit_file": {
                "path": path,
                "operations": [{"type": "replace_text", "old_text": "a", "new_text": made}],
            },
        }
        fields |= {
            "check_files": {"paths": [path, "docs/*.md"]},
            "http_call": {"url": "https://example.org/"},
            "sql": {"path": path, "sql": "SELECT 1"},
            "run_block": {"block": "Own"},
            "git_snapshot": {},
            "git_changes": {"since": {"head": None, "files": {}, "proved": False}},
        }
        kind = step["type"]
        if kind == "read_files":
            fields[kind] = {"path": path} if self.choose.chance() else {"patterns": [f"{path}*"]}
        step |= {**fields[kind], **(MORE[kind] if self.choose.chance() else {})}
        if kind == "render_template" and self.choose.chance():
            step["output_path"] = path
        self._secrets(step)
        return (("", ANY),)

    def _secrets(self, step: Step) -> None:
        if self.whole and self.choose.chance(8):
            step["secrets"] = ["TOKEN"]

    def _wishes(self, step: Step) -> None:
        """What a run without a person asks of its agents. Nothing here changes where a run goes."""
        if self.whole and self.choose.chance(3):
            wishes: tuple[Step, ...] = (
                {"model": "fast"},
                {"subagent_type": "general-purpose"},
                {"tools": ["read"]},
                {"budget": {"steps": 100_000}},
            )
            step |= self.choose.pick(wishes)

    def _mcp_call(self, step: Step, sight: Sight, reads: set[str], depth: int) -> Kinds:
        step["tool"] = self.choose.pick(("github.create_issue", "search", "db.run"))
        if self.choose.chance():
            step["parameters"] = {
                "title": self._use(text(self.choose, sight), reads),
                "raw": self.choose.json(),
                "more": [{"x": self._use(text(self.choose, sight), reads)}],
            }
        self._timeout(step)
        return self._schema(step, (("", ANY),))

    def _timeout(self, step: Step) -> None:
        if self.choose.chance(4):
            step["timeout"] = self.choose.pick((5, 60, 2.5))

    def _delegate(self, step: Step, sight: Sight, reads: set[str], depth: int) -> Kinds:
        step["instructions"] = self._use(text(self.choose, sight), reads)
        step["agent"] = self.choose.pick(("@reviewer", "@code-reviewer", None))
        self._timeout(step)
        self._wishes(step)
        if self.whole and self.choose.chance(5):
            step |= {"result": "report", "evidence": ["It works."]}
            return ((".summary", TEXT), (".status", TEXT))
        return self._schema(step, DELEGATED)

    def _schema(self, step: Step, without: Kinds) -> Kinds:
        if not self.choose.chance():
            return without
        step["result_schema"] = SCHEMA
        return SCHEMA_KINDS

    def _prompt(self, step: Step, sight: Sight, reads: set[str], depth: int) -> Kinds:
        kind = step["prompt_type"] = self.choose.pick(sorted(ANSWERS))
        step["message"] = self._use(text(self.choose, sight), reads)
        if kind == "choice":
            step["options"] = [
                "go on",
                "it's over",
                *([self._use(text(self.choose, sight), reads)] if self.choose.chance(3) else []),
            ]
        if kind == "text" and self.choose.chance():
            step["validation"] = self.choose.pick(
                [*({"pattern": one} for one in PATTERNS), {"min_length": 1}]
            )
        return ANSWERS[kind]

    def _wait(self, step: Step, sight: Sight, reads: set[str], depth: int) -> Kinds:
        step["duration_seconds"] = self.choose.pick((1, 30, 0.5, 0))
        if self.choose.chance():
            step["message"] = self._use(text(self.choose, sight), reads)
        return ((".resumed", BOOL),)

    def _use(self, expression: Expression, reads: set[str]) -> str:
        reads |= expression.reads
        return expression.text
