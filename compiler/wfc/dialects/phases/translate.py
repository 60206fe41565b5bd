"""Translate a mission to the core AST, by way of a YAML tree of steps in which every node has its position."""

from __future__ import annotations

import re
from typing import Any

from wfc.config import AT_ONCE
from wfc.dialects.base import Surroundings, made
from wfc.dialects.phases.agents import Agents, wfc_tools
from wfc.dialects.phases.brief import brief_of, checkpoint_message, stop_message
from wfc.dialects.phases.checks import (
    Reports,
    check_mission,
    find_member,
    find_phase,
    problem_of,
    read_phases,
)
from wfc.dialects.phases.file import TIMEOUT, PhasesFile, scope_entries, without_section
from wfc.dialects.phases.language import PhasesLanguage
from wfc.dialects.phases.markdown import MarkdownMission, read_definition
from wfc.dialects.phases.model import Member, Mission, Names, PhaseNode
from wfc.dialects.phases.scopes import PathScope, contains
from wfc.dialects.phases.texts import OTHER_ROOT, as_literal, references_of, tags_of, with_reads
from wfc.dialects.steps import read_shape, read_workflow
from wfc.language.dialect import Parsed
from wfc.language.values import Text
from wfc.struct import replace, struct
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence, Span
from wfc_runtime.header import read_mark

MOST_ROUNDS = 5
"""How often a person can let a phase begin again, for each of the two questions."""
AGAIN, GO_ON, ABORT = "again", "go on", "abort"
APPROVE, CHANGE, STOP = "approve", "change", "stop"
_VERSION = "1.0"
_READ = re.compile(r"\bstate\.([A-Za-z]\w*)")
_UNKNOWN = "('{}' | parse_json)"
"""A value of any type that replaces a wrong reference, which `checks` reports: no other rule reports it again."""
# Copied as nodes of the file, so that findings of the core rules point at the author's text.
_KEPT = ("name", "description", "version", "budget", "inputs")
_DEFINED = ("objective", "scope", "constraints", "success_criteria")


def parse_phases(root: Mapping, around: Surroundings) -> Parsed:
    file = read_shape(PhasesFile, _with_definition(root, around))
    reports = Reports()
    mark = read_mark(root.span.source.text) if around.path.endswith(".md") else None
    # A file that `wfc mission` has written means the same as its source: paths are relative to that.
    around = replace(around, path=mark.path) if mark else around
    known = Agents(around)
    file.agent_names = tuple(known.names)
    # The folder that all workflows share is not the mission's own.
    folder = "" if around.folder == around.config.workflows else around.folder
    mission = Mission(file, read_phases(file, known, reports), known, folder)
    check_mission(mission, reports)
    for lost in root.lost_prompts if isinstance(root, MarkdownMission) else ():
        reports.add("WF121", lost.span, f"this prompt is not used: {lost.why}", lost.help)
    translation = Translation(mission, reports)
    workflow = read_workflow(translation.root())
    for step in workflow.walk():
        # Coverage and counts of steps are about the author's steps; findings in the others would point at
        # text that nobody wrote.
        step.belongs_to = "" if step.name in translation.added else None
        step.added_fields = frozenset({"on_error"})
    return Parsed(
        workflow,
        PhasesLanguage(translation.paths),
        surface=file,
        reports=tuple(reports.all),
        mentioned=frozenset(translation.mentioned),
        outline=translation.outline,
    )


def _with_definition(root: Mapping, around: Surroundings) -> Mapping:
    """The tree with what `definition.md` beside a `workflow.md` says and the file does not. It is prose: nothing in it
    is evaluated."""
    if not around.path.endswith(".md"):
        return root
    place = f"{around.folder}/definition.md" if around.folder else "definition.md"
    found = read_definition(around.files.get(place, ""))
    at = root.span.source.start
    entries = [
        Entry(made(key, at), _tree(_literal(value), at))
        for key, value in found.items()
        if key in _DEFINED and root.entry(key) is None
    ]
    return Mapping(root.span, [*root.entries, *entries])


def _literal(value: str | list[str]) -> str | list[str]:
    return as_literal(value) if isinstance(value, str) else [as_literal(one) for one in value]


