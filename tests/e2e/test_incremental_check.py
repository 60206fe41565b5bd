"""A check after a change looks at the files that the change can matter to, and finds what a check of all finds."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.e2e.test_check_memory import check, edit
from tests.support import ROOT
from wfc.findings import Diagnostic, Severity
from wfc.project import SourceFile
from wfc.workspace import cache, incremental
from wfc.workspace.files import UnreadableFileError

WORKFLOW = """\
name: {name}
version: "1.0.0"
{inputs}steps:
{steps}"""
SHELL = "  - {id: build, type: shell, command: make, output_to: built}\n"
RETURN = '  - {id: done, type: return, needs_state: [built], value: {shown: "{{ state.built.stdout }}"}}\n'
WRONG = "  - {id: build, type: shell, comand: make}\n"
HIDDEN = "  - {id: build, type: shell, comand: make}  # wfc: ignore[WF004]\n"
NOTHING_HIDDEN = "  - {id: build, type: shell, command: make}  # wfc: ignore[WF301]\n"
SECRET = '  - {id: build, type: mcp_call, tool: store.put, parameters: {password: "t7Q2-xv91-PLk3-zz08"}}\n'
REPEATED = '  - {id: build, type: "t7Q2-xv91-PLk3-zz08"}\n'
INPUTS = "inputs:\n  service: {type: string, required: true}\n"
NAMES = ("alpha", "beta", "gamma", "delta")


def call(name: str, given: str = "") -> str:
    """A step that calls a workflow and reads what it gives back."""
    step = "  - id: run-{0}\n    type: call\n    workflow: {0}\n{1}    output_to: ran_{0}\n"
    with_ = f"    with: {{{given}: x}}\n" if given else ""
    reads = f"  - {{id: say-{name}, type: set_state, needs_state: [ran_{name}], updates: {{out: "
    return step.format(name, with_) + reads + '"{{ state.ran_' + name + '.shown | upper }}"}}\n'


def text(name: str, steps: str = SHELL, inputs: str = "") -> str:
    return WORKFLOW.format(name=name, steps=steps, inputs=inputs)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Delta calls gamma, which calls beta; alpha stands alone. All of them have been checked once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    (folder / "workflows").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[tool.wfc]\n")
    for name, steps in (
        ("alpha", WRONG),
        ("beta", SHELL + RETURN),
        ("gamma", call("beta")),
        ("delta", call("gamma")),
    ):
        put(folder, name, text(name, steps))
    assert check(folder) == check(folder, "--no-cache")
    return folder


def put(project: Path, name: str, content: str) -> None:
    (project / "workflows" / f"{name}.yaml").write_text(content, encoding="utf-8")


def checked(project: Path, *arguments: str) -> list[str]:
    """The files that rules ran over in the next check, which must find what a check of all finds."""
    found: list[str] = []
    work: Callable[[SourceFile], object] = incremental.check_file

    def watched(file: SourceFile) -> object:
        found.append(Path(file.source.path).stem)
        return work(file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(incremental, "check_file", watched)
        first = check(project, *arguments)
    assert first == check(project, *arguments, "--no-cache")
    return found


def test_a_file_that_nobody_calls_is_checked_alone(project: Path) -> None:
    put(project, "alpha", text("alpha", WRONG + "# more\n"))
    assert checked(project) == ["alpha"]


def test_callers_are_checked_again_directly_or_not(project: Path) -> None:
    put(project, "beta", text("beta", SHELL))
    assert sorted(checked(project)) == ["beta", "delta", "gamma"]
    put(project, "gamma", text("gamma", call("beta") + NOTHING_HIDDEN))
    assert sorted(checked(project)) == ["delta", "gamma"]


def test_the_called_file_is_checked_again_when_it_is_given_other_inputs_and_not_otherwise(
    project: Path,
) -> None:
    put(project, "beta", text("beta", SHELL + RETURN, INPUTS))
    check(project)
    put(project, "gamma", text("gamma", call("beta", "service")))
    assert sorted(checked(project)) == ["beta", "delta", "gamma"]
    put(project, "gamma", text("gamma", call("beta", "service") + "# more\n"))
    assert sorted(checked(project)) == ["delta", "gamma"]


def test_a_fix_that_depends_on_callers_is_found_without_checking_them(project: Path) -> None:
    put(project, "beta", text("beta", SHELL + RETURN, INPUTS))
    put(project, "gamma", text("gamma", call("beta", "service")))
    check(project, "--format", "json")
    edit(project, "run", "beta", "gone@2")
    assert checked(project, "--format", "json") == ["beta"]
    assert "unused input" in check(project)[1]


def test_another_name_is_noticed_by_all_that_call_something(project: Path) -> None:
    put(project, "alpha", text("alpha-two", SHELL))
    assert sorted(checked(project)) == ["alpha", "delta", "gamma"]


def test_two_files_of_one_name_are_checked_again_when_either_changes(project: Path) -> None:
    put(project, "zeta", text("alpha", SHELL))
    assert {"alpha", "zeta"} <= set(checked(project))
    put(project, "zeta", "# one line more\n" + text("alpha", SHELL))
    assert {"alpha", "zeta"} <= set(checked(project))
    (project / "workflows" / "zeta.yaml").unlink()
    assert "alpha" in checked(project)


def test_a_note_about_a_field_of_an_included_workflow_follows_its_changes(project: Path) -> None:
    for path in (ROOT / "tests/errors/WF314/bad_included").glob("*.yaml"):
        put(project, path.stem, path.read_text(encoding="utf-8"))
    assert "the field of `shared:counts`" in check(project)[1]
    shared = project / "workflows" / "b_shared.yaml"
    shared.write_text("# one line more\n" + shared.read_text())
    assert sorted(checked(project)) == ["a_main", "b_shared"]
    shared.write_text(shared.read_text().replace("total:", "sum:").replace("+ total", "+ sum"))
    assert sorted(checked(project)) == ["a_main", "b_shared"]
    assert "`total` is also a field" not in check(project)[1]


def test_settings_and_other_questions_start_from_nothing(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.wfc]\nignore = ["WF004"]\n')
    assert len(checked(project)) == 4
    assert checked(project, "workflows/gamma.yaml") == ["gamma"]


def test_the_other_format_is_printed_from_the_same_findings(project: Path) -> None:
    assert checked(project, "--format", "json") == []
    assert checked(project, "--format", "sarif") == []


def test_a_selected_file_notices_a_change_in_one_that_is_only_called(project: Path) -> None:
    assert checked(project, "workflows/delta.yaml") == ["delta"]
    put(project, "beta", text("beta", SHELL))
    assert checked(project, "workflows/delta.yaml") == ["delta"]
    put(project, "alpha", text("alpha", SHELL))
    assert checked(project, "workflows/delta.yaml") == []


def test_no_secret_is_written_to_the_cache(project: Path, tmp_path: Path) -> None:
    put(project, "alpha", text("alpha", SECRET))
    put(project, "zeta", text("zeta", REPEATED))
    for _ in range(2):
        assert {"alpha", "zeta"} == set(checked(project)) - {"beta", "gamma", "delta"}
        put(project, "beta", text("beta", SHELL + RETURN + "# more\n"))
    kept = [path.read_text() for path in (tmp_path / "cache" / "wfc").iterdir()]
    findings = [one for one in kept if "workflows/gamma.yaml" in one]
    assert findings
    assert not any("xv91" in one for one in findings)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"[]",
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"WF004", b"WF005"),
        lambda data: data.replace(b"alpha", b"omega"),
        lambda data: json.dumps({**json.loads(data), "body": "{}"}).encode(),
        lambda data: json.dumps({"key": 1, "seal": [], "body": {}}).encode(),
        lambda data: b"[" * 100_000,
        lambda data: b"\xff\xfe\x00",
    ],
)
def test_a_damaged_cache_is_as_good_as_none(
    project: Path, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    for path in (tmp_path / "cache" / "wfc").iterdir():
        path.write_bytes(damage(path.read_bytes()))
    put(project, "beta", text("beta", SHELL + RETURN + "# more\n"))
    assert set(checked(project)) == set(NAMES)


def test_a_body_that_another_program_sealed_is_not_believed(project: Path, tmp_path: Path) -> None:
    """Whatever the shape of it is."""
    for path in (tmp_path / "cache" / "wfc").iterdir():
        key = json.loads(path.read_bytes())["key"]
        whole = cache.read_sealed(path, key)
        broken = {name: [*entry[:-1], [["WF004"]]] for name, entry in whole.items() if "status" not in whole}
        for body in ([], 1, broken, {"workflows/alpha.yaml": 1}, {"workflows/alpha.yaml": [1, 2]}):
            cache.write_sealed(path, key, body)
            put(project, "beta", text("beta", SHELL + RETURN + f"# {len(repr(body))}\n"))
            assert check(project) == check(project, "--no-cache")


def test_a_caller_of_a_file_that_cannot_be_read_fails_as_without_a_cache(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = cache.read_bytes

    def read(path: Path, config: object) -> bytes:
        if path.name == "alpha.yaml":
            raise UnreadableFileError("can't read it")
        return whole(path, config)  # type: ignore[arg-type]

    monkeypatch.setattr(cache, "read_bytes", read)
    with pytest.raises(UnreadableFileError, match="can't read it"):
        check(project, "workflows/gamma.yaml")
    put(project, "beta", text("beta"))
    assert check(project, "workflows/beta.yaml") == check(project, "workflows/beta.yaml", "--no-cache")


def test_a_check_that_fails_is_run_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(file: SourceFile) -> list[Diagnostic]:
        return [Diagnostic("WF004", "x", Severity.ERROR, "internal error", file.source.start, is_crash=True)]

    put(project, "alpha", text("alpha", WRONG + "# more\n"))
    with monkeypatch.context() as patch:
        patch.setattr(incremental, "check_file", crash)
        assert check(project)[0] == 3
    assert checked(project) == ["alpha"]


LOOK_AT_OTHER_FILES = {
    "analysis/call_graph.py",
    "analysis/taint/analysis.py",
    "analysis/types/workflow.py",
    "rules/breaks_running_instances.py",
    "rules/common/inputs.py",
    "rules/common/tests.py",
    "rules/identifier_clash.py",
    "rules/limit_exceeded.py",
    "rules/recursive_call.py",
    "rules/shadowed_field.py",
    "rules/unknown_workflow.py",
    "rules/unused_input.py",
}
"""What each of them reads of other files is a dependency in `wfc.workspace.incremental`, and edits below change it."""


def test_no_other_rule_looks_at_other_files() -> None:
    folder = ROOT / "compiler" / "wfc"
    paths = [
        *folder.glob("rules/**/*.py"),
        *folder.glob("analysis/**/*.py"),
        *folder.glob("dialects/**/*.py"),
    ]
    asks = re.compile(r"\.project\b(?! import)|\bproject\.\w+\(|\bproject: Project\b")
    found = {
        path.relative_to(folder).as_posix() for path in paths if asks.search(path.read_text(encoding="utf-8"))
    }
    assert found == LOOK_AT_OTHER_FILES


# -- over any changes ----------------------------------------------------------

STEPS = st.lists(
    st.sampled_from(
        [SHELL, RETURN, WRONG, HIDDEN, NOTHING_HIDDEN, SECRET, REPEATED, call("nobody"), call("")]
        + [call(name, given) for name in NAMES for given in ("", "service", "other")]
    ),
    max_size=3,
).map("".join)
TEXTS = st.one_of(
    st.builds(text, st.sampled_from([*NAMES, "Alpha", "alpha_", ""]), STEPS, st.sampled_from(["", INPUTS])),
    st.sampled_from(["", "name: [", "- a list\n", "name: alpha\nblocks: []\n"]),
)
SETTINGS = (
    "[tool.wfc]\n",
    '[tool.wfc]\nignore = ["WF004", "WF704"]\n',
    "[tool.wfc.limits]\ncall_depth = 1\n",
)
EDITS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), TEXTS),
    st.tuples(st.just("put"), st.sampled_from(NAMES), TEXTS),
    st.tuples(st.just("append"), st.sampled_from(NAMES), st.sampled_from(["# more\n", SHELL, call("beta")])),
    st.tuples(st.just("remove"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("settings"), st.none(), st.sampled_from(SETTINGS)),
    st.tuples(st.just("run"), st.sampled_from(NAMES), st.sampled_from(["build@1", "gone@2"])),
    st.tuples(st.just("no runs"), st.none(), st.none()),
)
QUESTIONS = (
    (),
    (),
    ("--format", "json"),
    ("workflows/beta.yaml",),
    ("workflows/beta.yaml", "workflows/alpha.yaml"),
)


@pytest.fixture(scope="module")
def caches() -> Iterator[Path]:
    """One cache for all examples: what one of them left must not deceive another."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", folder)
        yield Path(folder)


