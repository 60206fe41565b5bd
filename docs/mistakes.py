"""The page of typical mistakes: each is a workflow that wfc checks while the page is made."""

# ruff: noqa: E501  # One mistake a line: they are read as a table.

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from page_parts import MADE, cell

from wfc.checker import each_finding
from wfc.config import Config
from wfc.findings import Diagnostic
from wfc.project import Project, load_file

_HEAD = """\
name: example
version: "1.0.0"
inputs:
  flag: {type: boolean, required: true}
  text: {type: string, required: true}
  names: {type: array, required: true}
  maybe: {type: string}
steps:
"""
_BUILD = "- {id: build, type: shell, command: make, output_to: build}\n"
_ASK = "- {id: ask, type: prompt, prompt_type: confirm, message: Go?, output_to: answer}\n"
_CHOOSE = (
    "- {id: ask, type: prompt, prompt_type: choice, message: Go?, options: [a, b, c], output_to: picked}\n"
)
_TALK = "- {id: talk, type: delegate, instructions: Look., output_to: said}\n"
_VERDICT = "- {id: judge, type: delegate, instructions: Judge., result_schema: {type: object, required: [ok], properties: {ok: {type: boolean}, note: {type: string}}}, output_to: verdict}\n"


def _return(value: str, *fields: str) -> str:
    return f'- {{id: end, type: return, needs_state: [{", ".join(fields)}], value: "{value}"}}\n'


_TOKEN = "gh" + "p_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
"""In two parts: scanners of this repository would take it for a real one."""


class Mistake(NamedTuple):
    code: str
    """The check that finds it."""
    words: str
    steps: str
    """The steps, or a whole file where it begins with `name`."""
    shown: str = ""
    """What the page shows of it; otherwise the line of the finding."""


