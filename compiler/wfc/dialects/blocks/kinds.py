"""The types of block: their inputs and outputs, the step that each becomes, and how their values may be spelled."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from enum import Enum
from typing import Any, cast

from wfc.dialects.blocks.file import INPUT_TYPES, Block, OrReference
from wfc.dialects.steps import TYPE, recover_entry, recover_type
from wfc.language.fields import (
    AGENT_TOOLS,
    ANYTHING,
    BINDINGS,
    BOOLEAN,
    ID,
    NUMBER,
    SECONDS,
    WORD,
    ListOf,
    MapOf,
    OneOf,
    ScalarType,
)
from wfc.language.shape import BUDGET, Field, Shape
from wfc.language.values import Literal, plain
from wfc.struct import replace, struct
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence

FLAG = OrReference(BOOLEAN)
AMOUNT = OrReference(NUMBER)
TIME = OrReference(SECONDS)
MILLISECONDS = OrReference(
    ScalarType(
        "a number of milliseconds above 0",
        lambda node: not NUMBER.mismatches(node) and cast("float", node.value) > 0,
        Literal,
        {"type": "number", "exclusiveMinimum": 0},
    ),
    may_be_nothing=True,
)
PATTERNS = OrReference(ListOf(WORD, "a list of patterns", least=1))
ENVIRONMENT = MapOf(ANYTHING, "a mapping of names to texts")


class Mode(Enum):
    """The value of an input that is a single reference. In double braces, `DATA` keeps the value as well."""

    TEXT = "text"
    """Text, as everywhere in this language."""
    DATA = "data"
    """Text, but lists and objects stay what they are."""
    VALUE = "value"
    """The value itself."""


class ShellInputs(Shape):
    """Runs a command. A command that fails is data: see `exit_code`, and `failed` of the block."""

    label = "a Shell block"

    command = Field(WORD, "The command line.", required=True, example="pytest tests/")
    working_dir = Field(WORD, "The folder to run it in.")
    timeout = Field(TIME, "The time limit in seconds.", default=120)
    env = Field(ENVIRONMENT, "Environment variables to set for it.")
    capture_output = Field(FLAG, "Whether to keep its output.", default=True)
    shell = Field(FLAG, "Whether to run the command in a shell.", default=True)
    continue_on_error = Field(FLAG, "Deprecated and ignored: a command that fails is always data.")


# Old files write it with hyphens.
ShellInputs.FIELDS["continue-on-error"] = ShellInputs.FIELDS["continue_on_error"]


class WorkflowCallInputs(Shape):
    """Runs another workflow; its outputs are those of the block."""

    label = "a Workflow block"

    workflow = Field(WORD, "The workflow to run.", required=True, example="run-tests")
    inputs = Field(BINDINGS, "Its inputs.")
    timeout_ms = Field(MILLISECONDS, "The time limit in milliseconds.")


class CreateFileInputs(Shape):
    """Writes a file."""

    label = "a CreateFile block"

    path = Field(WORD, "The file.", required=True, example="README.md")
    content = Field(WORD, "The text to write.", required=True, example="# Title")
    encoding = Field(WORD, "The encoding of the text.", default="utf-8")
    mode = Field(ANYTHING, "The permissions of the file, in octal.")
    permissions = Field(ANYTHING, "The same as `mode`.")
    overwrite = Field(FLAG, "Whether an existing file may be replaced.", default=True)
    create_parents = Field(FLAG, "Whether to create missing parent folders.", default=True)


class ReadFileInputs(Shape):
    """Reads a file."""

    label = "a ReadFile block"

    path = Field(WORD, "The file.", required=True, example="README.md")
    mode = Field(WORD, "`text`, or `binary` for content in base64.", default="text")
    encoding = Field(WORD, "The encoding of the text.", default="utf-8")
    max_size_mb = Field(AMOUNT, "The size limit in megabytes.", default=10)
    required = Field(FLAG, "Whether the file must exist.", default=True)


class EditFileInputs(Shape):
    """Changes a text file by operations, in order: all of them, or none.

    An operation is `replace_text` (`old_text`, `new_text`, `count`), `replace_lines` or `delete_lines` (`line_start`,
    `line_end`, `content`), `insert_lines` (`line_start`, `content`), `regex_replace` (`pattern`, `replacement`) or
    `patch` (`patch`, a unified diff).
    """

    label = "an EditFile block"

    path = Field(WORD, "The file.", required=True, example="version.txt")
    operations = Field(
        OrReference(ListOf(ANYTHING, "a list of operations", least=1)),
        "The operations.",
        required=True,
        example=[{"type": "replace_text", "old_text": "1.0", "new_text": "1.1"}],
    )
    encoding = Field(WORD, "The encoding of the text.", default="utf-8")
    create_if_missing = Field(
        FLAG, "Whether to start from an empty file if it does not exist.", default=False
    )
    backup = Field(FLAG, "Whether to keep the file as it was, with `.bak` after its name.", default=True)
    dry_run = Field(FLAG, "Whether to only report what would change.", default=False)
    atomic = Field(FLAG, "Whether one operation that fails undoes them all.", default=True)


class ReadFilesInputs(Shape):
    """Reads the text files of a folder that match patterns, or one file.

    `*` matches within one name, `**/` any number of folders. Files that are too large, not text, or not granted are
    listed in `skipped_files`. If no file
    matches, the block has failed.
    """

    ONE_OF = ("patterns", "path")
    label = "a ReadFiles block"

    path = Field(WORD, "A single file, instead of `patterns`.")
    patterns = Field(PATTERNS, "The files.", example=["src/**/*.py"])
    base_path = Field(WORD, "The folder to search.", default=".")
    mode = Field(
        OneOf(("full", "outline", "summary")),
        "Whole files, or an outline: functions and classes of Python and headings of Markdown, with their lines; "
        "`summary` has the first line of each docstring too.",
        default="full",
    )
    exclude_patterns = Field(PATTERNS, "Files and folders to leave out.")
    max_files = Field(AMOUNT, "The maximum number of files, up to 100.", default=20)
    max_file_size_kb = Field(AMOUNT, "The size limit of a file in kilobytes.", default=100)
    respect_gitignore = Field(
        FLAG, "Whether to leave out what the folder's own .gitignore names.", default=True
    )
    encoding = Field(WORD, "The encoding of the files.", default="utf-8")
    line_start = Field(AMOUNT, "The first line to return, from 1.")
    line_end = Field(AMOUNT, "The last line to return.")


class HttpCallInputs(Shape):
    """Makes an HTTP request. Every status is data: `success` says whether it is 2xx.

    The server makes it if its operator allows the host with `--allow-http`; otherwise the agent does.
    """

    label = "an HttpCall block"

    url = Field(
        WORD, "The URL, with http or https.", required=True, example="https://api.example.com/releases"
    )
    method = Field(WORD, "The method.", default="POST")
    headers = Field(ENVIRONMENT, "Headers of the request, by name.")
    json = Field(ANYTHING, "The body, sent as JSON.")
    content = Field(WORD, "The body as text, instead of `json`.")
    timeout = Field(TIME, "The time limit in seconds.", default=30)
    follow_redirects = Field(FLAG, "Whether to follow redirects.", default=True)
    verify_ssl = Field(FLAG, "Ignored: certificates are always verified.")


class SqlInputs(Shape):
    """Executes SQL on a SQLite file, or an operation on the rows of a model.

    All statements are one transaction. Write a parameter (`?` or `:name`) for each value and give the values in
    `params`. A `model` has a `table` and its `columns` (`type`, `primary`, `required`, `unique`, `default`, and `auto`:
    `uuid`, `created` or `updated`). The server opens the file by the grants for files; otherwise the agent does.
    """

    ONE_OF = ("sql", "model")
    label = "a Sql block"

    engine = Field(OneOf(("sqlite",)), "The kind of database.", default="sqlite")
    path = Field(WORD, "The file.", required=True, example="tasks.db")
    sql = Field(WORD, "One or more statements.", example="SELECT count(*) AS n FROM tasks")
    params = Field(ANYTHING, "The values of the parameters: a list for `?`, an object for `:name`.")
    init_sql = Field(WORD, "Statements to execute before, such as CREATE TABLE IF NOT EXISTS.")
    model = Field(ANYTHING, "A table and its columns, instead of `sql`.")
    op = Field(WORD, "With a model: `schema`, `insert`, `select`, `update`, `delete` or `upsert`.")
    data = Field(BINDINGS, "With a model: the values of a row.")
    where = Field(BINDINGS, 'With a model: what the rows have, such as `{status: open, priority: {">": 4}}`.')
    order = Field(ANYTHING, "With a model: the order of the rows, such as `[priority:desc]`.")
    limit = Field(AMOUNT, "With a model: the maximum number of rows.")
    offset = Field(AMOUNT, "With a model: the number of rows to leave out.")
    columns = Field(ANYTHING, "With a model: the columns to return.")
    conflict = Field(ANYTHING, "With `upsert`: the columns that identify a row; by default the primary key.")
    timeout = Field(TIME, "The time limit in seconds.", default=30)


class RenderTemplateInputs(Shape):
    """Renders a Jinja template, and writes the result to the file `output_path` if that is given.

    Beside `for`, `if` and `set`, the template may use `macro`, `with`, `filter` and `block`; it can't load other
    templates. The value of a `${...}` in the template becomes part of the template: pass untrusted values as variables.
    Double braces in a template belong to the template, in every notation of the file.
    """

    label = "a RenderTemplate block"

    template = Field(WORD, "A Jinja template.", required=True, example="Hello")
    variables = Field(BINDINGS, "The variables of the template, by name.")
    strict = Field(FLAG, "Whether an undefined variable is an error.", default=True)
    output_path = Field(WORD, "The file to write the result to.")
    encoding = Field(WORD, "The encoding of the file.", default="utf-8")
    overwrite = Field(FLAG, "Whether an existing file may be replaced.", default=True)
    create_parents = Field(FLAG, "Whether to create missing parent folders.", default=True)


class PromptInputs(Shape):
    """Asks the agent that drives the run a question. The answer is text.

    With `human: true` a person must answer: the agent only passes the question and the answer on.
    """

    label = "a Prompt block"

    prompt = Field(WORD, "The question.", required=True, example="Deploy now? Answer yes or no.")
    human = Field(BOOLEAN, "Whether a person must answer.", default=False)
    operation = Field(ANYTHING, "Deprecated and ignored: only `prompt` is shown.")
    details = Field(ANYTHING, "Deprecated and ignored: only `prompt` is shown.")
    allow_empty = Field(FLAG, "Deprecated and ignored: any answer is accepted.")


_BY_AGENT = "Ignored: the agent that drives the run answers."


class LlmCallInputs(Shape):
    """Asks a language model. The agent that drives the run answers, in the form that `response_schema` describes.

    Without a schema, the answer is the text `response.content`.
    """

    label = "an LLMCall block"

    prompt = Field(WORD, "The prompt for the model.", required=True, example="Summarize the text.")
    system_instructions = Field(WORD, "Instructions that come before the prompt.")
    response_schema = Field(ANYTHING, "JSON Schema of the answer, as an object or as JSON text.")
    timeout = Field(TIME, "The time limit in seconds.", default=60)
    instructions_file = Field(
        WORD,
        "A text file (.md or .txt) relative to the workflow, inside the project, whose text comes before the prompt.",
        example="prompts/review.md",
    )
    tools = Field(
        AGENT_TOOLS,
        "The tools that the agent gets, with `wfc run --agent`; the operator may allow fewer.",
        example=["read"],
    )
    session = Field(
        ID,
        "The name of a conversation, which blocks of the same run with the same name continue, with `wfc run --agent`.",
        example="author",
    )
    budget = Field(BUDGET, "The budget of the block.", example={"usd": 0.5})
    profile = Field(ANYTHING, _BY_AGENT)
    provider = Field(ANYTHING, _BY_AGENT)
    model = Field(ANYTHING, _BY_AGENT)
    api_key = Field(ANYTHING, _BY_AGENT)
    api_url = Field(ANYTHING, _BY_AGENT)
    extra_headers = Field(ANYTHING, _BY_AGENT)
    temperature = Field(ANYTHING, _BY_AGENT)
    max_tokens = Field(ANYTHING, _BY_AGENT)
    max_retries = Field(ANYTHING, _BY_AGENT)
    retry_delay = Field(ANYTHING, _BY_AGENT)
    validation_prompt_template = Field(ANYTHING, _BY_AGENT)


class ImageGenInputs(Shape):
    """Generates an image. The agent that drives the run does it and says where it saved the files."""

    label = "an ImageGen block"

    prompt = Field(WORD, "The content of the image.", example="A lighthouse at dusk.")
    operation = Field(WORD, "`generate`, `edit` or `variation`.", default="generate")
    image = Field(WORD, "The image to edit or vary.")
    mask = Field(WORD, "The part of the image to edit, as an image.")
    size = Field(WORD, "Its size, such as `1024x1024`.")
    quality = Field(WORD, "Its quality.")
    style = Field(WORD, "Its style.")
    n = Field(AMOUNT, "The number of images.", default=1)
    output_file = Field(WORD, "The file to save it to.")
    response_format = Field(ANYTHING, _BY_AGENT)
    profile = Field(ANYTHING, _BY_AGENT)
    provider = Field(ANYTHING, _BY_AGENT)
    model = Field(ANYTHING, _BY_AGENT)
    api_key = Field(ANYTHING, _BY_AGENT)
    api_url = Field(ANYTHING, _BY_AGENT)


class ReadJsonStateInputs(Shape):
    """Reads an object from a JSON file."""

    label = "a ReadJSONState block"

    path = Field(WORD, "The file.", required=True, example="state.json")
    required = Field(FLAG, "Whether the file must exist.", default=False)


class WriteJsonStateInputs(Shape):
    """Writes an object to a JSON file."""

    label = "a WriteJSONState block"

    path = Field(WORD, "The file.", required=True, example="state.json")
    data = Field(BINDINGS, "The object to write.", required=True, example={"runs": 1})
    state = Field(BINDINGS, "Deprecated: the same as `data`.")
    create_parents = Field(FLAG, "Whether to create missing parent folders.", default=True)


class MergeJsonStateInputs(Shape):
    """Updates some keys of the object in a JSON file and keeps the others."""

    label = "a MergeJSONState block"

    path = Field(WORD, "The file.", required=True, example="state.json")
    updates = Field(BINDINGS, "Keys and their new values.", required=True, example={"runs": 2})
    create_if_missing = Field(FLAG, "Whether to create the file if it does not exist.", default=True)
    create_parents = Field(FLAG, "Whether to create missing parent folders.", default=True)


class EchoInputs(Shape):
    """Returns its message."""

    label = "an EchoBlock"

    message = Field(WORD, "The message.", required=True, example="Hello")
    delay_ms = Field(AMOUNT, "Deprecated and ignored: a delay in milliseconds.")


class CreateWorktreeInputs(Shape):
    """Creates a git worktree with a branch checked out."""

    label = "a CreateWorktree block"

    branch = Field(WORD, "The branch to check out.", required=True, example="feature/login")
    path = Field(WORD, "The folder; by default `.worktrees/` and the name of the branch.")
    base_branch = Field(WORD, "The starting point of a new branch; by default the current branch.")
    repo = Field(WORD, "The repository; by default the project's own.")


@struct(frozen=True)
class Output:
    """An output of a block: its path in the step's result, and its type."""

    path: str
    type: str
    is_certain: bool = True
    """Whether a block that has run always has it."""


