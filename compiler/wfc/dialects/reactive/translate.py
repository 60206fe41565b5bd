"""The translation of a whole file: its parts, put together as a workflow of the steps language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from wfc.dialects.base import Reports, Surroundings, made
from wfc.dialects.reactive import checks
from wfc.dialects.reactive.build import keyed, mapping, places_of, words
from wfc.dialects.reactive.computed import Derived, derived
from wfc.dialects.reactive.imports import add_imported
from wfc.dialects.reactive.language import ReactiveLanguage
from wfc.dialects.reactive.model import (
    DefaultState,
    InputDeclaration,
    ReactiveFile,
    StateSchema,
    Task,
    TaskErrors,
    WorkflowErrors,
)
from wfc.dialects.reactive.names import Place
from wfc.dialects.reactive.reading import read_file
from wfc.dialects.reactive.scopes import (
    LOOP_INDEX,
    LOOP_ITEM,
    LOOP_ITERATION,
    ScopeNames,
    Written,
    all_steps,
    input_names,
    paths_written,
    undeclared_inputs,
)
from wfc.dialects.reactive.scripts import holes, script
from wfc.dialects.reactive.steps import Steps
from wfc.dialects.reactive.tasks import Tasks, has_own_state, needed_derived, prompt_steps
from wfc.dialects.reactive.texts import Texts
from wfc.dialects.reactive.updates import Updates, written
from wfc.dialects.steps import read_workflow
from wfc.findings import Severity
from wfc.language.dialect import Parsed
from wfc.language.values import Tree, Word, plain
from wfc.struct import replace
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence, Span

# The core requires a version, and files of this language often have none.
_VERSION = "0.0.0"
_LOOP_FIELDS = {"iteration": LOOP_ITERATION, "item": LOOP_ITEM, "index": LOOP_INDEX}


def parse_reactive(root: Mapping, around: Surroundings) -> Parsed:
    file = read_file(root)
    reports = Reports()
    # Before anything else, so that imported tasks and steps are checked like the file's own.
    add_imported(file, around, reports)
    translation = _Translation(file, reports)
    workflow = read_workflow(translation.root())
    checks.check_file(file, translation.main, translation.scopes, reports)
    return Parsed(
        workflow,
        ReactiveLanguage(translation.names()),
        surface=file,
        reports=tuple(reports.all),
        shadowing=tuple(reports.shadowing),
    )


class _Translation:
    def __init__(self, file: ReactiveFile, reports: Reports) -> None:
        self._file = file
        self._reports = reports
        self.tasks = Tasks(file)
        self.main = ScopeNames(file, self.tasks.workflow_fields, self.tasks)
        self.scopes: list[ScopeNames] = [self.main]
        self._outer: dict[str, Node] = {}

    def root(self) -> Mapping:
        file = self._file
        at = file.node.span
        errors: WorkflowErrors | None = file.error_handling
        keys: dict[str, Any] = {}
        for name in ("name", "description", "author", "tags", "budget"):
            entry = file.node.entry(name)
            if entry is not None and name in file.values:
                keys[name] = entry.value
        version = file.version
        keys["version"] = made(version.text, version.node) if version else _VERSION
        keys["expressions"] = "javascript"
        keys["inputs"] = _inputs(file)
        self.main.loop_names = _loop_names(file.state_schema)
        computed = self._derived(self.main)
        # Before the tasks, which inherit the types of the fields that they share.
        self._outer = self._initial_of_workflow()
        # Before the steps: a `parallel_foreach` must know which fields its task shares.
        tasks = {name: self._task(name, task, computed) for name, task in self.tasks.all.items()}
        otherwise = "continue" if errors and errors.setting("on_error") == "continue" else ""
        collection = errors.error_collection if errors and otherwise else None
        collects = collection and collection.setting("enabled")
        keys["steps"] = self._steps(
            self.main, otherwise, collection.state_path if collection and collects else None
        )
        keys |= self._workflow_errors(errors)
        keys["derived"] = _computed(at, computed)
        # Last, because the loops and included workflows found in the steps add internal fields.
        keys |= self._state(self.main)
        if file.config and file.config.timeout_seconds:
            keys["deadline"] = file.config.timeout_seconds.node
        keys["tasks"] = keyed(at, tasks, places_of(file.node.get("sub_agent_tasks"))) if tasks else None
        return mapping(at, **keys)

    def names(self) -> dict[str, str]:
        """The author's name of each field of the core that has another one."""
        found: dict[str, str] = {}
        for scope in self.scopes:
            found |= {core: f"raw.{name}" for name, core in scope.fields.raw.items() if core != name}
            found |= {core: f"global.{name}" for name, core in scope.fields.globals.items()}
        return found

    # -- scopes

    def _place(self, scope: ScopeNames) -> Place:
        return Place(scope.fields, input_names(scope.shape), scope.is_task)

    def _steps(self, scope: ScopeNames, otherwise: str = "", collected_at: Word | None = None) -> Sequence:
        scope.name_steps()
        making = Steps(scope, self._reports, otherwise, collected_at)
        found = making.block(scope.shape.steps, self._place(scope))
        if scope.shape.steps == []:
            # The core has no scope without steps.
            at = scope.shape.value_span("steps")
            self._reports.add(
                "WF006", at, "`steps` is empty: a run ends at once", "add a step", severity=Severity.WARNING
            )
            found.items.append(mapping(at, id=scope.free("end"), type="return", state=True))
        return found

    def _derived(self, scope: ScopeNames) -> dict[str, Derived]:
        schema: StateSchema | None = scope.shape.state_schema
        place = replace(
            self._place(scope),
            loop_fields={name: _LOOP_FIELDS[name] for name in scope.loop_names},
        )
        found: dict[str, Derived] = {}
        places = places_of(schema.node.get("computed") if schema else None)
        for name, field in (schema.computed or {}).items() if schema else ():
            one = derived(field, places[name], place, self._reports)
            if one is not None:
                found[scope.fields.computed[name]] = one
                scope.reads |= dict.fromkeys(one.reads)
        return found

    def _state(self, scope: ScopeNames, shared: Iterable[str] = ()) -> dict[str, Node | None]:
        """Initial values, values that are computed at the start, and fields that are not part of the result.

        A field that a task shares has the initial value of the workflow's, so that its type is known; a child gets the
        value of its parent.
        """
        initial: dict[str, Node] = {name: self._outer.get(name, made(None, scope.span)) for name in shared}
        start: dict[str, Node] = {}
        at = scope.shape.span
        state: DefaultState | None = scope.shape.default_state
        texts = Texts(Place(scope.fields, input_names(scope.shape), scope.is_task), self._reports)
        places: dict[str, Span] = {}
        tiers = (("raw", scope.fields.raw), ("state", scope.fields.raw), ("global", scope.fields.globals))
        for tier, known in tiers if state else ():
            keys = places_of(state.node.get(tier) if state else None)
            values: dict[str, Tree] = (state.values.get(tier) or {}) if state else {}
            for name, tree in values.items():
                places[known[name]] = keys.get(name, at)
                # A value with an expression can only be computed when the inputs are known; a constant stays
                # readable in the module.
                (start if _has_holes(tree.node) else initial)[known[name]] = texts.tree(tree.node)
        owned = (*scope.fields.raw.values(), *scope.fields.globals.values())
        if isinstance(scope.shape, ReactiveFile) or has_own_state(scope.shape):
            theirs = frozenset(self.tasks.workflow_fields.globals.values()) if scope.is_task else frozenset()
            for name in owned:
                if name not in start and name not in theirs:
                    initial.setdefault(name, made(None, at))
        kept = scope.keep_counters()
        internal = [*dict.fromkeys(kept), *scope.included]
        # In the result, computed fields replace raw ones of the same name, and fields of the whole run are omitted.
        internal += [field for name, field in scope.fields.raw.items() if field != name]
        if not scope.is_task:
            internal += scope.fields.globals.values()
        internal += [_LOOP_FIELDS[name] for name in ("item", "index") if name in scope.loop_names]
        if "iteration" in scope.loop_names and LOOP_ITERATION not in internal:
            internal.append(LOOP_ITERATION)
        for name in internal:
            if name.startswith("loop_"):
                initial.setdefault(name, made(None, at))
        return {
            "initial_state": keyed(at, initial, places) if initial else None,
            "start_values": keyed(at, start, places) if start else None,
            "internal": words(at, internal) if internal else None,
        }

    def _initial_of_workflow(self) -> dict[str, Node]:
        """The constant initial values of the workflow's fields."""
        state: DefaultState | None = self._file.default_state
        fields, found = self.main.fields, dict[str, Node]()
        for tier, known in (("raw", fields.raw), ("state", fields.raw), ("global", fields.globals)):
            values: dict[str, Tree] = (state.values.get(tier) or {}) if state else {}
            found |= {known[name]: tree.node for name, tree in values.items() if not _has_holes(tree.node)}
        return found

    # -- error handling

    def _workflow_errors(self, errors: WorkflowErrors | None) -> dict[str, Any]:
        if errors is None:
            return {}
        keys: dict[str, Any] = {}
        if errors.setting("on_error") == "retry_workflow":
            config = self._file.config
            keys["restarts"] = int(config.setting("max_retries")) if config else 1
        place = replace(self._place(self.main), local=frozenset(("error",)))
        collection = errors.error_collection
        if collection and collection.setting("enabled") and collection.state_path:
            texts = Texts(place, self._reports)
            target = Updates(texts, self._reports).target(collection.state_path)
            keys["collect_errors"] = Sequence(collection.span, target[0]) if target else None
        if errors.on_failure:
            keys["on_failure"] = Steps(self.main, self._reports).block(errors.on_failure, place)
        return keys

    # -- tasks

    def _task(self, name: str, task: Task, outer: dict[str, Derived]) -> Mapping:
        scope = ScopeNames(task, self.tasks.fields_of(task), self.tasks, is_task=True)
        self.scopes.append(scope)
        own = has_own_state(task)
        scope.loop_names = _loop_names(task.state_schema)
        computed = self._derived(scope) if own else {}
        keys: dict[str, Any] = {"description": task.description.node if task.description else None}
        keys["inputs"] = _inputs(task)
        if task.steps:
            keys["steps"] = self._steps(scope)
        elif task.prompt_template:
            texts = Texts(self._place(scope), self._reports)
            keys["steps"] = Sequence(task.span, prompt_steps(task, texts))
            scope.reads |= texts.reads
        errors: TaskErrors | None = task.error_handling
        if errors and errors.cleanup_on_error:
            place = replace(self._place(scope), local=frozenset(("error",)))
            keys["on_failure"] = Steps(scope, self._reports).block(errors.cleanup_on_error, place)
        if errors and errors.setting("return_on_error") is False:
            keys["completes_on_failure"] = True
        # A task on the workflow's state needs only those computed fields that its steps read, directly or
        # not.
        if not own:
            computed = {one: outer[one] for one in needed_derived(scope.reads, outer)}
        shared = _shared(scope, computed, self.tasks, own)
        self.tasks.share(name, shared)
        keys["derived"] = _computed(task.span, computed)
        keys |= self._state(scope, shared)
        return mapping(task.node.span, **keys)