def change(project: Path, kind: str, name: str | None, what: str | None) -> None:
    file = project / "workflows" / f"{name}.yaml"
    match kind:
        case "put":
            put(project, str(name), str(what))
        case "append" if file.exists():
            put(project, str(name), file.read_text() + str(what))
        case "rename" if file.exists():
            file.rename(file.with_stem(str(what)))
        case "remove" | "settings" | "run" | "no runs":
            edit(project, kind, name, what)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(EDITS, st.sampled_from(QUESTIONS)), min_size=4, max_size=8))
def test_over_any_changes_the_findings_are_those_of_a_check_of_all(
    caches: Path, changes: list[tuple[tuple[str, str | None, str | None], tuple[str, ...]]]
) -> None:
    project = caches / "project"
    shutil.rmtree(project, ignore_errors=True)
    (project / "workflows").mkdir(parents=True)
    for name, steps in (
        ("alpha", WRONG),
        ("beta", SHELL + RETURN),
        ("gamma", call("beta")),
        ("delta", call("gamma")),
    ):
        put(project, name, text(name, steps))
    (project / "pyproject.toml").write_text(SETTINGS[0])
    os.environ.pop("WFC_STATE", None)
    for one, question in changes:
        change(project, *one)
        if not all((project / path).exists() for path in question if path.endswith(".yaml")):
            question = ()
        assert check(project, *question) == check(project, *question, "--no-cache"), one