@struct(frozen=True)
class Kind:
    """A type of block."""

    step: str
    inputs: type[Shape]
    outputs: dict[str, Output] = field(default_factory=dict)
    modes: dict[str, Mode] = field(default_factory=dict)
    """How each input is passed to the step; the others are text."""
    renamed: dict[str, str] = field(default_factory=dict)
    """The step's name for an input; an empty one leaves the input out."""
    unheeded: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Inputs without effect, each with a message and a help."""
    defaults: dict[str, str | int] = field(default_factory=dict)
    """Inputs whose default differs from that of the step's field."""
    told: tuple[str, ...] = ()
    """Inputs that make up the instructions for an agent, in order."""
    schema: Callable[[Node | None], dict[str, Any]] | None = None
    """The JSON Schema of an agent's result, made from the inputs."""
    own: tuple[str, str] | None = None
    """The name and description of a type that an installed distribution has."""
    can_fail: bool = False
    """Whether it can fail without crashing, as a command does."""
    can_crash: bool = True
    """Whether the run can continue without its result. It can't without the answer to a question."""
    is_open: bool = False
    """Whether it can have outputs that are not known here."""

    @property
    def is_served(self) -> bool:
        """Whether a server may execute it, and fill in secrets."""
        return self.step not in ("prompt", "delegate", "call", "set_state")


