"""Commands as real processes."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.execute.conftest import Execute, is_alive
from tests.support import PATIENCE, wait_until
from wfc_runtime.execute import Grant, execute
from wfc_runtime.machine.values import size_of


def _pid(path: Path) -> int:
    return int(wait_until(lambda: path.exists() and path.read_text().strip(), str(path)))


def test_a_command_gives_its_output_exit_code_and_times(sh: Execute) -> None:
    result = sh("printf 'out\\n'; printf 'err' >&2; exit 3")
    assert (result["stdout"], result["stderr"], result["exit_code"]) == ("out\n", "err", 3)
    assert result["success"] is False
    assert result["duration"] >= 0
    assert result["execution_time_ms"] == pytest.approx(result["duration"] * 1000, abs=0.01)
    assert result["started_at"] <= result["completed_at"]
    assert result["started_at"].endswith("+00:00")


def test_a_signal_counts_as_128_and_its_number(sh: Execute) -> None:
    assert sh("kill -9 $$")["exit_code"] == 137


def test_a_command_starts_in_the_granted_folder_or_below_it(sh: Execute, root: Path) -> None:
    (root / "sub").mkdir()
    assert sh("pwd -P")["stdout"].strip() == str(root.resolve())
    assert sh("pwd -P", working_dir="sub")["stdout"].strip() == str((root / "sub").resolve())
    assert sh("pwd", working_dir="")["exit_code"] == 0


def test_a_missing_working_directory_is_a_crash(sh: Execute) -> None:
    assert "does not exist" in sh("pwd", working_dir="nowhere")["error"]["message"]


@pytest.mark.parametrize("escape", ["..", "../outside", "/", "/etc", "link"])
def test_a_working_directory_cannot_leave_the_granted_folder(sh: Execute, root: Path, escape: str) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    error = sh("pwd", working_dir=escape)["error"]
    assert error["code"] == "refused"
    assert "outside the folders" in error["message"]


def test_a_timeout_keeps_what_was_printed_and_kills_what_ignores_the_polite_signal(
    sh: Execute, root: Path
) -> None:
    seconds, result = 0.2, {"stdout": ""}
    # However slow the machine is: until the command has come far enough within its time.
    while result["stdout"] != "before\n":
        script = "trap '' TERM; echo $$ > pid; echo before; sleep 1000 & wait; sleep 1000"
        result = sh(script, timeout=seconds)
        assert result["timed_out"] is True
        seconds *= 2
    assert not is_alive(_pid(root / "pid"))


def test_a_background_child_is_not_waited_for_and_ends_with_the_step(sh: Execute, root: Path) -> None:
    assert sh("sleep 1000 & echo $! > pid; echo done")["stdout"] == "done\n"
    assert not is_alive(_pid(root / "pid"))


def test_what_the_command_printed_is_read_although_a_background_child_holds_the_output(sh: Execute) -> None:
    result = sh("sleep 1000 & head -c 60000 /dev/zero | tr '\\0' x; echo; echo ends")
    assert result["stdout"].endswith("xxx\nends\n")
    assert len(result["stdout"]) == 60_006


def test_a_stopped_command_is_interrupted_and_gone(sh: Execute, root: Path) -> None:
    stop = Event()
    stopping = Thread(target=lambda: _pid(root / "pid") and stop.set())
    stopping.start()
    result = sh("echo $$ > pid; sleep 1000", stop=stop)
    stopping.join()
    assert result["error"]["code"] == "interrupted"
    assert not is_alive(_pid(root / "pid"))


def test_standard_input_is_empty(sh: Execute) -> None:
    assert sh("cat; echo end", timeout=PATIENCE)["stdout"] == "end\n"


def test_the_environment_is_handed_over_by_name_only(
    sh: Execute, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "sesame")
    monkeypatch.setenv("CI", "yes")
    assert "sesame" not in sh("env")["stdout"]
    seen = sh(
        "echo $CI $OWN $N $FLAG", grant=Grant(root, commands=None, env=("CI",)), env={"OWN": "x", "N": 3}
    )
    assert seen["stdout"] == "yes x 3\n"
    assert sh("echo $HOME")["stdout"] == f"{os.environ['HOME']}\n"


def test_no_descriptor_of_the_server_is_inherited(sh: Execute, tmp_path: Path) -> None:
    with (tmp_path / "held").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        assert "held" not in sh("ls -l /proc/self/fd 2>/dev/null || true")["stdout"]


@pytest.mark.parametrize("env", [{"A B": "x"}, {"A": {"b": 1}}, {"A": "x\0y"}, "A=b"])
def test_an_environment_that_cannot_be_set_is_a_crash(sh: Execute, env: Any) -> None:
    assert sh("true", env=env)["error"]["code"] == "execution"


def test_ten_megabytes_of_output_are_cut_in_the_middle(sh: Execute) -> None:
    result = sh("echo begins; head -c 10000000 /dev/zero | tr '\\0' x; echo; echo ends")
    assert result["exit_code"] == 0
    assert result["stdout"].startswith("begins\nxxx")
    assert result["stdout"].endswith("xxx\nends\n")
    assert "bytes left out" in result["stdout"]
    assert result["stdout_bytes"] == 10_000_013
    assert size_of(result["stdout"]) <= 128 * 1024
    assert "stderr_bytes" not in result


def test_binary_output_is_text_that_a_result_can_hold(sh: Execute) -> None:
    result = sh("head -c 300000 /dev/urandom; head -c 300000 /dev/zero >&2")
    assert result["stdout_bytes"] == result["stderr_bytes"] == 300_000
    assert size_of(result) <= 250 * 1024


def test_a_cut_leaves_no_half_characters(sh: Execute) -> None:
    result = sh(
        "i=0; while [ $i -lt 3000 ]; do printf 'ééééééééééééééééééééééééééééé€€€€€€'; i=$((i+1)); done"
    )
    assert "stdout_bytes" in result
    assert "\ufffd" not in result["stdout"]


def test_without_capture_there_is_no_output(sh: Execute) -> None:
    result = sh("echo x", capture_output=False)
    assert (result["stdout"], result["stderr"], result["exit_code"]) == ("", "", 0)


def test_without_a_shell_words_are_arguments(sh: Execute) -> None:
    assert sh("echo 'a b' ';' $HOME", shell=False)["stdout"] == "a b ; $HOME\n"
    for missing in ("no-such-program-here x", "./no-such x"):
        assert "can't be started" in sh(missing, shell=False)["error"]["message"]


def test_a_program_is_found_from_where_it_is_run(sh: Execute, root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "tool").write_text("#!/bin/sh\necho found $1\n")
    (root / "sub" / "tool").chmod(0o755)
    assert sh("./tool it", shell=False, working_dir="sub")["stdout"] == "found it\n"


def test_sh_runs_plain_commands_and_bash_what_only_bash_has(sh: Execute) -> None:
    assert sh("[[ abc == a* ]] && echo yes")["stdout"] == "yes\n"
    assert sh("set -o pipefail; false | true")["exit_code"] == 1
    assert sh('if [ "a" == "a" ]; then echo yes; fi')["stdout"] == "yes\n"
    assert sh("test a == a && echo yes")["stdout"] == "yes\n"
    assert sh("echo one |& cat; pushd / > /dev/null; pwd")["stdout"] == "one\n/\n"
    assert sh("echo $((1 + 2))")["stdout"] == "3\n"


def test_flags_and_numbers_may_come_as_text(sh: Execute) -> None:
    assert sh("sleep 1000", timeout="0.1")["timed_out"] is True
    assert sh("echo 'a  b'", shell="false")["stdout"] == "a  b\n"
    assert "`timeout`" in sh("true", timeout="soon")["error"]["message"]


def test_many_commands_run_side_by_side(root: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    meet = "touch here.$$; until [ $(ls | grep -c here) -eq 8 ]; do sleep 0.05; done"
    action = {"type": "shell", "parameters": {"command": meet, "timeout": PATIENCE}}
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: execute(action, Grant(root, commands=None), "r1"), range(8)))
    assert all(one["exit_code"] == 0 for one in done)


# -- what is granted -----------------------------------------------------------------


def test_nothing_is_run_without_a_grant(sh: Execute, root: Path) -> None:
    result = sh("touch made", grant=Grant(root))
    assert result["error"]["code"] == "refused"
    assert not (root / "made").exists()


def test_a_list_of_commands_refuses_the_others(sh: Execute, root: Path) -> None:
    grant = Grant(root, commands=("echo *",))
    assert sh("echo hello", grant=grant)["stdout"] == "hello\n"
    assert sh("touch made", grant=grant)["error"]["code"] == "refused"
    assert sh("echo $(touch made)", grant=grant)["error"]["code"] == "refused"
    assert not (root / "made").exists()


def test_with_a_list_of_commands_a_workflow_sets_no_variables_of_its_own(sh: Execute, root: Path) -> None:
    (root / "echo").write_text("#!/bin/sh\ntouch made\n")
    grant = Grant(root, commands=("env *",), env=("NAMED",))
    error = sh("env x", grant=grant, env={"PATH": "."})["error"]
    assert error["code"] == "refused"
    assert "PATH" in error["message"]
    assert "NAMED=1" in sh("env --", grant=grant, env={"NAMED": "1"})["stdout"]
    assert not (root / "made").exists()