def _computed(at: Span, fields: dict[str, Derived]) -> Mapping | None:
    places = {name: one.place for name, one in fields.items()}
    return keyed(at, {name: one.node for name, one in fields.items()}, places) if fields else None


def _shared(scope: ScopeNames, computed: dict[str, Derived], tasks: Tasks, own: bool) -> list[str]:
    """The fields of the workflow that a task reads or writes, in the order of the file."""
    fields = tasks.workflow_fields
    used = {*scope.reads, *(name for one in computed.values() for name in one.reads)}
    for node, loose in paths_written(all_steps(scope.shape)):
        target = written(node.text, loose)
        if target:
            tier, name = target
            found = fields.globals.get(name) if tier == "global" else None if own else fields.raw.get(name)
            used |= {found} if found else set()
    known = fields.globals.values() if own else (*fields.raw.values(), *fields.globals.values())
    return [name for name in known if name in used]


# Inputs.


def _inputs(shape: Written) -> Mapping | None:
    state: DefaultState | None = shape.default_state
    defaults = (state.inputs or {}) if state else {}
    found = {name: _input(declared, defaults.get(name)) for name, declared in (shape.inputs or {}).items()}
    for name, kind in undeclared_inputs(shape).items():
        # Inputs that only `default_state` mentions exist as well: files of this language rely on it.
        default = defaults.get(name)
        given = default.node if default else None
        found[name] = mapping(shape.span, type=kind or None, default=given, required=False)
    return keyed(shape.span, found, places_of(shape.node.get("inputs"))) if found else None


