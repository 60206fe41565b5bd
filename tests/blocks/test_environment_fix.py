"""The fix that passes a value of a command in `env`: the command does the same, and no shell reads the value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.blocks.support import result
from tests.e2e.command import wfc
from tests.support import W, check, fixed

HOSTILE = "a b'; echo hacked; echo \"$(echo hacked)"
FILE = """
name: case
description: A case.
inputs:
  who: {type: str, default: World}
  other: {type: str, default: x}
blocks:
  - id: one
    type: Shell
%s
outputs:
  said: ${blocks.one.stdout}
"""
COMMANDS = {
    "unquoted": "    inputs: {command: 'echo ${inputs.who}'}",
    "in double quotes": "    inputs: {command: 'echo \"<${inputs.who}>\"'}",
    "in single quotes": "    inputs: {command: \"echo '${inputs.who}'\"}",
    "in single quotes of YAML": "    inputs: {command: 'echo ''${inputs.who}'''}",
    "in double quotes of YAML": '    inputs: {command: "echo \\"${inputs.who}\\""}',
    "without quotes in YAML": "    inputs:\n      command: echo ${inputs.who}",
    "before a letter": '    inputs: {command: "echo \\"${inputs.who}s\\""}',
    "twice": """    inputs:
      command: |
        echo ${inputs.who} "${inputs.who}" '${inputs.other}'""",
    "with a variable of that name": '    inputs:\n      command: echo "${inputs.who}"\n      env: {WHO: no}',
    "with that variable": "    inputs:\n      env:\n        WHO: ${inputs.who}\n      command: echo ${inputs.who}",
    "after other inputs": '    inputs:\n      timeout: 5\n      command: echo "${inputs.who}"\n      shell: true',
    "folded": '    inputs:\n      command: >-\n        echo\n        "${inputs.who}"',
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_fixed_command_says_the_same_and_is_not_read_by_a_shell(name: str, tmp_path: Path) -> None:
    text = FILE % COMMANDS[name]
    made = fixed(text, unsafe=True).texts[W]
    assert "env" in made
    assert {one.code for one in check(made)} & {"WF501", "WF502"} == set()

    def said(which: str, folder: str, **inputs: Any) -> str:
        (tmp_path / folder).mkdir()
        return str(result(tmp_path / folder, which, inputs=inputs)["said"])

    assert said(made, "fixed") == said(text, "as_it_was")
    assert HOSTILE in said(made, "hostile", who=HOSTILE)


@pytest.mark.parametrize(
    "inputs",
    [
        "    inputs: {command: '${inputs.who}'}",
        "    inputs:\n      command: |\n        cat <<END\n        ${inputs.who}\n        END",
        "    inputs:\n      command: '# ${inputs.who}'",
        "    inputs: {command: 'echo ${inputs.who}', env: '${inputs.other}'}",
    ],
)
def test_a_command_that_env_can_not_help_is_left_as_it_is(inputs: str) -> None:
    text = FILE % inputs
    assert fixed(text, unsafe=True).texts.get(W, text) == text


def test_an_unknown_workflow_is_an_error_where_every_folder_is_known(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n", encoding="utf-8")
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "a.yaml").write_text(
        "name: a\ndescription: d\nblocks:\n  - {id: b, type: Workflow, inputs: {workflow: nowhere}}\n",
        encoding="utf-8",
    )
    (tmp_path / "shared").mkdir()
    alone = wfc("check", cwd=tmp_path, env={"WORKFLOWS_TEMPLATE_PATHS": ""})
    assert "warning[WF111" in alone.out
    known = wfc("check", cwd=tmp_path, env={"WORKFLOWS_TEMPLATE_PATHS": str(tmp_path / "shared")})
    assert "error[WF111" in known.out
