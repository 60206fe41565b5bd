"""Modules: loaded when their digest holds, and loaded again when they have changed."""

from __future__ import annotations

import gc
import os
import sys
import weakref
from pathlib import Path

import pytest

from tests.runtime.support import TWO, Box, compile_to, steps
from wfc.emit.module import with_header
from wfc_runtime.errors import DefinitionError, NotFoundError
from wfc_runtime.header import FORMAT, digest, read_header
from wfc_runtime.registry import Registry


@pytest.fixture
def box(file_box: Box) -> Box:
    """All of this is about the file."""
    return file_box


OTHER = steps("{id: a, type: return, value: 1}", name="other-one")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    compile_to(tmp_path / "generated", TWO, OTHER)
    return tmp_path / "generated"


def test_modules_are_found_by_the_name_of_their_workflow(folder: Path) -> None:
    registry = Registry(folder)
    assert [module.workflow.name for module in registry.modules()] == ["other-one", "w"]
    module = registry.find("other-one")
    assert module.source == "workflows/other-one.yaml"
    assert module.text == (folder / "other_one.py").read_text()
    assert module.place_of("other-one", "a") == "workflows/other-one.yaml:5"


def test_a_module_under_another_file_name_is_found_too(folder: Path) -> None:
    (folder / "w.py").rename(folder / "elsewhere.py")
    assert Registry(folder).find("w").workflow.name == "w"


def test_a_module_is_loaded_once_as_long_as_it_does_not_change(folder: Path) -> None:
    registry = Registry(folder)
    assert registry.find("w").workflow is registry.find("w").workflow
    os.utime(folder / "w.py")
    assert registry.find("w").workflow is registry.modules()[1].workflow


def test_versions_that_nobody_has_used_for_long_are_let_go_of_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wfc_runtime.registry._PINNED", 4)
    registry = Registry(folder)
    body = (folder / "w.py").read_text().split("\n", 4)[4]
    made = []
    for number in range(10):
        text = with_header("workflows/w.yaml", digest("x"), f"{body}\nVERSION = {number}\n")
        made.append(weakref.ref(registry.take(text).workflow.machine))
    gc.collect()
    assert (made[0](), made[5]()) == (None, None)
    assert made[6]() is not None


def test_a_changed_module_is_picked_up_without_a_restart(folder: Path) -> None:
    registry = Registry(folder)
    before = registry.find("w")
    compile_to(folder, TWO.replace("command: make", "command: make all"))
    after = registry.find("w")
    assert after.digest != before.digest
    assert registry.of_digest(before.digest) is before


def test_new_and_removed_modules_are_noticed(folder: Path) -> None:
    registry = Registry(folder)
    registry.modules()
    compile_to(folder, TWO.replace("name: w", "name: third"))
    (folder / "other_one.py").unlink()
    assert [module.workflow.name for module in registry.modules()] == ["third", "w"]
    with pytest.raises(NotFoundError):
        registry.find("other-one")


def test_an_edited_module_is_not_loaded_and_the_error_says_what_to_do(folder: Path) -> None:
    path = folder / "w.py"
    path.write_text(path.read_text().replace("make", "rm -rf /"))
    with pytest.raises(DefinitionError) as caught:
        Registry(folder).find("w")
    assert caught.value.code == "module_edited"
    assert str(caught.value).endswith("Change workflows/w.yaml and run `wfc compile`.")


def test_one_bad_module_does_not_keep_the_others_from_running(folder: Path) -> None:
    path = folder / "w.py"
    path.write_text(path.read_text() + "raise SystemExit\n")
    registry = Registry(folder)
    assert [module.workflow.name for module in registry.modules()] == ["other-one"]
    assert [error.code for error in registry.problems()] == ["module_edited"]
    with pytest.raises(NotFoundError, match=r"Not usable: .*w\.py has been edited"):
        registry.find("nope")


def signed(body: str) -> str:
    return with_header("x.yaml", digest("x"), body)