def _outputs(**types: str) -> dict[str, Output]:
    return {name: Output(name, kind) for name, kind in types.items()}


OF_CALL = {
    "success": "bool",
    "workflow": "str",
    "execution_time_ms": "float",
    "total_blocks": "int",
    "execution_waves": "int",
}
"""The outputs of a call beside those of the called workflow: names with their types."""
_FLAGS = dict.fromkeys(
    ("overwrite", "create_parents", "required", "strict", "create_if_missing", "max_size_mb", "mode"),
    Mode.VALUE,
)
_SWITCHES = dict.fromkeys(
    (
        *("backup", "dry_run", "atomic", "respect_gitignore", "max_files"),
        *("max_file_size_kb", "line_start", "line_end"),
    ),
    Mode.VALUE,
)
_CALL = Kind(
    "call",
    WorkflowCallInputs,
    modes={"inputs": Mode.VALUE},
    renamed={"inputs": "with", "timeout_ms": "timeout"},
    is_open=True,
)
_ONLY_PROMPT = ("a Prompt shows nothing but its `prompt`", "put the text into `prompt`")


def _answer_schema(inputs: Node | None) -> dict[str, Any]:
    """The schema of a model's answer. One that only a run knows describes nothing."""
    given = inputs.get("response_schema") if isinstance(inputs, Mapping) else None
    found: Any = {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}
    if given is not None:
        found = plain(given)
        if isinstance(found, str):
            try:
                # Files of this language may give the schema as a text of JSON.
                found = json.loads(found)
            except ValueError:
                found = {}
        found = found if isinstance(found, dict) else {}
    return {"type": "object", "properties": {"response": found}, "required": ["response"]}


