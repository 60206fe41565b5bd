"""Files, templates, JSON state and worktrees."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.execute.conftest import Execute
from tests.support import PATIENCE
from wfc_runtime.execute import EXECUTORS, Grant, execute, refusal_of
from wfc_runtime.execute.protected import Protected

ESCAPES = ["../outside/x", "a/../../outside/x", "link/x", "/etc/x", "secret"]


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_create_file_writes_text_and_says_whether_it_is_new(do: Execute, root: Path) -> None:
    first = do("create_file", path="a/b.txt", content="é\n")
    assert (root / "a" / "b.txt").read_text() == "é\n"
    assert first["path"] == first["file_path"] == str((root / "a" / "b.txt").resolve())
    assert (first["size_bytes"], first["created"], first["success"]) == (3, True, True)
    assert do("create_file", path="a/b.txt", content="x")["created"] is False


def test_create_file_keeps_what_is_there_if_told_so(do: Execute, root: Path) -> None:
    (root / "f").write_text("old")
    assert "overwrite" in do("create_file", path="f", content="new", overwrite=False)["error"]["message"]
    assert (root / "f").read_text() == "old"
    assert do("create_file", path="no/f", content="x", create_parents=False)["error"]["code"] == "execution"


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        ("644", 0o644),
        ("0644", 0o644),
        ("0o755", 0o755),
        (0o644, 0o644),
        (644, 0o644),
        (755, 0o755),
        (0o755, 0o755),
    ],
)
def test_permissions_are_octal_however_they_are_written(
    do: Execute, root: Path, given: Any, mode: int
) -> None:
    assert do("create_file", path="f", content="", mode=given)["success"]
    assert do("create_file", path="g", content="", permissions=given)["success"]
    assert _mode(root / "f") == _mode(root / "g") == mode


@pytest.mark.parametrize("given", ["rwx", "4755", 0o4755, "", True, 1.5, -1])
def test_permissions_that_are_none_are_refused(do: Execute, root: Path, given: Any) -> None:
    assert "`mode`" in do("create_file", path="f", content="", mode=given)["error"]["message"]
    assert not (root / "f").exists()


def test_overwriting_keeps_the_permissions(do: Execute, root: Path) -> None:
    (root / "f").write_text("x")
    (root / "f").chmod(0o640)
    do("create_file", path="f", content="y")
    assert _mode(root / "f") == 0o640
    assert [path.name for path in root.iterdir()] == ["f"]


@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize(
    "kind", ["create_file", "read_file", "read_json_state", "write_json_state", "merge_json_state"]
)
def test_files_outside_the_granted_folder_are_refused(do: Execute, root: Path, kind: str, path: str) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    (root / "secret").symlink_to(root.parent / "outside" / "secret.txt")
    result = do(kind, path=path, content="x", data={}, updates={})
    assert result["error"]["code"] == "refused"
    assert sorted(path.name for path in (root.parent / "outside").iterdir()) == ["secret.txt"]
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"


def test_links_inside_the_folder_lead_to_where_they_say(do: Execute, root: Path) -> None:
    (root / "real").mkdir()
    (root / "alias").symlink_to("real")
    assert do("create_file", path="alias/f", content="x")["path"] == str((root / "real" / "f").resolve())


def test_the_store_and_git_are_not_for_workflows(do: Execute, root: Path) -> None:
    (root / ".wfc").mkdir()
    grant = Grant(root, commands=None, protected=Protected(stores=(root / ".wfc", root / "runs.db")))
    for path in (
        ".wfc/state.db",
        "x/../.wfc/key",
        "runs.db",
        "runs.db-wal",
        "runs.db.token",
        "runs.db-servers/x",
    ):
        assert do("create_file", path=path, content="x", grant=grant)["error"]["code"] == "refused"
        assert do("read_file", path=path, grant=grant)["error"]["code"] == "refused"
    assert do("create_file", path="runs/f", content="x", grant=grant)["success"]
    assert do("create_file", path=".git/hooks/pre-commit", content="x")["error"]["code"] == "refused"


def test_read_file_gives_text_or_base64(do: Execute, root: Path) -> None:
    (root / "f").write_bytes(b"a\r\nb\xff")
    assert "is not text" in do("read_file", path="f")["error"]["message"]
    assert do("read_file", path="f", encoding="latin-1")["content"] == "a\nbÿ"
    assert do("read_file", path="f", mode="binary")["content"] == "YQ0KYv8="
    assert do("read_file", path="f", mode="binary")["size_bytes"] == 5
    assert "encoding" in do("read_file", path="f", encoding="zip")["error"]["message"]


def test_read_file_of_nothing_fails_unless_it_is_not_required(do: Execute) -> None:
    assert "there is no file" in do("read_file", path="no/f")["error"]["message"]
    result = do("read_file", path="no/f", required=False)
    assert (result["content"], result["found"], result["size_bytes"]) == ("", False, 0)


def test_read_file_has_a_limit(do: Execute, root: Path) -> None:
    (root / "f").write_text("x" * 2000)
    assert "too large" in do("read_file", path="f", max_size_mb=0.001)["error"]["message"]


def test_render_template_is_jinja_and_drops_one_newline_at_the_end(do: Execute, root: Path) -> None:
    template = "# {{ name }}\n{% for x in items %}- {{ x }}\n{% endfor %}\n"
    result = do("render_template", template=template, variables={"name": "N", "items": [1, 2]})
    assert result["content"] == result["rendered"] == "# N\n- 1\n- 2\n"
    assert result["output_path"] is None
    assert do("render_template", template="{{ x }}", variables={"x": 3})["content"] == "3"
    written = do("render_template", template="{{ x }}", variables={"x": "é"}, output_path="a/r.txt")
    assert (root / "a" / "r.txt").read_text() == "é"
    assert (written["size_bytes"], written["output_path"]) == (2, str((root / "a" / "r.txt").resolve()))


def test_an_undefined_variable_fails_unless_the_template_is_not_strict(do: Execute) -> None:
    assert "'nope'" in do("render_template", template="a{{ nope }}b")["error"]["message"]
    lenient = "a{{ nope }}{{ d.x }}{% for i in nope %}{{ i }}{% endfor %}{% if nope %}c{% endif %}b"
    assert do("render_template", template=lenient, variables={"d": {}}, strict=False)["content"] == "ab"


def test_a_template_is_metered_and_has_no_python(do: Execute) -> None:
    assert "limit" in do("render_template", template="{{ 'a' * 10**9 }}")["error"]["message"]
    assert "error" in do("render_template", template="{{ ''.__class__ }}")


def test_json_state_is_written_read_and_merged(do: Execute, root: Path) -> None:
    assert do("read_json_state", path="s.json")["found"] is False
    assert "there is no file" in do("read_json_state", path="s.json", required=True)["error"]["message"]
    written = do("write_json_state", path="d/s.json", data={"a": {"b": 1, "c": [1]}})
    assert written["size_bytes"] == (root / "d" / "s.json").stat().st_size
    merged = do("merge_json_state", path="d/s.json", updates={"a": {"c": [2], "d": 3}, "e": 4})
    assert merged["merged_data"] == merged["state"] == {"a": {"b": 1, "c": [2], "d": 3}, "e": 4}
    assert merged["created"] is False
    read = do("read_json_state", path="d/s.json")
    assert read["data"] == read["state"] == merged["state"]
    assert do("merge_json_state", path="new.json", updates={})["created"] is True
    assert (
        "create_if_missing"
        in do("merge_json_state", path="no.json", updates={}, create_if_missing=False)["error"]["message"]
    )


@pytest.mark.parametrize("text", ["{", "[1]", '"x"', "\xff"])
def test_json_state_that_is_no_object_is_a_crash(do: Execute, root: Path, text: str) -> None:
    (root / "s.json").write_bytes(text.encode("latin-1"))
    assert "s.json" in do("read_json_state", path="s.json")["error"]["message"]
    assert "s.json" in do("merge_json_state", path="s.json", updates={"a": 1})["error"]["message"]
    assert (root / "s.json").read_bytes() == text.encode("latin-1")


def test_merges_side_by_side_lose_nothing(do: Execute, root: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: do("merge_json_state", path="s.json", updates={str(n): n}), range(40)))
    assert json.loads((root / "s.json").read_text()) == {str(n): n for n in range(40)}


# Merges keys of its own into the file, while others do the same.
MERGES = """
import sys
from pathlib import Path
from wfc_runtime.execute import Grant, execute
name, root = sys.argv[1], Path(sys.argv[2])
for number in range(40):
    action = {"type": "merge_json_state", "parameters": {"path": "d/s.json", "updates": {f"{name}{number}": 1}}}
    assert "error" not in execute(action, Grant(root, commands=None))