def _tree(value: Any, at: Span) -> Node:
    """Plain data as a tree of the file. Nodes of the file stay as they are."""
    if isinstance(value, Scalar | Sequence | Mapping):
        return value
    if isinstance(value, dict):
        return Mapping(at, [Entry(made(str(key), at), _tree(item, at)) for key, item in value.items()])
    if isinstance(value, list):
        return Sequence(at, [_tree(item, at) for item in value])
    return made(value, at)


@struct(eq=False)
class _Steps:
    """The names of the steps and state fields of one phase, and the steps themselves."""

    phase: PhaseNode
    fields: dict[str, str]
    entry: str = ""
    """The step at which a further round begins."""


class Translation:
    def __init__(self, mission: Mission, reports: Reports) -> None:
        self._mission = mission
        self._reports = reports
        self._names = Names()
        self.added: set[str] = set()
        """Steps that the author did not write."""
        self.paths: dict[str, str] = {}
        """The state fields of reports, each as the author refers to it."""
        self.mentioned: set[str] = set()
        self.outline: dict[str, dict[str, Any]] = {}
        self._initial: dict[str, Any] = {}
        self._statuses: dict[str, str] = {}
        # All names are assigned before any step is made: the text of an agent may refer to the report of
        # every earlier phase, and the agents' own names must not depend on the steps added for them.
        for phase in mission.phases:
            self._name_agents(phase)

    def _name_agents(self, phase: PhaseNode) -> None:
        alone = len(phase.members) == 1
        for member in phase.members:
            # The step of a single agent has the id of its phase, which is the name that tests and journals
            # use.
            name = phase.id if alone else f"{phase.id}-{member.role}"
            member.step = self._names.step(name)
            member.report = self._names.field(name)
            self.paths[member.report] = f"phases.{phase.id}.{member.role}"

    # -- the workflow -----------------------------------------------------------

    def root(self) -> Mapping:
        file = self._mission.file
        at = file.span
        steps = [step for phase in self._mission.phases for step in self._phase(phase)]
        steps.append(self._result())
        entries = [entry for entry in file.node.entries if entry.key.text in _KEPT]
        if file.version is None:
            entries.append(Entry(made("version", at), made(_VERSION, at)))
        if self.outline:
            entries.append(Entry(made("facts", at), _tree({"phases": self.outline}, at)))
        if self._initial:
            entries.append(Entry(made("initial_state", at), _tree(self._initial, at)))
        return Mapping(file.node.span, [*entries, Entry(made("steps", at), Sequence(at, list(steps)))])

    def _result(self) -> Mapping:
        phases = [
            {
                "id": phase.id,
                "number": phase.number,
                "status": f"{{{{ state.{self._statuses[phase.id]} }}}}",
                "agents": self._result_agents(phase),
            }
            for phase in self._mission.phases
        ]
        at = self._mission.file.span
        return self._step("result", at, type="return", value={"phases": phases})

    def _result_agents(self, phase: PhaseNode) -> Any:
        """The status and summary of each agent; nothing for a phase that may have been skipped and was."""
        parts = {
            member.role: {
                "status": f"{{{{ state.{member.report}.status }}}}",
                "summary": f"{{{{ state.{member.report}.summary }}}}",
            }
            for member in phase.members
        }
        # Only a phase that can be skipped needs the conditional form; the other one stays readable in the
        # module.
        if not any(one.may_miss for one in phase.requires):
            return parts
        written = ", ".join(
            f"'{role}': {{'status': state.{member.report}.status, 'summary': state.{member.report}.summary}}"
            for role, member in ((one.role, one) for one in phase.members)
        )
        status = f"state.{self._statuses[phase.id]}"
        return f"{{{{ {{{written}}} if {status} != 'skipped' else {{}} }}}}"

    # -- one phase ----------------------------------------------------------------

    def _phase(self, phase: PhaseNode) -> list[Mapping]:
        field = self._names.field
        self._statuses[phase.id] = field(f"{phase.id}_status")
        # A phase overwrites this when it ends, so a phase that never runs needs no step of its own.
        self._initial[self._statuses[phase.id]] = "skipped"
        fields: dict[str, str] = {}
        about: dict[str, Any] = {"number": phase.number, "name": phase.title}
        about["agents"] = {member.step: member.role for member in phase.members}
        if phase.is_parallel:
            about["parallel"] = True
        self.outline[phase.id] = about
        found = _Steps(phase, fields)
        steps = [*self._work(found, about), *self._after(found, about)]
        if not phase.is_lenient:
            steps.append(self._done(phase))
        missing = [one for one in phase.requires if one.may_miss]
        if not missing:
            return steps
        condition = " and ".join(f"state.{self._statuses[one.id]} == 'completed'" for one in missing)
        name = f"{phase.id}-required"
        return [
            self._step(name, phase.span, type="condition", **{"if": f"{{{{ {condition} }}}}", "then": steps})
        ]

    def _done(self, phase: PhaseNode) -> Mapping:
        updates = {self._statuses[phase.id]: "completed"}
        return self._step(f"{phase.id}-done", phase.span, type="set_state", updates=updates)

    def _work(self, found: _Steps, about: dict[str, Any]) -> list[Mapping]:
        """The agents, and the steps before and after them that find out what was done."""
        phase, fields = found.phase, found.fields
        if not phase.members:
            return []
        field = self._names.field
        first: dict[str, Any] = {"problems": []}
        # Without a retry or a question, every round asks all agents.
        if len(phase.members) > 1 and (phase.rounds or not phase.is_lenient):
            first["again"] = [member.role for member in phase.members]
        if not phase.is_lenient:
            first["round"] = 0
        fields |= {key: field(f"{phase.id}_{key}") for key in (*first, "verdict")}
        self._initial |= {fields[key]: value for key, value in first.items()}
        if phase.has_checkpoint:
            fields["feedback"] = field(f"{phase.id}_feedback")
        proof = self._mission.proof
        before: list[Mapping] = []
        after: list[Mapping] = []
        at = phase.span
        if phase.files:
            fields["files"] = field(f"{phase.id}_files")
            # Verified by a step, since a report is only the claim of an agent.
            paths = [self._author(phase, one.node) for one in phase.files]
            after.append(
                self._step(
                    f"{phase.id}-outputs",
                    phase.shape.key_span("outputs"),
                    type="check_files",
                    paths=paths,
                    **({"folder": self._mission.folder} if self._mission.folder else {}),
                    output_to=fields["files"],
                )
            )
        if proof != "none":
            fields["before"], fields["changes"] = (
                field(f"{phase.id}_{key}") for key in ("before", "changes")
            )
            # `auto` must never cost an action: without a grant for git, the comparison is skipped.
            otherwise = "skip" if proof == "auto" else "agent"
            before.append(
                self._step(
                    f"{phase.id}-before",
                    at,
                    type="git_snapshot",
                    otherwise=otherwise,
                    output_to=fields["before"],
                )
            )
            changes = self._step(
                f"{phase.id}-changes",
                at,
                type="git_changes",
                since=f"{{{{ state.{fields['before']} }}}}",
                scopes=self._scopes(phase),
                otherwise=otherwise,
                output_to=fields["changes"],
            )
            about["changes"] = self._id(changes)
            after.append(changes)
        return [*before, *self._agents(found), *after, self._verdict(found)]

    def _agents(self, found: _Steps) -> list[Mapping]:
        phase = found.phase
        steps = [self._delegate(member, found) for member in phase.members]
        if "again" in found.fields:
            steps = [
                self._asked(member, step, found) for member, step in zip(phase.members, steps, strict=True)
            ]
        first = self._forget(found)
        # Every further round jumps here: reports of the previous round must be cleared first.
        found.entry = self._id(first)
        if not phase.is_parallel:
            return [first, *steps]
        # Reported here, because the core's message would name a `parallel` step that the author did not
        # write.
        if len(steps) > AT_ONCE:
            message = f"phase {phase.number} has {len(steps)} agents at the same time; at most {AT_ONCE} are possible"
            self._reports.add(
                "WF010", phase.shape.key_span("agents"), message, "split the phase", phase=phase.id
            )
        branches = [
            Entry(made(member.role, member.span), Sequence(member.span, [step]))
            for member, step in zip(phase.members, steps, strict=True)
        ]
        frame = self._step(
            phase.id,
            phase.span,
            type="parallel",
            # An agent that fails ends the phase, unless its `on_error` says otherwise.
            join="fail_fast",
            branches=Mapping(phase.span, branches),
        )
        return [first, frame]

    def _forget(self, found: _Steps) -> Mapping:
        """Clears the reports of the agents that this round asks: without a new one, an agent must not keep the last."""
        # Agents that are not asked again keep their report, which later phases read.
        again = found.fields.get("again")
        updates: dict[str, Any] = {}
        for member in found.phase.members:
            kept = f"state.{member.report} | default(none)"
            is_asked = f"'{member.role}' in state.{again}"
            updates[member.report] = f"{{{{ none if {is_asked} else {kept} }}}}" if again else None
        return self._step(f"{found.phase.id}-round", found.phase.span, type="set_state", updates=updates)

    def _asked(self, member: Member, step: Mapping, found: _Steps) -> Mapping:
        """The step of an agent, for the rounds in which it is asked."""
        condition = f"'{member.role}' in state.{found.fields['again']}"
        return self._if(f"{member.step}-asked", condition, [step], member.span)

    def _delegate(self, member: Member, found: _Steps) -> Mapping:
        phase, agent, at = found.phase, member.agent, member.span
        values: dict[str, Any] = {"id": self._name_node(member, phase), "type": "delegate"}
        if phase.shape.name:
            values["description"] = f"{phase.title}: {member.label}"
        values["agent"] = f"@{member.role if member.sort is not None else member.label}"
        if member.sort is not None:
            values["subagent_type"] = member.sort
        values["instructions"] = brief_of(
            self._mission, phase, member, lambda scalar: self._author(phase, scalar), found.fields
        )
        tools = wfc_tools(one.text for one in agent.tools) if agent.tools is not None else None
        if tools:
            values["tools"] = tools
        values["result"] = "report"
        if phase.criteria:
            values["evidence"] = [as_literal(name.text) for name, _ in phase.criteria]
        timeout = agent.timeout or phase.shape.timeout
        values["timeout"] = timeout.node if timeout else TIMEOUT
        # An agent that gives no report at all has fallen short: the phase decides what follows.
        values["on_error"] = "continue"
        values["output_to"] = member.report
        return self._mapping(at, values)

    def _name_node(self, member: Member, phase: PhaseNode) -> Scalar:
        """The id of an agent's step, at the place that names the agent or, if it is the only one, its phase."""
        if len(phase.members) == 1 and phase.shape.id:
            return made(member.step, phase.shape.id.node)
        word = member.agent.type or member.agent.subagent_type
        return made(member.step, word.node if word else member.span)

    def _scopes(self, phase: PhaseNode) -> dict[str, list[str | Scalar] | None]:
        """The patterns of each agent; null for one whose scope is in words.

        The files of the phase belong to the agents whose scope has them, or else to all. An agent that can't write has
        no files, if another one can: otherwise every change outside the scopes would count as its own.
        """
        is_written = any(member.can_write for member in phase.members)
        covered = {
            id(one): any(member.paths and _covers(member.paths, one) for member in phase.members)
            for one in phase.shape.files
        }
        found: dict[str, list[str | Scalar] | None] = {}
        for member in phase.members:
            if not member.paths:
                found[member.role] = [] if is_written and not member.can_write else None
                continue
            entries: list[str | Scalar] = [
                as_literal(entry) for entry, _ in scope_entries(member.agent.scope)
            ]
            for one in member.agent.files:
                entries += self._places(self._author(phase, one.node))
            for one in phase.shape.files:
                places = self._places(self._author(phase, one.node))
                if not covered[id(one)]:
                    entries += places
                elif _covers(member.paths, one):
                    # The scope has the place in the project; the other place is in the mission's own folder.
                    entries += places[1:]
            found[member.role] = entries
        return found

    def _places(self, file: Scalar) -> list[str | Scalar]:
        """Where a file of `outputs` may be: in the project, or in the folder of the mission."""
        text = without_section(file.text)
        plain: str | Scalar = file if text == file.text else text
        folder = self._mission.folder
        return [plain, f"{as_literal(folder)}/{text}"] if folder and not text.startswith("/") else [plain]

    def _verdict(self, found: _Steps) -> Mapping:
        phase, fields = found.phase, found.fields
        reports = ", ".join(
            f"'{member.role}': state.{member.report} | default(none)" for member in phase.members
        )
        missing = f"state.{fields['files']}.missing" if "files" in fields else "[]"
        outside = f", state.{fields['changes']}.outside_scope" if self._mission.proof == "strict" else ""
        verdict = fields["verdict"]
        updates = {
            verdict: f"{{{{ {{{reports}}} | shortcomings({missing}, '{phase.rule}'{outside}) }}}}",
            fields["problems"]: f"{{{{ {verdict}.problems }}}}",
        }
        # From here on every agent has a report, even if it only states that there is none.
        updates |= {
            member.report: f"{{{{ state.{member.report} | default(none) | reported }}}}"
            for member in phase.members
        }
        if "again" in fields:
            updates[fields["again"]] = f"{{{{ {verdict}.again }}}}"
        if "round" in fields:
            updates[fields["round"]] = f"{{{{ state.{fields['round']} + 1 }}}}"
        return self._step(f"{phase.id}-verdict", phase.span, type="set_state", updates=updates)

    # -- after the work: a phase that falls short, and the checkpoint ----------------

    def _after(self, found: _Steps, about: dict[str, Any]) -> list[Mapping]:
        phase = found.phase
        checkpoint = self._checkpoint(found, about) if phase.has_checkpoint else []
        if not phase.members:
            return checkpoint
        falls_short = f"{{{{ state.{found.fields['problems']} | length > 0 }}}}"
        steps: dict[str, Any] = {"type": "condition", "if": falls_short}
        if phase.is_lenient:
            return [*self._lenient(found, falls_short, checkpoint)]
        steps["then"] = self._ask(found, about)
        return [self._step(f"{phase.id}-short", phase.span, **steps), *checkpoint]

    def _lenient(self, found: _Steps, falls_short: str, checkpoint: list[Mapping]) -> list[Mapping]:
        """Nobody is asked: after the last round the phase counts as failed, and the run continues behind it."""
        phase = found.phase
        status = self._statuses[phase.id]
        failed = self._step(f"{phase.id}-failed", phase.span, type="set_state", updates={status: "failed"})
        then = [*self._retry(found, failed), failed]
        rest = [*checkpoint, self._done(phase)]
        return [
            self._step(
                f"{phase.id}-short",
                phase.span,
                type="condition",
                **{"if": falls_short, "then": then, "else": rest},
            )
        ]

    def _retry(self, found: _Steps, otherwise: Mapping) -> list[Mapping]:
        phase = found.phase
        if not phase.rounds:
            return []
        name = otherwise.get("id")
        assert isinstance(name, Scalar)
        return [
            self._step(
                f"{phase.id}-retry",
                phase.shape.key_span("retry"),
                type="goto",
                target=found.entry,
                max_iterations=phase.rounds,
                **{"else": name.text},
            )
        ]

    def _ask(self, found: _Steps, about: dict[str, Any]) -> list[Mapping]:
        phase, fields, at = found.phase, found.fields, found.phase.span
        answer = self._names.field(f"{phase.id}_decision")
        stop = self._step(
            f"{phase.id}-stop",
            at,
            type="prompt",
            prompt_type="choice",
            message=stop_message(phase, fields, MOST_ROUNDS),
            options=[AGAIN, GO_ON, ABORT],
            output_to=answer,
        )
        about["stop"] = self._id(stop)
        message = (
            f"Phase {phase.number}, {as_literal(phase.title)}, was aborted: "
            f"{{{{ state.{fields['problems']} | join('; ') | truncate(1000) }}}}"
        )
        abort = self._step(f"{phase.id}-aborted", at, type="fail", code="aborted", message=message)
        again = self._begin_again(f"{phase.id}-again", found, at)
        return [
            *self._retry(found, stop),
            stop,
            self._if(f"{phase.id}-abort", f"state.{answer}.selected == '{ABORT}'", [abort], at),
            self._if(f"{phase.id}-repeat", f"state.{answer}.selected == '{AGAIN}'", again, at),
        ]

    def _checkpoint(self, found: _Steps, about: dict[str, Any]) -> list[Mapping]:
        phase, fields = found.phase, found.fields
        at = phase.shape.key_span("checkpoint")
        answer = self._names.field(f"{phase.id}_approval")
        question = self._step(
            f"{phase.id}-checkpoint",
            at,
            type="prompt",
            prompt_type="choice",
            message=checkpoint_message(phase, fields),
            options=[APPROVE, CHANGE, STOP] if phase.members else [APPROVE, STOP],
            output_to=answer,
        )
        about["checkpoint"] = self._id(question)
        self.added.discard(self._id(question))  # This one the author asked for.
        message = f"A person stopped the run at phase {phase.number}, {as_literal(phase.title)}."
        rejected = self._step(f"{phase.id}-rejected", at, type="fail", code="rejected", message=message)
        steps = [
            question,
            self._if(f"{phase.id}-reject", f"state.{answer}.selected == '{STOP}'", [rejected], at),
        ]
        if not phase.members:
            return steps
        feedback = self._step(
            f"{phase.id}-feedback",
            at,
            type="prompt",
            prompt_type="text",
            message=f"What should change in phase {phase.number}, {as_literal(phase.title)}?",
            output_to=fields["feedback"],
        )
        updates: dict[str, Any] = {fields["problems"]: []}
        if "again" in fields:
            updates[fields["again"]] = [member.role for member in phase.members]
        rework = self._step(f"{phase.id}-rework", at, type="set_state", updates=updates)
        repeat = self._begin_again(f"{phase.id}-change", found, at)
        condition = f"state.{answer}.selected == '{CHANGE}'"
        return [*steps, self._if(f"{phase.id}-changed", condition, [feedback, rework, *repeat], at)]

    def _begin_again(self, name: str, found: _Steps, at: Span) -> list[Mapping]:
        """A jump to the first agent. After the last one the run fails; a retry of it asks the question again."""
        message = (
            f"Phase {found.phase.number}, {as_literal(found.phase.title)}, has begun again {MOST_ROUNDS} times. "
            "Retry the run to answer the question again."
        )
        last = self._step(f"{name}-too-often", at, type="fail", code="too_many_rounds", message=message)
        jump: dict[str, Any] = {"target": found.entry, "max_iterations": MOST_ROUNDS, "else": self._id(last)}
        return [self._step(name, at, type="goto", **jump), last]

    # -- parts of steps -----------------------------------------------------------

    def _if(self, name: str, condition: str, then: list[Mapping], at: Span) -> Mapping:
        values: dict[str, Any] = {"if": f"{{{{ {condition} }}}}", "then": then}
        return self._step(name, at, type="condition", **values)

    @staticmethod
    def _id(step: Mapping) -> str:
        name = step.get("id")
        assert isinstance(name, Scalar)
        return name.text

    def _step(self, name: str, at: Span, **values: Any) -> Mapping:
        """A step that the author did not write, with a free id."""
        name = self._names.step(name)
        self.added.add(name)
        return self._mapping(at, {"id": name, **values})

    def _mapping(self, at: Span, values: dict[str, Any]) -> Mapping:
        """The step, with the state fields that its own templates read."""
        entries = [Entry(made(key, at), _tree(value, at)) for key, value in values.items()]
        nested = ("then", "else", "branches")
        reads: dict[str, None] = {}
        for entry in entries:
            if entry.key.text not in nested or isinstance(entry.value, Scalar):
                tags = (tag for text in _texts(entry.value) for _, tag in tags_of(text))
                reads |= dict.fromkeys(name for tag in tags for name in _READ.findall(tag))
        # Derived from the templates: a list of its own would have to be kept in step with the brief.
        if reads:
            entries.insert(2, Entry(made("needs_state", at), _tree(list(reads), at)))
        return Mapping(at, entries)

    def _author(self, phase: PhaseNode, scalar: Scalar) -> Scalar:
        """A text of the author with its references as state fields."""
        reads: list[tuple[int, int, str]] = []
        for one in references_of(scalar.text):
            field = _UNKNOWN
            if problem_of(one.phase, one.role, phase, self._mission) is None:
                found = find_phase(one.phase, self._mission)
                member = find_member(one.role, found) if found else None
                if member is not None:
                    field = f"state.{member.report}"
            reads.append((one.start, one.end, field))
        for start, tag in tags_of(scalar.text):
            for root in OTHER_ROOT.finditer(tag):
                reads.append((start + root.start(), start + root.end(), _UNKNOWN))
        return with_reads(scalar, reads, phase.id)


def _covers(paths: PathScope, file: Text) -> bool:
    return contains(paths, without_section(file.node.text))


def _texts(node: Node) -> list[str]:
    match node:
        case Scalar():
            return [node.text] if isinstance(node.value, str) and "{" in node.text else []
        case Sequence():
            return [text for item in node.items for text in _texts(item)]
        case Mapping():
            return [text for entry in node.entries for text in _texts(entry.value)]
