"""What a command imports is what its users wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import PATIENCE, ROOT

CHECK = "from wfc.cli.main import main; main()"
FLOW = 'name: odd\nversion: "1.0.0"\nsteps:\n  - {id: build, type: shell, command: "make {{ 1 + 1 }}"}\n'


def imported_by(code: str, *arguments: str, cwd: Path) -> set[str]:
    """The modules that were imported while some code ran in its own process."""
    script = f"import atexit, sys\natexit.register(lambda: print(*sys.modules, sep=chr(10), file=sys.stderr))\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    return set(done.stderr.split())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "odd.yaml").write_text(FLOW, encoding="utf-8")
    return tmp_path


def test_a_check_imports_no_state_machine_server_formatter_or_model_library(project: Path) -> None:
    found = imported_by(CHECK, "check", "odd.yaml", cwd=project)
    assert "wfc.rules" in found
    assert not found & {"statemachine", "mcp", "black", "pydantic", "wfc.emit.module", "wfc_runtime.machine"}


def test_only_a_file_with_javascript_imports_its_parser_and_engine(project: Path) -> None:
    parts = {"tree_sitter", "_quickjs", "wfc.javascript", "wfc_runtime.javascript"}
    assert not imported_by(CHECK, "check", "odd.yaml", cwd=project) & parts
    assert not imported_by("import deploy_service", cwd=ROOT / "generated") & parts
    script = FLOW.replace("steps:", "expressions: javascript\nsteps:")
    (project / "odd.yaml").write_text(script, encoding="utf-8")
    assert parts <= imported_by(CHECK, "check", "--no-cache", "odd.yaml", cwd=project)


def test_compiling_needs_neither_the_machines_nor_black(project: Path) -> None:
    found = imported_by(CHECK, "compile", "odd.yaml", "-o", "made", cwd=project)
    assert "wfc.emit.module" in found
    assert not found & {"statemachine", "mcp", "black", "pydantic", "wfc_runtime.machine"}


def test_help_and_version_load_no_compiler(project: Path) -> None:
    assert "wfc.project" not in imported_by(CHECK, "--version", cwd=project)


def test_a_generated_module_imports_the_machines_and_nothing_of_the_compiler() -> None:
    found = imported_by("import deploy_service", cwd=ROOT / "generated")
    assert "statemachine" in found
    assert not found & {"wfc", "mcp", "black", "yaml", "click"}


def test_the_process_that_holds_a_clients_pipe_imports_next_to_nothing(project: Path) -> None:
    """It has answered before a worker has imported the SDK. Its memory is there as long as the session."""
    code = "import wfc.__main__, wfc_runtime.server.front, wfc_runtime.server.front_cache"
    found = imported_by(code, cwd=project)
    assert {"json", "select", "wfc_runtime.server.front_messages"} <= found
    ours = {name for name in found if name.startswith(("wfc.", "wfc_runtime."))}
    assert ours == {
        "wfc.__main__",
        "wfc_runtime.interrupt",
        "wfc_runtime.server",
        "wfc_runtime.server.front",
        "wfc_runtime.server.front_cache",
        "wfc_runtime.server.front_messages",
        "wfc_runtime.version",
    }
    heavy = {
        "asyncio",
        "click",
        "subprocess",
        "hashlib",
        "dataclasses",
        "inspect",
        "typing",
        "pathlib",
        "socket",
    }
    assert not found & {*heavy, "mcp", "pydantic", "random", "tempfile", "threading"}


def test_the_server_of_a_clients_pipe_imports_nothing_of_the_page(project: Path) -> None:
    """The page costs only those who open it."""
    found = imported_by("import wfc_runtime.server.stdio, wfc_runtime.server.app", cwd=project)
    assert "mcp" in found
    assert not {name for name in found if name.startswith("wfc_runtime.page")}
