"""What a foreach or call hands to the child that it runs, beside what the child asks for."""

from __future__ import annotations

from collections.abc import Iterator

from wfc.language.ast import Scope
from wfc.language.shape import InputDecl
from wfc.language.steps.base import Step
from wfc.language.steps.call import Call
from wfc.language.steps.foreach import Foreach
from wfc.project import SourceFile
from wfc.rules.shared.scope_names import keys_of, names_of
from wfc.struct import struct
from wfc.yaml import Entry, Mapping


@struct(frozen=True)
class Binding:
    """One step that runs a child."""

    scope: Scope
    step: Foreach | Call
    child: Scope
    title: str
    """What messages call the child: "the task `audit_module`"."""
    declared: list[str]
    given: Mapping | None
    """The `with`, if there is one."""

    @property
    def keys(self) -> set[str]:
        return {entry.key.text for entry in self.given.entries} if self.given else set()

    @property
    def needed(self) -> dict[str, InputDecl]:
        """The inputs without which the child can't start."""
        inputs = self.child.declared_inputs
        return {
            name: decl for name, decl in inputs.items() if decl.is_required and "default" not in decl.values
        }

    @property
    def is_lenient(self) -> bool:
        """Whether what the child has no input for is left out."""
        return isinstance(self.step, Call) and bool(self.step.setting("only_declared"))

    @property
    def unbound(self) -> list[str]:
        keys = self.keys
        return [name for name in self.declared if name not in keys]

    def unknown_entries(self) -> list[Entry]:
        """The entries of `with` that the child has no input for."""
        declared = set(self.declared)
        return [entry for entry in self.given.entries if entry.key.text not in declared] if self.given else []

    def guess(self, names: list[str]) -> dict[str, str] | None:
        """Values for some inputs, as YAML: what has the same name here, and the item for one more."""
        here = names_of(self.scope)
        found: dict[str, str] = {}
        for name in names:
            if name in here.inputs:
                found[name] = f'"{{{{ inputs.{name} }}}}"'
            elif name in here.fields:
                found[name] = f'"{{{{ state.{name} }}}}"'
            elif isinstance(self.step, Foreach) and not self._uses_item and "item" not in found.values():
                found[name] = "item"
        if len(found) < len(names):
            return None
        return {name: '"{{ item }}"' if value == "item" else value for name, value in found.items()}

    @property
    def _uses_item(self) -> bool:
        trees = (self.step.with_ or {}).values()
        return any(
            read.root == "item" for tree in trees for text in tree.texts for read in text.template.reads
        )


def bindings(unit: SourceFile) -> Iterator[Binding]:
    """Every step that runs a child which is there, with what it hands over."""
    for scope in unit.scopes:
        for step in scope.walk():
            if isinstance(step, Foreach | Call):
                yield from _binding(unit, scope, step)


def _binding(unit: SourceFile, scope: Scope, step: Foreach | Call) -> Iterator[Binding]:
    child, title = _child(unit, step)
    declared = keys_of(child, "inputs") if child else None
    given = step.node.get("with")
    if child is not None and declared is not None and (given is None or isinstance(given, Mapping)):
        yield Binding(scope, step, child, title, declared, given)


def _child(unit: SourceFile, step: Step) -> tuple[Scope | None, str]:
    if isinstance(step, Foreach) and step.task and unit.workflow:
        name = step.task.text
        return unit.workflow.declared_tasks.get(name), f"the task `{name}`"
    if isinstance(step, Call) and step.workflow:
        name = step.workflow.text
        found = unit.project.named(name)
        return found[0].workflow if found else None, f"the workflow `{name}`"
    return None, ""