MISTAKES = [
    Mistake("WF001", "a tab in the indentation", "- id: a\n\ttype: shell\n"),
    Mistake("WF001", "a quote that is never closed", '- {id: a, type: shell, command: "make}\n'),
    Mistake("WF002", "a key twice", "- {id: a, type: shell, command: make, command: test}\n"),
    Mistake("WF003", "a word that is a boolean to other readers of YAML", "- {id: a, type: prompt, prompt_type: choice, message: M, options: [on, other]}\n"),
    Mistake("WF004", "a misspelt key", "- {id: a, type: shell, comand: make}\n"),
    Mistake("WF004", "the key of another tool", "- {id: a, type: shell, run: make}\n"),
    Mistake("WF005", "a step without its main field", "- {id: a, type: shell}\n"),
    Mistake("WF005", "a workflow without a version", "name: w\nsteps: [{id: a, type: return}]\n"),
    Mistake("WF006", "a duration with its unit", "- {id: a, type: shell, command: make, timeout: 30s}\n"),
    Mistake("WF006", "a number of attempts instead of a mapping", "- {id: a, type: delegate, instructions: Do., retry: 3}\n"),
    Mistake("WF006", "a jump written as text", "- {id: a, type: shell, command: make, on_error: goto b}\n- {id: b, type: return}\n"),
    Mistake("WF006", "a dash in the name of a field", "- {id: a, type: shell, command: make, output_to: built-out}\n"),
    Mistake("WF006", "a required property under another name", "- {id: a, type: delegate, instructions: Do., result_schema: {type: object, properties: {ok: {type: boolean}}, required: [okay]}}\n"),
    Mistake("WF006", "a schema in short form, which checks nothing", "- {id: a, type: delegate, instructions: Do., result_schema: {ok: boolean}, output_to: said}\n"),
    Mistake("WF006", "a word of another tool for what happens after a failure", "- {id: a, type: shell, command: make, on_error: ignore}\n"),
    Mistake("WF007", "a misspelt step type", "- {id: a, type: shel, command: make}\n"),
    Mistake("WF008", "a choice without options", "- {id: a, type: prompt, prompt_type: choice, message: Which?}\n"),
    Mistake("WF009", "`if` on a step", '- {id: a, type: shell, if: "{{ inputs.flag }}", command: make}\n'),
    Mistake("WF009", "a key that this step does not have", "- {id: a, type: return, value: 1, output_to: x}\n"),
    Mistake("WF011", "a default of another type", 'name: w\nversion: "1"\ninputs: {n: {type: integer, default: many}}\nsteps: [{id: a, type: return, value: "{{ inputs.n }}"}]\n'),
    Mistake("WF013", "a template as a key", '- {id: a, type: return, value: {"{{ inputs.text }}": 1}}\n'),
    Mistake("WF101", "an id twice", "- {id: a, type: shell, command: make}\n- {id: a, type: return}\n"),
    Mistake("WF102", "a misspelt task", "name: w\nversion: '1'\nsteps: [{id: a, type: foreach, items: [x], task: audt}]\ntasks: {audit: {steps: [{id: b, type: return}]}}\n"),
    Mistake("WF103", "a task that nothing calls", "name: w\nversion: '1'\nsteps: [{id: a, type: return}]\ntasks: {audit: {steps: [{id: b, type: return}]}}\n"),
    Mistake("WF104", "a jump to a misspelt step", "- {id: again, type: goto, target: dnoe, max_iterations: 2}\n- {id: done, type: return}\n"),
    Mistake("WF105", "a jump into a branch", '- {id: again, type: goto, target: inner, max_iterations: 2}\n- {id: c, type: condition, if: "{{ inputs.flag }}", then: [{id: inner, type: return}]}\n'),
    Mistake("WF106", "a capital letter in the name of an agent", "- {id: a, type: delegate, agent: '@Reviewer', instructions: Look.}\n"),
    Mistake("WF111", "a call of a workflow that is not there", "- {id: a, type: call, workflow: deploi}\n"),
    Mistake("WF201", "braces that are never closed", '- {id: a, type: return, value: "{{ inputs.text"}\n'),
    Mistake("WF201", "the length of a shell variable, which begins a comment", "- {id: a, type: shell, command: 'echo ${#HOME}'}\n"),
    Mistake("WF202", "a field without `state.`", _BUILD + _return("{{ build.stdout }}")),
    Mistake("WF203", "a misspelt filter", _return("{{ inputs.text | stip }}")),
    Mistake("WF203", "a filter of another tool", '- {id: a, type: shell, command: "echo {{ inputs.text | quote }}"}\n'),
    Mistake("WF203", "a filter that does not exist", _return("{{ now() | strftime('%Y') }}")),
    Mistake("WF204", "a misspelt input", _return("{{ inputs.txt }}{{ inputs.text }}")),
    Mistake("WF205", "`item` outside of a foreach", _return("{{ item }}")),
    Mistake("WF206", "a property that the answer does not have", _ASK + _return("{{ state.answer.confirm }}", "answer")),
    Mistake("WF206", "the output of a command as a whole", _BUILD + _return("{{ state.build.output }}", "build")),
    Mistake("WF207", "text compared with a number", _BUILD + _return("{{ state.build.stdout > 5 }}", "build")),
    Mistake("WF207", "text and a number added", _return("{{ inputs.text + 1 }}")),
    Mistake("WF208", "items that are text", "name: w\nversion: '1'\ninputs: {t: {type: string, required: true}}\nsteps: [{id: a, type: foreach, items: '{{ inputs.t }}', task: audit}]\ntasks: {audit: {steps: [{id: b, type: return, value: '{{ item }}'}]}}\n"),
    Mistake("WF209", "a condition of two templates", '- {id: a, type: shell, when: "{{ inputs.flag }} and {{ inputs.text }}", command: make}\n'),
    Mistake("WF209", "a condition without braces", "- {id: a, type: shell, when: inputs.flag, command: make}\n"),
    Mistake("WF210", "a condition that is always the same", '- {id: a, type: shell, when: "{{ true }}", command: make}\n'),
    Mistake("WF210", "a comparison with a value that is never there", _CHOOSE + "- {id: go, type: shell, needs_state: [picked], when: \"{{ state.picked.selected == 'd' }}\", command: make}\n"),
    Mistake("WF211", "a default that is never used", _return("{{ inputs.names | length | default(0) }}")),
    Mistake("WF212", "an update that reads a later one", '- {id: a, type: set_state, updates: {one: "{{ two }}", two: 2}}\n' + _return("{{ state.one }}{{ state.two }}", "one", "two")),
    Mistake("WF213", "a boolean made text, then tested", '- {id: a, type: set_state, updates: {ok: "{% if inputs.flag %}true{% else %}false{% endif %}"}}\n- {id: b, type: shell, needs_state: [ok], when: "{{ state.ok }}", command: make}\n'),
    Mistake("WF215", "a division by a length", _return("{{ 100 / (inputs.names | length) }}")),
    Mistake("WF216", "a split of text that may be empty", _return("{{ (inputs.text if inputs.flag else 'a,b') | split(',') }}")),
    Mistake("WF217", "an input that may be missing", _return("{{ inputs.maybe.upper() }}")),
    Mistake("WF218", "an agent's prose parsed as JSON", _TALK + _return("{{ (state.said.response | parse_json).ok }}", "said")),
    Mistake("WF219", "the notation of the blocks language", _return("${inputs.text}")),
    Mistake("WF219", "a dollar instead of braces", '- {id: a, type: prompt, prompt_type: info, message: "Hello $inputs.text"}\n'),
    Mistake("WF219", "one brace instead of two", '- {id: a, type: prompt, prompt_type: info, message: "Hello { inputs.text }"}\n'),
    Mistake("WF223", "a property that the schema does not require", _VERDICT + _return("{{ state.verdict.note }}", "verdict")),
    Mistake("WF223", "items of which some lack the key", '- {id: a, type: mcp_call, tool: issues.list, result_schema: {type: array, items: {type: object, required: [id], properties: {id: {type: integer}, size: {type: integer}}}}, output_to: issues}\n' + _return("{{ state.issues | sort(attribute='size') }}", "issues")),
    Mistake("WF224", "the first of what a search finds", _return("{{ (inputs.text | regex_search('v([0-9]+)'))[0] }}")),
    Mistake("WF224", "the largest of a list that may be empty", _return("{{ inputs.names | max }}")),
    Mistake("WF301", "a field that `needs_state` does not list", _BUILD + _return("{{ state.build.stdout }}")),
    Mistake("WF302", "a field that is listed and not read", _BUILD + _return("{{ inputs.text }}", "build")),
    Mistake("WF303", "a misspelt field", _BUILD + _return("{{ state.biuld.exit_code }}", "biuld")),
    Mistake("WF304", "a field that is read before it is written", '- {id: a, type: prompt, prompt_type: info, message: "{{ state.build.stdout }}", needs_state: [build]}\n' + _BUILD),
    Mistake("WF305", "a field that is written only under a condition", '- {id: a, type: shell, when: "{{ inputs.flag }}", command: make, output_to: build}\n' + _return("{{ state.build.exit_code }}", "build")),
    Mistake("WF306", "a result that nothing reads", _BUILD + _return("built")),
    Mistake("WF307", "an initial field that nothing reads", "name: w\nversion: '1'\ninitial_state: {n: 0}\nsteps: [{id: a, type: return, value: 1}]\n"),
    Mistake("WF309", "an input that nothing reads", "name: w\nversion: '1'\ninputs: {n: {type: integer}}\nsteps: [{id: a, type: return, value: 1}]\n"),
    Mistake("WF310", "two parallel branches that write one field", "- {id: both, type: parallel, branches: {a: [{id: x, type: shell, command: make, output_to: r}], b: [{id: y, type: shell, command: make, output_to: r}]}}\n" + _return("{{ state.r.exit_code }}", "r")),
    Mistake("WF311", "a field that is text here and a list there", "- {id: a, type: set_state, updates: {r: text}}\n- {id: b, type: set_state, when: \"{{ inputs.flag }}\", updates: {r: [1]}}\n" + _return("{{ state.r }}", "r")),
    Mistake("WF312", "a task that reads the state of its caller", "name: w\nversion: '1'\nsteps: [{id: s, type: shell, command: make, output_to: build}, {id: a, type: foreach, items: [x], task: audit}]\ntasks: {audit: {steps: [{id: b, type: return, needs_state: [build], value: '{{ state.build.stdout }}{{ item }}'}]}}\n"),
    Mistake("WF401", "a step after `return`", "- {id: a, type: return}\n- {id: b, type: shell, command: make}\n"),
    Mistake("WF402", "a jump without a limit", _BUILD + "- {id: again, type: goto, target: build}\n"),
    Mistake("WF404", "a value on some paths only", '- {id: c, type: condition, if: "{{ inputs.flag }}", then: [{id: a, type: return, value: 1}]}\n- {id: b, type: return}\n'),
    Mistake("WF405", "a loop whose condition nothing changes", "name: w\nversion: '1'\ninitial_state: {n: 0}\nsteps: [{id: l, type: while, needs_state: [n], if: '{{ state.n < 3 }}', max_iterations: 3, steps: [{id: a, type: shell, command: make}]}]\n"),
    Mistake("WF406", "output that is used although the command may have failed", "- {id: a, type: shell, command: git diff main, output_to: diff}\n" + _return("{{ state.diff.stdout }}", "diff")),
    Mistake("WF406", "a pipe, whose exit code is that of its last command", "- {id: a, type: shell, command: \"pip show x | sed 1d\", output_to: shown}\n" + _return("{{ state.shown.stdout }}", "shown")),
    Mistake("WF407", "an option that no branch handles", _CHOOSE + "".join(f"- {{id: {one}, type: shell, needs_state: [picked], when: \"{{{{ state.picked.selected == '{one}' }}}}\", command: make {one}}}\n" for one in "ab")),
    Mistake("WF410", "two equal branches", '- {id: c, type: condition, if: "{{ inputs.flag }}", then: [{id: a, type: shell, command: make}], else: [{id: b, type: shell, command: make}]}\n'),
    Mistake("WF411", "a question whose answer decides nothing", "- {id: ask, type: prompt, prompt_type: confirm, message: Deploy?}\n- {id: deploy, type: shell, command: make deploy}\n"),
    Mistake("WF412", "a retry that does not see the exit code", "- {id: a, type: shell, command: ./upload.sh, retry: {max_attempts: 3}}\n"),
    Mistake("WF501", "a value in a command without quoting", _TALK + '- {id: a, type: shell, needs_state: [said], command: "echo {{ state.said.response }}"}\n'),
    Mistake("WF502", "quotes around a value in a command", _TALK + "- {id: a, type: shell, needs_state: [said], command: 'echo \"{{ state.said.response }}\"'}\n"),
    Mistake("WF503", "a value that may begin with a dash", '- {id: a, type: shell, command: "cat {{ inputs.text | shquote }}"}\n'),
    Mistake("WF504", "a token in the file", '- {id: a, type: shell, command: "curl -H \'Authorization: Bearer ' + _TOKEN + '\' x"}\n', "`Authorization: Bearer ghp_...`"),
    Mistake("WF505", "text from outside in instructions", _BUILD + '- {id: a, type: delegate, needs_state: [build], instructions: "Explain {{ state.build.stdout }}"}\n'),
    Mistake("WF506", "a tool that is computed", '- {id: a, type: mcp_call, tool: "{{ inputs.text }}"}\n'),
    Mistake("WF507", "a way into Python", _return("{{ inputs.text.__class__ }}")),
    Mistake("WF602", "a fan-out without a limit", "name: w\nversion: '1'\nsteps: [{id: s, type: mcp_call, tool: list, output_to: found, result_schema: {type: array, items: {type: string}}}, {id: a, type: foreach, needs_state: [found], items: '{{ state.found }}', task: audit}]\ntasks: {audit: {steps: [{id: b, type: return, value: '{{ item }}'}]}}\n"),
    Mistake("WF704", "a comment that hides nothing", "- {id: a, type: return}  # wfc: ignore[WF305]\n"),
]  # fmt: skip


