"""[tool.wfc] in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from wfc.config import AT_ONCE, CompileLimits, Config, ConfigError, find_root, load_config
from wfc_runtime.machine.values import Limits


def project(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


def test_every_setting_is_read(tmp_path: Path) -> None:
    text = """
        [tool.wfc]
        workflows = "flows"
        generated = "made/here"
        ignore = ["WF302"]
        exclude = ["flows/old"]
        tools = ["github.create_issue"]
        [tool.wfc.limits]
        steps = 50
    """
    assert load_config(project(tmp_path, text)) == Config(
        root=tmp_path,
        workflows="flows",
        generated="made/here",
        ignore=("WF302",),
        exclude=("flows/old",),
        tools=("github.create_issue",),
        limits=CompileLimits(steps=50),
        configured=True,
    )


def test_runs_may_nest_as_deep_as_calls_may_be_compiled(tmp_path: Path) -> None:
    text = "[tool.wfc.limits]\ncall_depth = 8\n"
    assert load_config(project(tmp_path, text)).run_limits == {"depth": 9}
    text += "[tool.wfc.run_limits]\ndepth = 7\n"
    assert load_config(project(tmp_path, text)).run_limits == {"depth": 7}


def test_the_removed_limit_grace_seconds_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="an action that is overdue stays pending"):
        load_config(project(tmp_path, "[tool.wfc.run_limits]\ngrace_seconds = 30\n"))


@pytest.mark.parametrize("text", ["", "[project]\nname = 'x'\n", "tool = 5\n", "[tool.other]\nx = 1\n"])
def test_without_settings_the_defaults_hold(tmp_path: Path, text: str) -> None:
    config = load_config(project(tmp_path, text))
    assert config == Config(tmp_path)
    assert config.workflows_dir == tmp_path / "workflows"
    assert config.generated_dir == tmp_path / "generated"


def test_an_empty_table_counts_as_configured(tmp_path: Path) -> None:
    assert load_config(project(tmp_path, "[tool.wfc]\n")) == Config(tmp_path, configured=True)


def test_the_nearest_folder_with_a_pyproject_or_a_repository_is_the_root(tmp_path: Path) -> None:
    project(tmp_path, "[tool.wfc]\n")
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert find_root(tmp_path / "a" / "b") == tmp_path
    (tmp_path / "a" / ".git").mkdir()
    assert find_root(tmp_path / "a" / "b") == tmp_path / "a"
    assert load_config(tmp_path / "a" / "b") == Config(tmp_path / "a")


def test_a_folder_that_is_not_there_yet_finds_the_root_above(tmp_path: Path) -> None:
    assert load_config(project(tmp_path, "[tool.wfc]\n") / "nowhere").root == tmp_path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.wfc\n", "Expected ']'"),
        ("[tool]\nwfc = 3\n", "[tool.wfc] must be a table"),
        ("[tool.wfc]\nworkflow = 'x'\n", "[tool.wfc] has no setting `workflow`; did you mean `workflows`?"),
        ("[tool.wfc]\ncolour = 1\n", "[tool.wfc] has no setting `colour`; available: `"),
        ("[tool.wfc]\nworkflows = 3\n", "[tool.wfc] workflows must be a path inside the project, as text"),
        ("[tool.wfc]\nworkflows = ''\n", "[tool.wfc] workflows must be a path inside the project"),
        ("[tool.wfc]\ngenerated = '/tmp/x'\n", "[tool.wfc] generated must be a path inside the project"),
        ("[tool.wfc]\ngenerated = '../x'\n", "[tool.wfc] generated must be a path inside the project"),
        ("[tool.wfc]\nignore = 'WF301'\n", "[tool.wfc] ignore must be a list of text"),
        ("[tool.wfc]\nexclude = [1]\n", "[tool.wfc] exclude must be a list of text"),
        ("[tool.wfc]\nignore = ['WF3']\n", "[tool.wfc] ignore takes codes such as `WF302`, not `WF3`"),
        (
            "[tool.wfc]\nignore = ['maybe-unset']\n",
            "ignore takes codes such as `WF302`, not `maybe-unset`; did you mean `WF305`?",
        ),
        ("[tool.wfc]\nignore = ['wf302']\n", "not `wf302`; did you mean `WF302`?"),
        (
            "[tool.wfc]\nignore = ['WF312', 'WF308']\n",
            "names `WF308`, which is not a check; did you mean `WF30",
        ),
        (
            "[tool.wfc]\nignore = ['WF999']\n",
            "ignore names `WF999`, which is not a check; `wfc explain` lists them",
        ),
        ("[tool.wfc]\nlimits = 5\n", "[tool.wfc.limits] must be a table"),
        ("[tool.wfc.limits]\nstep = 5\n", "[tool.wfc.limits] has no limit `step`; did you mean `steps`?"),
        ("[tool.wfc.limits]\nsteps = 0\n", "[tool.wfc.limits] steps must be a whole number of 1 or more"),
        ("[tool.wfc.limits]\nsteps = true\n", "[tool.wfc.limits] steps must be a whole number"),
        ("[tool.wfc.limits]\nsteps = '5'\n", "[tool.wfc.limits] steps must be a whole number"),
    ],
)
def test_a_bad_setting_is_one_clear_line_that_names_the_file(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(project(tmp_path, text))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path}/pyproject.toml: ")
    assert words in message
    assert "\n" not in message


def test_a_pyproject_that_is_not_utf8_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigError, match=r"pyproject\.toml: 'utf-8' codec"):
        load_config(tmp_path)


def test_what_a_server_may_do_by_itself_is_read_from_its_own_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.wfc.exec]\nallow = ["pytest *"]\nroots = ["../shared"]\nenv = ["CI"]\nparallel = 2\nreply_seconds = 9\n'
    )
    settings = load_config(tmp_path).exec
    assert (settings.allow, settings.roots, settings.env) == (("pytest *",), ("../shared",), ("CI",))
    assert (settings.parallel, settings.reply_seconds) == (2, 9)
    (tmp_path / "pyproject.toml").write_text("[tool.wfc.exec]\nallow = true\n")
    assert load_config(tmp_path).exec.allow == ("*",)
    (tmp_path / "pyproject.toml").write_text("[tool.wfc]\n")
    assert load_config(tmp_path).exec.allow == ()


@pytest.mark.parametrize(
    "text",
    [
        'exec = "x"',
        "exec.allow = 3",
        "exec.alow = true",
        'exec.allow = [""]',
        "exec.parallel = 0",
        'exec.env = ["CI=1"]',
        "exec.env = [1]",
    ],
)
def test_a_grant_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.wfc]\n{text}\n")
    with pytest.raises(ConfigError, match=r"\[tool.wfc.exec\]"):
        load_config(tmp_path)


def test_the_compiler_and_the_machine_have_the_same_limit_of_actions_at_once() -> None:
    assert Limits().pending_actions == AT_ONCE
