"""The words that `wfc explain` knows beside checks and step types: fields, what expressions can call, and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from wfc.caching import cached
from wfc.language.ast import Task, Workflow
from wfc.language.reference import FieldPage, fields_of
from wfc.language.shape import InputDecl, Shape, Validation
from wfc.language.steps import STEP_TYPES
from wfc.language.steps.base import Recovery, Retry
from wfc_runtime.expr import FILTERS, FUNCTIONS, TESTS, Builtin


@dataclass(frozen=True, slots=True)
class Word:
    """One meaning of a word."""

    kind: str
    """field, filter, test, function or setting."""
    name: str
    doc: str
    of: tuple[str, ...] = ()
    """The step types, or the other mappings, that have such a field."""
    takes: str = ""
    default: Any = None
    fields: tuple[FieldPage, ...] = ()
    """The fields of its value, where that is a mapping of its own."""

    def to_data(self) -> dict[str, Any]:
        return asdict(self)


_NESTED: Mapping[str, type[Shape]] = {
    "retry": Retry,
    "on_error": Recovery,
    "validation": Validation,
    "inputs": InputDecl,
    "tasks": Task,
}
_SETTINGS = {
    "workflows": "The folder of the workflows; by default `workflows`.",
    "generated": "The folder of the compiled modules; by default `generated`.",
    "ignore": "Codes of checks to leave out, such as `WF103`. Errors that keep a workflow from being compiled stay.",
    "exclude": "Files and folders to leave out, as patterns relative to the project.",
    "plugins": "The block types of installed distributions that workflows may use: names, no paths or modules. See "
    "own-blocks.md.",
    "tools": "The tools that your agents have; then the call of another one is WF107.",
    "elicit": "Whether `wfc serve` asks the person itself, with a form of the client's; by default false.",
    "hooks": "Whether `wfc hook` answers the hooks of Claude Code; by default true.",
    "engine": "Where runs are stored: `sqlite`, which is the default, or `temporal`.",
    "limits": "How large a workflow may be: `source_bytes`, `nesting`, `steps`, `fields`, `call_depth`, `yaml_depth`, "
    "`yaml_nodes`.",
    "run_limits": "How much a run may hold: `input_bytes`, `result_bytes`, `action_bytes`, `state_bytes`, "
    "`served_bytes`, `served_state_bytes`, `derived_bytes`, `all_derived_bytes`, `nesting`, `pending_actions`, "
    "`parallel_children`, `depth`, `moves`, `misfits`.",
    "exec": "Actions that `wfc serve` may execute itself: `allow`, `read`, `write`, `http`, `blocks`, `roots`, `env`, "
    "`parallel`, `reply_seconds`. Nothing, unless it is granted here or on the command line.",
    "exec.allow": "Patterns of commands that the server may execute, such as `pytest *`; true is any command, and any "
    "file of the project. On the command line: `--allow-exec`.",
    "exec.read": "Patterns of files that the server may read. On the command line: `--allow-read`.",
    "exec.write": "Patterns of files that the server may write. On the command line: `--allow-write`.",
    "exec.http": "Hosts that the server may make requests to. On the command line: `--allow-http`.",
    "exec.blocks": "Own block types that the server may run. On the command line: `--allow-block`.",
    "exec.roots": "Folders beside the project's that commands and file steps may use. On the command line: "
    "`--exec-root`.",
    "exec.env": "Names of environment variables that commands see beside the usual ones. On the command line: "
    "`--exec-env`.",
    "exec.parallel": "How many commands may execute at once; by default 8.",
    "exec.reply_seconds": "How long a call waits for a command before it replies that the command is still running; "
    "by default 50.",
    "agents": "Agents for `wfc run --agent`: `default`, `parallel`, `models` and, by name, a table with `use`, `agent` "
    "and `model` for each role.",
    "agents.default": "The agent that works where no other is named, such as `claude`.",
    "agents.parallel": "How many agents may work at once.",
    "agents.models": 'Names for models, such as `{fast = "haiku"}`.',
    "journal": "The journal of runs: if `require_agent` is true, entries that name no agent are refused; by default "
    "false. See docs/journal.md.",
    "temporal": "Where the Temporal server is: `address`, `namespace`, `task_queue`, `tls`; see docs/temporal.md.",
}
_OPTIONS = {
    "allow-exec": "exec.allow",
    "allow-read": "exec.read",
    "allow-write": "exec.write",
    "allow-http": "exec.http",
    "allow-block": "exec.blocks",
    "exec-root": "exec.roots",
    "exec-env": "exec.env",
}
"""Options of the command line that say the same as a setting."""


@cached(1)
def words() -> tuple[Word, ...]:
    """Everything there is, in the order of the kinds."""
    return (*_fields(), *_builtins(), *_all_settings())


def _fields() -> Iterator[Word]:
    """The fields of steps, then those of the file, of inputs and of modifiers. The same doc is shown once."""
    found: dict[tuple[str, str, str], tuple[FieldPage, list[str]]] = {}
    shapes: dict[str, type[Shape]] = {
        **STEP_TYPES,
        "a workflow": Workflow,
        "a task": Task,
        "an input": InputDecl,
        "`retry`": Retry,
        "`on_error`": Recovery,
    }
    for owner, shape in shapes.items():
        for page in fields_of(shape):
            found.setdefault((page.name, page.doc, page.takes), (page, []))[1].append(owner)
    for page, owners in found.values():
        nested = fields_of(_NESTED[page.name]) if page.name in _NESTED else ()
        of = ("every step type",) if {*STEP_TYPES} <= {*owners} else tuple(owners)
        yield Word("field", page.name, page.doc, of, page.takes, page.default, tuple(nested))


def _builtins() -> Iterator[Word]:
    kinds: tuple[tuple[str, Mapping[str, Builtin]], ...] = (
        ("filter", FILTERS),
        ("test", TESTS),
        ("function", FUNCTIONS),
    )
    for kind, known in kinds:
        yield from (Word(kind, name, one.doc) for name, one in known.items())


def _all_settings() -> Iterator[Word]:
    yield from (Word("setting", name, doc) for name, doc in _SETTINGS.items())


def find_words(topic: str) -> list[Word]:
    """All meanings of a word: a field, a filter and so on may have the same name."""
    wanted = topic.strip().lower().removeprefix("--")
    wanted = _OPTIONS.get(wanted, wanted.replace("-", "_")).removeprefix("tool.wfc.")
    return [
        one for one in words() if wanted in (one.name, one.name.rpartition(".")[2]) or _lists(one, wanted)
    ]


def _lists(word: Word, name: str) -> bool:
    """Whether a setting is a table that names another one in its description."""
    return (
        word.kind == "setting"
        and word.name in ("limits", "run_limits", "journal", "temporal")
        and f"`{name}`" in word.doc
    )


def word_names() -> Iterator[str]:
    yield from dict.fromkeys(one.name for one in words())
    yield from _OPTIONS