def _image_schema(inputs: Node | None) -> dict[str, Any]:
    names = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "properties": {"saved_files": names, "urls": names},
        "required": ["saved_files"],
    }


_FOR_AGENT = ("timeout", "instructions_file", "tools", "session", "budget")
"""The inputs of an LLMCall that are fields of the action as well."""
_NOT_SHOWN = dict.fromkeys(("human", "operation", "details", "allow_empty"), "")

KINDS: dict[str, Kind] = {
    "Shell": Kind(
        "shell",
        ShellInputs,
        _outputs(exit_code="int", stdout="str", stderr="str"),
        modes=dict.fromkeys(("timeout", "capture_output", "shell"), Mode.VALUE),
        renamed={"continue-on-error": "", "continue_on_error": ""},
        defaults={"timeout": 120},
        can_fail=True,
    ),
    "Workflow": _CALL,
    "ExecuteWorkflow": _CALL,
    "CreateFile": Kind(
        "create_file",
        CreateFileInputs,
        # `content` is the input: the result of the step does not repeat what it wrote.
        {
            **_outputs(path="str", size_bytes="int", created="bool", content="str"),
            "file_path": Output("path", "str"),
        },
        modes=_FLAGS,
        renamed={"permissions": "mode"},
    ),
    "ReadFile": Kind(
        "read_file",
        ReadFileInputs,
        {
            **_outputs(content="str", path="str", size_bytes="int", found="bool"),
            "file_path": Output("path", "str"),
        },
        modes=_FLAGS,
    ),
    "EditFile": Kind(
        "edit_file",
        EditFileInputs,
        {
            **_outputs(
                operations_applied="int", lines_added="int", lines_removed="int", lines_modified="int"
            ),
            **_outputs(diff="str", errors="list", path="str"),
            "backup_path": Output("backup_path", "str", is_certain=False),
        },
        modes={**_FLAGS, "operations": Mode.DATA, **_SWITCHES},
    ),
    "ReadFiles": Kind(
        "read_files",
        ReadFilesInputs,
        {
            **_outputs(files="list", content="str", total_files="int", total_size_kb="int"),
            **_outputs(skipped_files="list", patterns_matched="int"),
        },
        modes={**_SWITCHES, "patterns": Mode.DATA, "exclude_patterns": Mode.DATA},
        can_fail=True,
    ),
    "HttpCall": Kind(
        "http_call",
        HttpCallInputs,
        {
            **_outputs(status_code="int", response_body="str", success="bool"),
            "response_json": Output("response_json", "any", is_certain=False),
            "headers": Output("headers", "dict", is_certain=False),
            "url": Output("url", "str", is_certain=False),
        },
        modes={"json": Mode.DATA, "timeout": Mode.VALUE, "follow_redirects": Mode.VALUE},
        renamed={"verify_ssl": ""},
        unheeded={"verify_ssl": ("certificates are always verified", "remove it")},
        defaults={"method": "POST"},
    ),
    "Sql": Kind(
        "sql",
        SqlInputs,
        {
            **_outputs(rows="list", columns="list", row_count="int"),
            "affected_rows": Output("affected_rows", "int", is_certain=False),
            "last_insert_id": Output("last_insert_id", "any", is_certain=False),
        },
        modes={
            **dict.fromkeys(("params", "model", "data", "where", "order", "columns", "conflict"), Mode.DATA),
            **dict.fromkeys(("limit", "offset", "timeout"), Mode.VALUE),
        },
    ),
    "RenderTemplate": Kind(
        "render_template",
        RenderTemplateInputs,
        {
            **_outputs(content="str"),
            "rendered": Output("content", "str"),
            "output_path": Output("output_path", "str", is_certain=False),
            "size_bytes": Output("size_bytes", "int", is_certain=False),
        },
        modes={**_FLAGS, "variables": Mode.DATA},
    ),
    "Prompt": Kind(
        "delegate",
        PromptInputs,
        {"response": Output("response", "str")},
        renamed={"prompt": "instructions", **_NOT_SHOWN},
        unheeded={"operation": _ONLY_PROMPT, "details": _ONLY_PROMPT},
    ),
    "LLMCall": Kind(
        "delegate",
        LlmCallInputs,
        _outputs(response="any"),
        defaults={"timeout": 60},
        modes={"timeout": Mode.VALUE},
        renamed={name: "" for name in LlmCallInputs.FIELDS if name not in _FOR_AGENT},
        told=("system_instructions", "prompt"),
        schema=_answer_schema,
    ),
    "ImageGen": Kind(
        "delegate",
        ImageGenInputs,
        {**_outputs(saved_files="list"), "urls": Output("urls", "list", is_certain=False)},
        renamed=dict.fromkeys(ImageGenInputs.FIELDS, ""),
        told=("prompt", "operation", "image", "mask", "size", "quality", "style", "n", "output_file"),
        schema=_image_schema,
    ),
    "ReadJSONState": Kind(
        "read_json_state",
        ReadJsonStateInputs,
        {**_outputs(data="dict", found="bool", path="str"), "state": Output("data", "dict")},
        modes=_FLAGS,
    ),
    "WriteJSONState": Kind(
        "write_json_state",
        WriteJsonStateInputs,
        _outputs(path="str", size_bytes="int"),
        modes={**_FLAGS, "data": Mode.DATA, "state": Mode.DATA},
        renamed={"state": "data"},
    ),
    "MergeJSONState": Kind(
        "merge_json_state",
        MergeJsonStateInputs,
        {**_outputs(path="str", created="bool", merged_data="dict"), "state": Output("merged_data", "dict")},
        modes={**_FLAGS, "updates": Mode.DATA},
    ),
    "EchoBlock": Kind("set_state", EchoInputs, _outputs(echoed="str", message="str")),
    "CreateWorktree": Kind(
        "create_worktree",
        CreateWorktreeInputs,
        {
            **_outputs(worktree_path="str", branch="str", created="bool"),
            "path": Output("worktree_path", "str"),
            "base_branch": Output("base_branch", "str", is_certain=False),
        },
    ),
}