@pytest.mark.parametrize("body", ["1 / 0\n", "def broken(:\n", "import nothing_like_this\n", "x = 1\n"])
def test_a_module_that_cannot_be_loaded_is_said_to_be_broken(folder: Path, body: str) -> None:
    (folder / "bad.py").write_text(signed(body))
    before = set(sys.modules)
    [error] = Registry(folder).problems()
    assert error.code == "module_broken"
    assert "can't be loaded" in error.message
    assert not {name for name in set(sys.modules) - before if name.startswith("wfc_generated")} - {
        module for module in sys.modules if vars(sys.modules[module]).get("WORKFLOW")
    }


def test_a_module_of_another_format_is_refused_with_both_numbers(folder: Path) -> None:
    path = folder / "w.py"
    text = path.read_text()
    for other in (1, 7):
        path.write_text(text.replace(f"# wfc-format: {FORMAT}", f"# wfc-format: {other}"))
        expected = f"has module format {other}, but this version of wfc needs format {FORMAT}"
        with pytest.raises(DefinitionError, match=expected):
            Registry(folder).find("w")


def test_a_run_keeps_a_module_of_an_older_format(tmp_path: Path) -> None:
    """As it was generated by the version that wrote format 1."""
    text = (Path(__file__).parent / "old_formats" / "format_1.py").read_text(encoding="utf-8")
    header = read_header(text)
    assert header is not None
    module = Registry(tmp_path).pin(header.body, text)
    inputs = {"service_name": "api", "version": "1.2.3", "registry": "r.example/x", "health_url": "https://h"}
    run = module.workflow.machine.simulate(inputs)
    assert run.pending["build-image"].instruction.startswith("Run this command")
    run.submit("build-image", {"stdout": "", "stderr": "no space", "exit_code": 1})
    assert (run.status, run.result["detail"]) == ("completed", "no space")
    assert module.place_of("deploy-service", "build_image") == "workflows/deploy-service.yaml:84"


def test_a_run_keeps_a_module_of_format_2_with_the_lines_inside(tmp_path: Path) -> None:
    text = (Path(__file__).parent / "old_formats" / "format_2.py").read_text(encoding="utf-8")
    header = read_header(text)
    assert header is not None
    module = Registry(tmp_path).pin(header.body, text)
    run = module.workflow.machine.simulate({})
    run.submit("name", {"input": "api"})
    run.submit("valid", {"stdout": "", "stderr": "", "exit_code": 1})
    assert (run.status, run.result["valid_name"]) == ("completed", False)
    assert module.place_of("new-service", "owner") == "workflows/new-service.yaml:19"
    assert (module.line_map, module.map_error) == (None, None)


def test_files_that_wfc_did_not_make_are_left_alone(folder: Path) -> None:
    (folder / "mine.py").write_text("raise RuntimeError('loaded')\n")
    (folder / "binary.py").write_bytes(b"\xff\xfe\x00")
    registry = Registry(folder)
    assert [module.workflow.name for module in registry.modules()] == ["other-one", "w"]


def test_a_run_can_be_started_from_a_module_that_is_in_no_folder(box: Box) -> None:
    service = box.compile(TWO).service
    module = service.registry.find("w")
    (box.generated / "w.py").unlink()
    run = service.start_module(module)["workflow_id"]
    assert box.restart().status(run)["status"] == "pending_action"


def test_a_module_may_be_loaded_while_another_thread_loads_one(
    file_box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    classes: dict[str, object] = {}

    class Name(str):
        """Each look at it is the moment in which another thread registers a class."""

        def startswith(self, *given: object) -> bool:
            classes[f"other{len(classes)}"] = object
            return False

    classes[Name("a")] = object
    monkeypatch.setattr("statemachine.registry._REGISTRY", classes)
    file_box.compile(TWO)
    assert [module.workflow.name for module in Registry(file_box.generated).modules()] == ["w"]
    assert len(classes) > 1