"""


def test_merges_of_several_servers_lose_nothing(root: Path) -> None:
    servers = [subprocess.Popen([sys.executable, "-c", MERGES, name, str(root)]) for name in "abc"]
    assert [server.wait(PATIENCE) for server in servers] == [0, 0, 0]
    assert len(json.loads((root / "d" / "s.json").read_text())) == 120


@pytest.fixture
def repository(root: Path) -> Path:
    for arguments in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True)
    return root


def test_a_worktree_is_made_on_a_new_branch_and_found_again(do: Execute, repository: Path) -> None:
    made = do("create_worktree", branch="feature/x", path=".worktrees/x", base_branch="main")
    assert made["worktree_path"] == str((repository / ".worktrees" / "x").resolve())
    assert (made["branch"], made["created"]) == ("feature/x", True)
    assert (repository / ".worktrees" / "x" / ".git").is_file()
    assert do("create_worktree", branch="feature/x", path=".worktrees/x")["created"] is False
    assert do("create_worktree", branch="y")["worktree_path"].endswith(".worktrees/y")


def test_a_worktree_that_cannot_be_made_says_why(do: Execute, repository: Path) -> None:
    assert "main" in do("create_worktree", branch="main", path="w")["error"]["message"]
    assert "branch" in do("create_worktree", branch="-f", path="w")["error"]["message"]
    assert "branch" in do("create_worktree", branch="a..b", path="w")["error"]["message"]
    assert do("create_worktree", branch="z", path="../outside/w")["error"]["code"] == "refused"
    assert do("create_worktree", branch="z", path="w", base_branch="nope")["error"]["code"] == "execution"


def test_a_worktree_counts_as_a_git_command(do: Execute, repository: Path) -> None:
    assert (
        do("create_worktree", branch="z", grant=Grant(repository, commands=("pytest *",)))["error"]["code"]
        == "refused"
    )
    allowed = Grant(repository, commands=("git worktree add *",))
    assert do("create_worktree", branch="z", grant=allowed)["created"] is True


# -- all kinds -----------------------------------------------------------------------


def test_only_kinds_that_touch_nothing_need_no_grant(root: Path) -> None:
    parameters = {"command": "x", "path": "x", "content": "x", "branch": "x", "message": "x", "template": "x"}
    free = {
        kind for kind in EXECUTORS if not refusal_of({"type": kind, "parameters": parameters}, Grant(root))
    }
    assert free == {"echo", "render_template"}
    to_file = {"type": "render_template", "parameters": {"template": "x", "output_path": "f"}}
    assert refusal_of(to_file, Grant(root))
    assert execute(to_file, Grant(root))["error"]["code"] == "refused"


@pytest.mark.parametrize("kind", [*sorted(EXECUTORS), "prompt", "nonsense"])
@pytest.mark.parametrize(
    "value", [None, 7, [1], {"a": 1}, "", "\0", "x" * 5000, 10**400, "\ud800", float("nan"), {"a": "\ud800"}]
)
def test_bad_parameters_are_an_error_and_never_an_exception(do: Execute, kind: str, value: Any) -> None:
    names = [
        "command",
        "path",
        "content",
        "branch",
        "message",
        "template",
        "variables",
        "updates",
        "data",
        "env",
        "outputs",
        "mode",
        "timeout",
        "working_dir",
        "repo",
        "state",
        "max_size_mb",
    ]
    for name in names:
        do(kind, **{**WORKS.get(kind, {}), name: value})
    result = do(kind, **dict.fromkeys(names, value))
    # A snapshot of a repository takes no parameters, and an echo any.
    assert "error" in result or kind in ("echo", "git_snapshot")


WORKS: dict[str, dict[str, Any]] = {
    "shell": {"command": "true"},
    "create_file": {"path": "f", "content": "x"},
    "read_file": {"path": "f"},
    "render_template": {"template": "x"},
    "read_json_state": {"path": "s"},
    "write_json_state": {"path": "s", "state": {}},
    "merge_json_state": {"path": "s", "updates": {}},
    "create_worktree": {"branch": "b"},
    "echo": {"message": "x"},
}


def test_a_working_directory_that_leads_round_in_a_circle_is_an_error(do: Execute, root: Path) -> None:
    (root / "round").symlink_to("round")
    assert "round" in do("shell", command="true", working_dir="round")["error"]["message"]


@pytest.mark.parametrize(
    "text",
    ['{"a": NaN}', '{"a": 1e400}', '{"a": "\\ud800"}', '{"\\ud800": 1}', '{"a":' * 900 + "1" + "}" * 900],
)
def test_json_state_that_json_does_not_have_is_left_as_it_is(do: Execute, root: Path, text: str) -> None:
    (root / "s.json").write_text(text)
    for kind in ("read_json_state", "merge_json_state"):
        assert do(kind, path="s.json", updates={"b": 1})["error"]["code"] in ("execution", "output_invalid")
        assert (root / "s.json").read_text() == text


@pytest.mark.parametrize("encoding", ["punycode", "idna", "IDNA", "xn__x", "undefined", "rot13", "zip"])
def test_what_is_no_encoding_of_files_is_refused(do: Execute, root: Path, encoding: str) -> None:
    (root / "f").write_text("z" * 2_000_000)
    assert encoding in do("read_file", path="f", encoding=encoding)["error"]["message"]
    assert encoding in do("create_file", path="g", content="x", encoding=encoding)["error"]["message"]


def test_echo_gives_its_message_back(do: Execute) -> None:
    assert do("echo", message="hi", delay_ms=1)["echoed"] == "Echo: hi"