def _input(declared: InputDeclaration | Tree, default: Tree | None) -> Mapping:
    if not isinstance(declared, InputDeclaration):
        return Mapping(declared.node.span)
    keys: dict[str, Any] = {}
    if declared.core_type:
        keys["type"] = made(declared.core_type, declared.type.node if declared.type else declared.span)
    given = declared.default or default
    if given is not None:
        keys["default"] = given.node
    needed = declared.required.value if declared.required else given is None
    # An input with a default never has to be given, even if the file calls it required.
    keys["required"] = bool(needed) and given is None
    keys["description"] = declared.description.node if declared.description else None
    rules = list(_rules(declared))
    keys["validation"] = Mapping(declared.span, rules) if rules else None
    return mapping(declared.node.span, **keys)


def _rules(declared: InputDeclaration) -> Iterator[Entry]:
    inner = declared.validation
    for entry in inner.node.entries if inner else ():
        if inner and entry.key.text in inner.values and entry.key.text != "error_message":
            yield entry
    outer = declared.node.entry("enum")
    if outer and declared.enum is not None:
        yield outer


# The loop values that computed fields read.


def _loop_names(schema: StateSchema | None) -> frozenset[str]:
    found: set[str] = set()
    for field in (schema.computed or {}).values() if schema else ():
        texts = [field.transform.text] if field.transform else []
        texts += list(_strings(plain(field.from_.node))) if field.from_ else []
        for text in texts:
            if "loop" in text:
                found |= set(_loop_reads(text))
    return frozenset(found)


def _strings(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        for item in data:
            yield from _strings(item)


def _loop_reads(text: str) -> Iterator[str]:
    parts = [text[hole.inner_start : hole.inner_end] for hole in holes(text)] or [text]
    for part in parts:
        found = script(part)
        for read in found.reads if found else ():
            if read.root == "loop" and read.path and read.path[0].name in _LOOP_FIELDS:
                yield str(read.path[0].name)


def _has_holes(node: Node) -> bool:
    match node:
        case Scalar():
            return isinstance(node.value, str) and bool(holes(node.text))
        case Sequence():
            return any(_has_holes(item) for item in node.items)
        case Mapping():
            return any(_has_holes(entry.value) for entry in node.entries)