GATE = replace(
    KINDS["Prompt"],
    step="prompt",
    outputs={"response": Output("input", "str")},
    renamed={"prompt": "message", **_NOT_SHOWN},
    can_crash=False,
)
"""A Prompt that a person must answer."""


def is_template_text(entry: Entry, kind: Kind) -> bool:
    """Whether an input is itself a Jinja template with its own variables."""
    return kind.step == "render_template" and entry.key.text == "template"


# Typo recovery for the type of a block.


def type_of(block: Mapping) -> Scalar | None:
    entry = block.entry(TYPE) or recover_entry(block.entries, KINDS, Block.FIELDS)
    return entry.value if entry and isinstance(entry.value, Scalar) else None


def kind_of(block: Mapping) -> Kind | None:
    named = type_of(block)
    kind = recover_type(named.text, KINDS) if named else None
    # A Prompt without `human` is a question for the agent, which must not wait for a person.
    return GATE if kind is KINDS["Prompt"] and _is_for_a_person(block) else kind


def _is_for_a_person(block: Mapping) -> bool:
    inputs = block.get("inputs")
    human = inputs.get("human") if isinstance(inputs, Mapping) else None
    return isinstance(human, Scalar) and (human.value is True or TRUTH.get(human.text.lower(), False))


# Spelling of booleans and numbers: `required: no`, `timeout: "30"`. Other readers of such files accept
# both: YAML 1.1 has more words for true and false, and a text is read as a number. Only fields that can
# hold nothing else are converted.

TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
NUMBER_TEXT = re.compile(r"-?\d+(\.\d+)?")
_OF_FILES = ("required", "unsafe")
Change = Callable[[Node], Node]


def with_plain_values(root: Mapping) -> Mapping:
    """The file with booleans and numbers in place of texts that mean them."""
    changes: dict[str, Change] = {
        "inputs": lambda node: _each(node, _declaration),
        "blocks": lambda node: _items(node, _block),
    }
    entries = [
        Entry(one.key, changes[one.key.text](one.value) if one.key.text in changes else one.value)
        for one in root.entries
    ]
    return replace(root, entries=entries)


def _declaration(node: Node) -> Node:
    node = _at(node, ("required",), _boolean)
    kind = node.get("type") if isinstance(node, Mapping) else None
    is_flag = isinstance(kind, Scalar) and INPUT_TYPES.get(kind.text) == "boolean"
    return _at(node, ("default",), _boolean) if is_flag else node


def _block(node: Node) -> Node:
    node = _at(
        node, ("depends_on",), lambda waits: _items(waits, lambda one: _at(one, ("required",), _boolean))
    )
    node = _at(node, ("outputs",), lambda files: _each(files, lambda one: _at(one, _OF_FILES, _boolean)))
    known = kind_of(node) if isinstance(node, Mapping) else None
    if known is None:
        return node
    fields = known.inputs.FIELDS.items()
    # Only these types: the text of a command or message may well be `no` or `30`.
    flags = [name for name, field in fields if field.type in (FLAG, BOOLEAN)]
    amounts = [name for name, field in fields if field.type in (AMOUNT, TIME, MILLISECONDS)]
    return _at(node, ("inputs",), lambda given: _at(_at(given, flags, _boolean), amounts, _number))


