"""Checks that only this dialect can make: phases and their order, agents, scopes, and calls in briefs."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

from wfc.dialects.phases.agents import GENERAL, Agents
from wfc.dialects.phases.brief import texts_of_author
from wfc.dialects.phases.file import Phase, PhasesFile, scope_entries
from wfc.dialects.phases.model import Member, Mission, PhaseNode, find_required, members_of
from wfc.dialects.phases.scopes import overlaps
from wfc.dialects.phases.texts import OTHER_ROOT, references_of, tags_of
from wfc.findings import Edit, Fix, Note, Severity
from wfc.language.dialect import Report
from wfc.language.values import Literal, Word
from wfc.suggest import did_you_mean, nearest
from wfc.yaml import Scalar, Span
from wfc_runtime.digraph import components, has_circle, shortest_way

_TOOLS = (
    *("start_task", "complete_task", "log_decision", "log_milestone", "log_issue", "get_context"),
    *("start_phase", "complete_phase", "start_workflow", "complete_workflow", "submit_result"),
    *("get_workflow_status", "cancel_workflow", "resume_workflow"),
)
"""Tools of the journal and of runs."""
_CALL = re.compile(rf"(?<![\w.])(?:mcp__\w+?__)?(?:{'|'.join(_TOOLS)})\s*\(")


class Reports:
    def __init__(self) -> None:
        self.all: list[Report] = []

    def add(
        self,
        code: str,
        span: Span,
        message: str,
        help: str = "",
        *,
        phase: str = "",
        notes: tuple[Note, ...] = (),
        severity: Severity | None = None,
        fix: Fix | None = None,
    ) -> None:
        self.all.append(Report(code, span, message, help, notes, phase or None, severity, fix))


# Reading the phases: their numbers and ids, and phases that are written in several parts.


def read_phases(file: PhasesFile, known: Agents, reports: Reports) -> list[PhaseNode]:
    """The phases in the order of their numbers, each with those that it requires."""
    nodes: list[PhaseNode] = []
    by_number: dict[int, PhaseNode] = {}
    by_id: dict[str, PhaseNode] = {}
    # A phase without a number comes last, so that one missing number causes one finding and not several.
    free = max([one.number.value for one in file.phases or [] if one.number], default=0) + 1
    for shape in file.phases or []:
        if shape.number is None:
            _missing_number(shape, free, reports)
            number, free = free, free + 1
        else:
            number = int(shape.number.value)
        node = _node(shape, number, file, known)
        earlier = by_number.get(number)
        # In Markdown, authors often write a fence per agent, each with the number of the phase.
        if earlier is not None and shape.number is not None and _is_same(earlier, node):
            _join(earlier, node, file, known, reports)
            continue
        if earlier is not None and shape.number is not None:
            _repeated(f"number {number}", shape.number.span, earlier, "number", reports, node)
        twin = by_id.get(node.id)
        if twin is not None and twin is not earlier:
            _repeated(f"id `{node.id}`", shape.id.span if shape.id else shape.span, twin, "id", reports, node)
        # Left out of the graph: later checks need unique numbers and ids.
        if earlier is not None or twin is not None:
            continue
        by_number[number] = by_id[node.id] = node
        nodes.append(node)
    nodes.sort(key=lambda one: one.number)
    _order(nodes, reports)
    return nodes


def _node(shape: Phase, number: int, file: PhasesFile, known: Agents) -> PhaseNode:
    name = shape.id.text if shape.id else f"phase-{number}"
    title = shape.name.text if shape.name else name
    return PhaseNode(shape, name, number, title, members_of(shape, file, known))


def _missing_number(shape: Phase, free: int, reports: Reports) -> None:
    if shape.node.entry("number") is not None:
        return  # It has another type, which is reported as such.
    entries = shape.node.entries
    fix = None
    if entries:
        key = entries[0].key.span
        text = key.source.text
        start = text.rfind("\n", 0, key.start) + 1
        before = text[start : key.start]
        # In a block each key has its own line; in braces they share one.
        is_block = not before.strip(" -")
        indent = " " * len(before)
        fix = Fix(
            f"number it {free}",
            (
                Edit(
                    key.source.span(key.start, key.start),
                    f"number: {free}" + (f"{key.source.line_break}{indent}" if is_block else ", "),
                ),
            ),
            safe=True,
        )
    message = "a phase has no `number`, which gives its place in the order"
    reports.add(
        "WF005", shape.span, message, "add `number`: a positive number, unique in the mission", fix=fix
    )


def _is_same(one: PhaseNode, other: PhaseNode) -> bool:
    """Whether two parts are one phase: the same number and the same name."""
    return one.title == other.title or (one.shape.name is None and one.id == other.id)


def _join(first: PhaseNode, part: PhaseNode, file: PhasesFile, known: Agents, reports: Reports) -> None:
    """Add a further part to a phase: its agents follow, and what the first part lacks is taken from it."""
    agents = [*(first.shape.agents or []), *(part.shape.agents or [])]
    shape = Phase(first.shape.node, {**part.shape.values, **first.shape.values, "agents": agents})
    first.shape = shape
    first.members = members_of(shape, file, known)
    reports.add(
        "WF116",
        part.shape.number.span if part.shape.number else part.shape.span,
        f"phase {first.number} is written in several parts, and their agents work in one phase",
        "put all agents of the phase into one place, or give the part another number",
        notes=(Note("it begins here", first.shape.span),),
        phase=first.id,
    )


def _repeated(what: str, span: Span, first: PhaseNode, key: str, reports: Reports, node: PhaseNode) -> None:
    notes = (Note("first used here", first.shape.value_span(key)),)
    reports.add(
        "WF101", span, f"two phases have the {what}", "change one of them", notes=notes, phase=node.id
    )


# The order: what `requires` names.


def _order(nodes: list[PhaseNode], reports: Reports) -> None:
    named: dict[str, dict[str, Span]] = {one.id: {} for one in nodes}
    for node in nodes:
        for word, found in find_required(node.shape, nodes):
            if found is None:
                _unknown(word, nodes, node, reports)
            elif found.id in named[node.id]:
                message = f"`{node.id}` requires phase {found.number} twice"
                reports.add("WF112", word.span, message, "remove one of them", phase=node.id)
            else:
                named[node.id][found.id] = word.span
    edges = {name: list(others) for name, others in named.items()}
    # Phases in a cycle get one finding for the cycle, and none for the order of each pair.
    inside: set[str] = set()
    by_id = {one.id: one for one in nodes}
    for names in components(edges, edges):
        if has_circle(names, edges):
            inside |= set(names)
            start = min(names, key=lambda name: by_id[name].number)
            inner = {name: [one for one in edges[name] if one in names] for name in names}
            _circle(shortest_way(start, start, inner), named, reports)
    for node in nodes:
        for name, span in named[node.id].items():
            other = by_id[name]
            if other.number < node.number:
                node.requires.append(other)
            elif not (name in inside and node.id in inside):
                reports.add(
                    "WF114",
                    span,
                    f"phase {node.number} requires phase {other.number}, which comes later",
                    "a phase can only require earlier ones: change the numbers, or remove it",
                    notes=(Note(f"`{other.id}` is phase {other.number}", other.shape.value_span("number")),),
                    phase=node.id,
                )


def _unknown(word: Literal | Word, nodes: list[PhaseNode], node: PhaseNode, reports: Reports) -> None:
    text = word.node.text
    if isinstance(word, Literal):
        earlier = [one.number for one in nodes if one.number < node.number]
        near = str(earlier[-1]) if earlier else ""
        help_ = f"the phases are {', '.join(str(one.number) for one in nodes)}"
    else:
        near = nearest(text, [one.id for one in nodes if one is not node]) or ""
        help_ = did_you_mean(text, [one.id for one in nodes if one is not node])
    fix = Fix(f"make it {near}", (Edit(word.span, near),), safe=False) if near else None
    reports.add("WF112", word.span, f"there is no phase `{text}` to require", help_, phase=node.id, fix=fix)


def _circle(circle: list[str], named: dict[str, dict[str, Span]], reports: Reports) -> None:
    ways = list(pairwise(circle))
    message = f"phase `{circle[0]}` requires itself" + (f": {' -> '.join(circle)}" if len(ways) > 1 else "")
    notes = tuple(Note(f"`{one}` requires `{other}`", named[one][other]) for one, other in ways[1:])
    first = named[circle[0]][circle[1]]
    reports.add("WF409", first, message, "remove one of these requirements", notes=notes, phase=circle[0])


# Agents: whether they exist, and can do what the phase wants.


def check_mission(mission: Mission, reports: Reports) -> None:
    for phase in mission.phases:
        _check_gate(phase, reports)
        for agent in phase.shape.agents or []:
            word = agent.type or agent.subagent_type
            if word is not None and not word.text:
                message = "expected the name of an agent, found an empty text"
                reports.add("WF006", word.span, message, "name the role, or remove the agent", phase=phase.id)
        for member in phase.members:
            _check_agent(member, phase, mission.known, reports)
            _check_body(member, phase, mission, reports)
        _check_writers(phase, reports)
        if phase.is_parallel:
            _check_scopes(phase, reports)
        says = phase.shape.outputs or phase.shape.completion or _has_unread(phase, "outputs", "completion")
        delivers = says or any(member.agent.outputs for member in phase.members)
        if phase.members and not delivers:
            message = (
                f"nothing says when phase {phase.number} is done: it has neither `outputs` nor `completion`"
            )
            help_ = "name the files that it writes in `outputs`, or what must be true in `completion`"
            reports.add("WF415", phase.span, message, help_, phase=phase.id)
    for at, scalar in texts_of_author(mission):
        _check_calls(at, scalar, mission, reports)
        _check_references(at, scalar, mission, reports)


def _check_gate(phase: PhaseNode, reports: Reports) -> None:
    has_agents = phase.members or phase.shape.agents or _has_unread(phase, "agents")
    if not has_agents and phase.shape.node.entry("checkpoint") is None:
        message = f"phase {phase.number} has neither agents nor a `checkpoint`"
        reports.add(
            "WF005", phase.span, message, "add `agents`, or `checkpoint: human` for a gate", phase=phase.id
        )


def _has_unread(phase: PhaseNode, *keys: str) -> bool:
    """Whether one of these keys has a value of another type than expected, which is reported as such."""
    shape = phase.shape
    return any(shape.node.entry(key) is not None and key not in shape.values for key in keys)


def _check_agent(member: Member, phase: PhaseNode, known: Agents, reports: Reports) -> None:
    agent = member.agent
    word = agent.subagent_type or agent.type
    if word is None or known.knows(word.text):
        return
    near = nearest(word.text, known.names)
    if agent.subagent_type is None and near is None:
        help_ = f"add `.claude/agents/{member.role}.md`, or `subagent_type: {GENERAL}` to let that agent play the role"
    else:
        help_ = did_you_mean(word.text, known.names)
    # A role may come from another file, which a fix of this one must not change.
    own = word.node.span.source is member.agent.node.span.source
    fix = Fix(f"make it {near}", (Edit(word.span, near),), safe=False) if near and own else None
    message = f"unknown agent `{word.text[:100]}`: the project, its settings and the client do not have it"
    reports.add("WF113", word.span, message, help_, phase=phase.id, fix=fix)


def _check_writers(phase: PhaseNode, reports: Reports) -> None:
    shared = phase.shape.files
    if shared and phase.members and not any(one.can_write for one in phase.members):
        names = ", ".join(f"`{one.sort or one.label}`" for one in phase.members)
        message = f"no agent of phase {phase.number} can write `{shared[0].node.text}`: {names} can only read"
        reports.add(
            "WF115", shared[0].span, message, _WRITE_HELP, phase=phase.id, fix=_as_writer(phase.members[0])
        )
        return
    for member in phase.members:
        files = member.agent.files
        if files and not member.can_write:
            message = f"`{member.sort or member.label}` can't write `{files[0].node.text}`: it can only read"
            reports.add("WF115", files[0].span, message, _WRITE_HELP, phase=phase.id, fix=_as_writer(member))


_WRITE_HELP = f"use `subagent_type: {GENERAL}`, or an agent with the tools Write, Edit or Bash"


def _as_writer(member: Member) -> Fix | None:
    word = member.agent.subagent_type
    if word is None or member.agent.tools is not None or word.text == GENERAL:
        return None
    return Fix(f"make it {GENERAL}", (Edit(word.span, GENERAL),), safe=False)


# Scopes of agents that work at the same time.


def _check_scopes(phase: PhaseNode, reports: Reports) -> None:
    placed = [(member, paths) for member in phase.members if (paths := member.paths) is not None]
    for one, other, found in overlaps([paths for _, paths in placed]):
        first, second = placed[one][0], placed[other][0]
        both = f"`{found.one}` and `{found.other}`" if found.one != found.other else f"`{found.one}`"
        _overlap(first, second, f"{both} have `{found.path}` in common", found.other, phase, reports)
    # Scopes in words can't be compared; only equal ones certainly overlap.
    prose = [member for member in phase.members if member.paths is None and member.agent.scope]
    for first, second in combinations(prose, 2):
        words = _words(first)
        if words and words == _words(second):
            _overlap(first, second, "their scopes read the same", words[0], phase, reports)
    for member in phase.members:
        if member.can_write and member.paths is None:
            what = "is in words" if member.agent.scope else "is missing"
            message = f"the scope of `{member.role}` {what}, so it can't be compared with those of the others"
            help_ = "name the folders or files that it may change, such as `scope: [src/api/]`"
            span = member.agent.key_span("scope") if member.agent.scope else member.span
            reports.add("WF414", span, message, help_, phase=phase.id)


def _words(member: Member) -> list[str]:
    return [" ".join(entry.lower().split()) for entry, _ in scope_entries(member.agent.scope)]


def _overlap(first: Member, second: Member, why: str, entry: str, phase: PhaseNode, reports: Reports) -> None:
    def place(member: Member) -> Span:
        found = [text for one, text in scope_entries(member.agent.scope) if one == entry]
        return found[0].span if found else member.agent.value_span("scope")

    # Two agents that only read can't disturb each other, but the split of the work is still doubtful.
    is_mild = not first.can_write and not second.can_write
    reports.add(
        "WF413",
        place(second),
        f"`{first.role}` and `{second.role}` work at the same time, and {why}",
        "give each agent files of its own, or let them work one after the other: `parallel: false`",
        notes=(Note(f"the scope of `{first.role}`", first.agent.value_span("scope")),),
        phase=phase.id,
        severity=Severity.WARNING if is_mild else None,
    )


# The calls and reads in texts.


def _check_calls(phase: PhaseNode | None, scalar: Scalar, mission: Mission, reports: Reports) -> None:
    # In this mode each sub-agent submits its own report, so it has the tools.
    if mission.mode == "direct":
        return
    for found in _CALL.finditer(scalar.text):
        call = found[0].rstrip("( \t\n")
        end = scalar.text.find("\n", found.end())
        close = scalar.text.find(")", found.end(), end if end >= 0 else len(scalar.text))
        span = scalar.at(found.start(), found.end() - 1)
        fix = _without_line(scalar, found.start(), close)
        _report_call(f"the brief calls `{call}`", span, phase, mission, reports, fix)


def _check_body(member: Member, phase: PhaseNode, mission: Mission, reports: Reports) -> None:
    """The body of an agent's file, where it is the brief. The finding is in the mission: the same file can serve for
    other purposes, in which its agent has the tools."""
    word = member.agent.type or member.agent.subagent_type
    if mission.mode == "direct" or member.agent.prompt or not member.body or word is None:
        return
    found = _CALL.search(member.body)
    if found:
        call, path = found[0].rstrip("( \t\n"), mission.known.files[member.label].path
        what = f"the brief of `{member.label}`, which is {path}, calls `{call}`"
        _report_call(what, word.span, phase, mission, reports)


def _report_call(
    what: str,
    span: Span,
    phase: PhaseNode | None,
    mission: Mission,
    reports: Reports,
    fix: Fix | None = None,
) -> None:
    why = "a sub-agent may not have the tools of wfc"
    if mission.mode == "relay":
        why = "with `mcp: relay` sub-agents do not have the tools of wfc"
    reports.add(
        "WF510",
        span,
        f"{what}, but {why}",
        "remove it: the report says the same, and entering a phase and reporting are recorded anyway; or set "
        "`mcp: direct`",
        phase=phase.id if phase else "",
        severity=Severity.ERROR if mission.mode == "relay" else Severity.WARNING,
        fix=fix,
    )


def _without_line(scalar: Scalar, start: int, close: int) -> Fix | None:
    """A fix that removes the call, if it has its own line."""
    text = scalar.text
    begin = text.rfind("\n", 0, start) + 1
    end = text.find("\n", start)
    end = len(text) if end < 0 else end + 1
    line = text[begin:end].strip()
    if close < 0 or close >= end or not line.lstrip("-*0123456789. `").startswith(text[start : start + 4]):
        return None
    if line.rstrip("`.;").removesuffix(")") == line.rstrip("`.;") or (begin == 0 and end == len(text)):
        return None
    first, last = scalar.at(begin, begin + 1), scalar.at(end - 1, end)
    source = first.source
    line_start = source.text.rfind("\n", 0, first.start) + 1
    return Fix("remove the call", (Edit(source.span(line_start, last.end), ""),), safe=False)


def _check_references(phase: PhaseNode | None, scalar: Scalar, mission: Mission, reports: Reports) -> None:
    for start, tag in tags_of(scalar.text):
        for found in OTHER_ROOT.finditer(tag):
            span = scalar.at(start + found.start(), start + found.end())
            help_ = "a text can read `inputs` and, of required phases, `phases.<id>.<role>.summary`"
            reports.add("WF202", span, "undefined name `state`", help_, phase=phase.id if phase else "")
    for one in references_of(scalar.text):
        problem = problem_of(one.phase, one.role, phase, mission)
        if problem is not None:
            code, message, help_ = problem
            span = scalar.at(one.start, one.end)
            reports.add(code, span, message, help_, phase=phase.id if phase else "")


def problem_of(
    name: str, role: str, phase: PhaseNode | None, mission: Mission
) -> tuple[str, str, str] | None:
    """Why `phases.<name>.<role>` can't be read in a phase: code, message and help. None if it can."""
    if phase is None:
        help_ = "read it in the prompt or description of a phase that requires it"
        return "WF202", "a text of the whole mission can't read the report of a phase", help_
    found = find_phase(name, mission)
    if found is None:
        known = [one.id for one in mission.phases if one.number < phase.number]
        return "WF202", f"there is no phase `{name}`", did_you_mean(name, known)
    if found is phase:
        return "WF313", "a phase can't read its own reports", ""
    # Without `requires`, the phase might run although the other one failed and has no report.
    if found not in list(phase.upstream()):
        message = f"phase `{phase.id}` reads `{found.id}` but does not require it"
        return "WF313", message, f"add `{found.id}` to its `requires`"
    roles = [member.role for member in found.members]
    if not role:
        shown = roles[0] if roles else "<role>"
        return "WF202", "a reference names a phase and an agent", f"write `phases.{name}.{shown}.summary`"
    if find_member(role, found) is None:
        return "WF202", f"phase `{found.id}` has no agent `{role}`", did_you_mean(role, roles)
    return None


def find_phase(name: str, mission: Mission) -> PhaseNode | None:
    return next((one for one in mission.phases if _same(one.id, name)), None)


def find_member(role: str, phase: PhaseNode) -> Member | None:
    return next((one for one in phase.members if _same(one.role, role)), None)


def _same(one: str, other: str) -> bool:
    """In a path, a hyphen of a name may be written `_`, as in an identifier."""
    return one.replace("-", "_") == other.replace("-", "_")
