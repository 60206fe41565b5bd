"""`{{tmp}}` in workflows that a run calls: each call has a folder of its own, and its paths keep their meaning."""

from __future__ import annotations

from pathlib import Path

from tests.blocks.support import result, workflow
from wfc_runtime.instructions import instruction_for

# Without a folder of its own, each call would read what the last one has written: all write before one of them reads.
CHILD = workflow(
    """
  - id: write
    type: Shell
    inputs: {command: 'echo "$NAME" > {{tmp}}/name; sleep 0.3', env: {NAME: "{{inputs.name}}"}}
    outputs: {again: {type: str, path: "$SCRATCH/name"}}
  - id: file
    type: CreateFile
    inputs: {path: "{{tmp}}/copy", content: "{{blocks.write.again}}!"}
    depends_on: [write]
  - id: each
    type: Shell
    for_each: [a, b]
    inputs: {working_dir: "{{tmp}}", command: "echo {{each.value}} $(cat name) > {{each.key}}; cat {{each.key}}"}
    depends_on: [write]
  - id: all
    type: ReadFiles
    inputs: {base_path: "{{tmp}}", patterns: ["*"]}
    depends_on: [each, file]
""",
    """
  name: "{{blocks.write.again}}"
  each: "{{blocks.each['0'].stdout | trim}}, {{blocks.each['1'].stdout | trim}}"
  files: "{{blocks.all.files | map(attribute='path') | join(' ')}}"
  path: "{{tmp}}/name"
  default: "{{inputs.place}}"
""",
    """
inputs:
  name: {type: str}
  place: {type: str, default: "{{tmp}}/name"}
""",
    "child",
)
PARENT = workflow(
    """
  - {id: own, type: Shell, inputs: {command: "echo of the parent > {{tmp}}/name"}}
  - id: calls
    type: Workflow
    for_each: [x, y, z]
    inputs: {workflow: child, inputs: {name: "{{each.value}}"}}
    depends_on: [own]
  - id: given
    type: Workflow
    inputs: {workflow: child, inputs: {name: w, place: "{{tmp}}/name"}}
    depends_on: [own]
  - id: read
    type: Shell
    inputs:
      command: >-
        cat {{blocks.calls['0'].path}} {{blocks.calls['1'].default}} {{blocks.given.default}} {{tmp}}/name
    depends_on: [calls, given]
""",
    """
  names: "{{blocks.calls['0'].name}}{{blocks.calls['1'].name}}{{blocks.calls['2'].name}}{{blocks.given.name}}"
  each: "{{blocks.calls['2'].each}}"
  files: "{{blocks.given.files}}"
  read: "{{blocks.read.stdout | trim}}"
""",
    name="parent",
)


def test_each_call_has_a_folder_and_its_paths_name_it_everywhere(tmp_path: Path) -> None:
    assert result(tmp_path, PARENT, CHILD) == {
        "names": "xyzw",
        "each": "a z, b z",
        "files": "0 1 copy name",
        "read": "x\ny\nof the parent\nof the parent",
    }


def test_in_the_other_notation_called_workflows_share_the_folder(tmp_path: Path) -> None:
    child = workflow(
        '  - {id: write, type: Shell, inputs: {command: "echo child > $SCRATCH/name"}}',
        "  done: ${blocks.write.succeeded}",
        name="child",
    )
    parent = workflow(
        """
  - {id: call, type: Workflow, inputs: {workflow: child}}
  - {id: read, type: Shell, inputs: {command: "cat $SCRATCH/name"}, depends_on: [call]}
""",
        "  read: ${blocks.read.stdout}",
        name="parent",
    )
    assert result(tmp_path, parent, child) == {"read": "child\n"}


STEPS = """
name: child
version: "1"
facts: {own_folder: true}
inputs: {name: {type: string, required: true}}
steps:
  - id: write
    type: shell
    runner: server
    command: echo {{ inputs.name | shquote }} > "$SCRATCH/name"; sleep 0.3; cat "$SCRATCH/name"
    output_to: write
  - {id: end, type: return, value: {name: "{{ state.write.stdout | trim }}"}, needs_state: [write]}
"""


def test_a_called_workflow_of_the_steps_language_asks_for_a_folder(tmp_path: Path) -> None:
    parent = workflow(
        """
  - id: calls
    type: Workflow
    for_each: [x, y, z]
    inputs: {workflow: child, inputs: {name: "{{each.value}}"}}
""",
        """  names: "{{blocks.calls['0'].name}}{{blocks.calls['1'].name}}{{blocks.calls['2'].name}}\"""",
        name="parent",
    )
    assert result(tmp_path, parent, STEPS) == {"names": "xyz"}


def test_an_agent_is_told_to_create_the_folder() -> None:
    told = instruction_for("shell", {"command": "ls ${SCRATCH}/call-abc2 ${SCRATCH}/call-abc2/x"})
    assert told.endswith("Create `call-abc2` in it. Write its path for `${SCRATCH}`.")