def finding_of(mistake: Mistake) -> Diagnostic | None:
    """What the check says of the mistake; None where it does not find it."""
    text = mistake.steps if mistake.steps.startswith("name") else _whole(mistake.steps)
    project = Project(Config(Path(".")))
    file = load_file("example.yaml", text.encode(), project.config, project)
    return next((found for found in each_finding(file) if found.code == mistake.code), None)


def _whole(steps: str) -> str:
    """A workflow of the steps, with the inputs that they read."""
    kept = [
        line for line in _HEAD.splitlines(keepends=True) if not line.startswith("  ") or _is_used(line, steps)
    ]
    head = (
        "".join(kept)
        if any(line.startswith("  ") for line in kept)
        else "".join(kept).replace("inputs:\n", "")
    )
    return head + "".join(f"  {line}" for line in steps.splitlines(keepends=True))


def _is_used(line: str, steps: str) -> bool:
    return f"inputs.{line.strip().partition(':')[0]}" in steps


def mistakes() -> Iterator[str]:
    yield from ("# Typical mistakes", "", MADE, "")
    yield (
        f"{len(MISTAKES)} mistakes that authors of workflows make, and what `wfc check` says of each. Every row is "
        "checked when this page is made. `--fix` marks those that it repairs without changing what the workflow does, "
        "`--unsafe-fixes` those where it may."
    )
    yield from ("", "| mistake | finding | what to do | fix |", "|---|---|---|---|")
    for mistake in MISTAKES:
        found = finding_of(mistake)
        assert found is not None, f"{mistake.code} does not find: {mistake.words}"
        link = f"[{found.code}](checks.md#{found.code.lower()}-{found.name})"
        fix = "" if found.fix is None else "`--fix`" if found.fix.safe else "`--unsafe-fixes`"
        what = f"{mistake.words}: {mistake.shown or _shown(found)}"
        yield f"| {cell(what)} | {link} {cell(found.message)} | {cell(found.help)} | {fix} |"


def _shown(found: Diagnostic) -> str:
    """The place of the finding, with a little around it."""
    line = found.span.source.line(found.span.line)
    start, end = found.span.column - 1, found.span.column - 1 + max(1, len(found.span.text.split("\n")[0]))
    first, last = max(0, start - 25), min(len(line), end + 25)
    text = " ".join(line[first:last].split())
    return f"`{'...' if first else ''}{text}{'...' if last < len(line) else ''}`"
