"""`wfc run`, `wfc check` and `wfc convert` on files of blocks, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.command import inside, wfc, write
from tests.support import PATIENCE

WAIT = "touch {own}; until [ -e {other} ]; do sleep 0.1; done"
BESIDE = f"""
name: beside
description: Two blocks that each wait for a file of the other. One after the other they would both fail.
blocks:
  - id: one
    type: Shell
    inputs: {{command: "{WAIT.format(own="one", other="two")}", timeout: {PATIENCE}}}
  - id: two
    type: Shell
    inputs: {{command: "{WAIT.format(own="two", other="one")}", timeout: {PATIENCE}}}
outputs:
  both: ${{blocks.one.succeeded}} and ${{blocks.two.succeeded}}
"""
KID = """
name: kid
description: A child.
inputs: {x: {type: int}}
blocks:
  - {id: twice, type: Shell, inputs: {command: "printf $((${inputs.x} * 2))"}}
outputs: {y: "${blocks.twice.stdout}", from: FROM}
"""
TOP = """
name: top
description: Calls one that is somewhere else.
inputs: {x: {type: int, default: 21}}
blocks:
  - {id: kid, type: Workflow, inputs: {workflow: kid, inputs: {x: "${inputs.x}"}}}
outputs: {y: "${blocks.kid.outputs.y}", from: "${blocks.kid.from}"}
"""


def test_blocks_that_do_not_wait_for_each_other_run_side_by_side(tmp_path: Path) -> None:
    write(tmp_path, beside=BESIDE)
    done = wfc("run", "beside.yaml", "--allow-exec", "--json", cwd=tmp_path)
    assert done.status == 0, done.err
    reply = json.loads(done.out)
    assert (reply["status"], reply["result"]) == ("completed", {"both": True})


def test_workflows_are_found_in_the_folders_of_the_environment_the_last_first(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        write(tmp_path / folder, kid=KID.replace("FROM", folder))
    write(tmp_path / "second", top=TOP)
    work = tmp_path / "work"
    work.mkdir()
    paths = {"WORKFLOWS_TEMPLATE_PATHS": f"{tmp_path}/first, {tmp_path}/second,{tmp_path}/none,"}
    done = wfc("run", "top", "-i", "x=4", "--allow-exec", "--json", cwd=work, env=paths)
    assert done.status == 0, done.err
    assert json.loads(done.out)["result"] == {"y": "8", "from": "second"}


def test_a_later_folder_overrides_by_name_whatever_the_files_are_called(tmp_path: Path) -> None:
    write(tmp_path / "first", kid=KID.replace("FROM", "first"), top=TOP)
    write(tmp_path / "second", other=KID.replace("FROM", "second"))
    work = tmp_path / "work"
    work.mkdir()
    write(work, own=TOP.replace("name: top", "name: own"), kid=KID.replace("FROM", "own"))
    paths = {"WORKFLOWS_TEMPLATE_PATHS": f"{tmp_path}/first,{tmp_path}/second"}
    for workflow in ("top", "own.yaml"):
        done = wfc("run", workflow, "--allow-exec", "--json", cwd=work, env=paths)
        assert done.status == 0, done.err
        assert json.loads(done.out)["result"] == {"y": "42", "from": "second"}


def test_a_run_that_crashes_exits_with_1_and_says_where(tmp_path: Path) -> None:
    text = "name: bad\ndescription: d\nblocks:\n  - {id: read, type: ReadFile, inputs: {path: none.txt}}\n"
    write(tmp_path, bad=text)
    done = inside("run", "bad.yaml", "--allow-exec", "--json", cwd=tmp_path)
    assert done.status == 1
    error = json.loads(done.out)["error"]
    assert (error["code"], error["step_id"]) == ("execution", "read")


def test_convert_writes_steps_that_check_and_give_the_same(tmp_path: Path) -> None:
    write(tmp_path, kid=KID.replace("FROM", "here"))
    write(tmp_path, top=TOP.replace("workflow: kid,", "workflow: kid,"))
    done = inside("convert", "kid.yaml", "--to", "steps", "-o", "new/kid.yaml", cwd=tmp_path)
    assert (done.status, "can't write" in done.err) == (2, True)
    (tmp_path / "new").mkdir()
    for name in ("kid", "top"):
        done = inside("convert", f"{name}.yaml", "-o", f"new/{name}.yaml", cwd=tmp_path)
        assert done.status == 0, done.err
    assert "steps:" in (tmp_path / "new/kid.yaml").read_text(encoding="utf-8")
    found = inside("run", "new/top.yaml", "--allow-exec", "--json", cwd=tmp_path)
    assert json.loads(found.out)["result"] == {"y": "42", "from": "here"}


def test_convert_refuses_what_is_steps_already_and_what_has_errors(tmp_path: Path) -> None:
    write(tmp_path, a="", b="name: b\nblocks:\n  - {id: x, type: Shel}\n")
    done = inside("convert", "a.yaml", cwd=tmp_path)
    assert (done.status, "already" in done.err) == (2, True)
    done = inside("convert", "b.yaml", cwd=tmp_path)
    assert (done.status, "there is no block type `Shel`" in done.err, done.out) == (1, True, "")
    (tmp_path / "c.yaml").write_text(KID, encoding="utf-8")
    done = inside("convert", "c.yaml", "-o", "a.yaml", cwd=tmp_path)
    assert (done.status, "`a.yaml` exists; name a new file" in done.err) == (2, True)