def _boolean(node: Node) -> Node:
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.text.lower() in TRUTH:
        return replace(node, value=TRUTH[node.text.lower()])
    return node


def _number(node: Node) -> Node:
    if isinstance(node, Scalar) and isinstance(node.value, str) and NUMBER_TEXT.fullmatch(node.text):
        return replace(node, value=float(node.text) if "." in node.text else int(node.text))
    return node


def _at(node: Node, names: Collection[str], change: Change) -> Node:
    """The mapping with a change applied to some of its values."""
    if not isinstance(node, Mapping):
        return node
    entries = [
        Entry(one.key, change(one.value) if one.key.text in names else one.value) for one in node.entries
    ]
    return replace(node, entries=entries)


def _each(node: Node, change: Change) -> Node:
    return _at(node, [one.key.text for one in node.entries], change) if isinstance(node, Mapping) else node


def _items(node: Node, change: Change) -> Node:
    return replace(node, items=[change(one) for one in node.items]) if isinstance(node, Sequence) else node


def understood(root: Mapping) -> frozenset[int]:
    """The positions of words that have become true or false."""
    return frozenset(
        one.span.start
        for one in scalars_in(root)
        if isinstance(one.value, bool) and one.text.lower() in TRUTH and one.text not in ("true", "false")
    )


def scalars_in(node: Node | None) -> Iterator[Scalar]:
    match node:
        case Scalar():
            yield node
        case Sequence():
            for item in node.items:
                yield from scalars_in(item)
        case Mapping():
            for entry in node.entries:
                yield from scalars_in(entry.value)
