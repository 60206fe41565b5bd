"""Install lines name the distribution `wfc-compiler`: on PyPI, `wfc` is another project's package."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support import ROOT

PLACES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "Makefile",
    "pyproject.toml",
    "docs",
    "demo",
    "compiler",
    "runtime",
    "workflows",
    ".ci",
    ".github",
    ".pre-commit-hooks.yaml",
)
NOT_FOR_USERS = {"dev", "browser", "all"}
"""Extras that `all` leaves out."""

_OLD_NAME = r"(?<![\w./-])wfc(?![\w./-])"
_INSTALLERS = (
    r"(?:pip[\d.]*|pipx|uv(?:\s+pip|\s+tool)?|poetry|pdm|rye)\s+(?:install|add|run|inject)|uvx|pipx\s+run"
)
_WRONG = re.compile(
    # An extra of the old name, wherever it is written; a direct reference; an argument of an installer.
    r"(?<![\w./-])wfc\s?\[\s*[a-z][\w, -]*\]"
    rf"|{_OLD_NAME}\s*@\s*(?:git\+|https?:|file:|<)"
    rf"|(?<![\w-])(?:{_INSTALLERS})\b[^\n`#;&|]*{_OLD_NAME}"
)


def old_names(text: str) -> list[str]:
    return [found.group() for found in _WRONG.finditer(text)]


def _files() -> Iterator[Path]:
    for place in PLACES:
        path = ROOT / place
        assert path.exists(), place
        yield from [path] if path.is_file() else (file for file in path.rglob("*") if file.is_file())


def test_no_install_line_has_the_old_name() -> None:
    found = {}
    for path in _files():
        if "__pycache__" not in path.parts and (wrong := old_names(path.read_text("utf-8", "replace"))):
            found[path.relative_to(ROOT).as_posix()] = wrong
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "pip install wfc",
        "pip install 'wfc[lsp]'",
        "pip install --upgrade 'wfc'",
        'pip install "wfc @ git+https://example.org/wfc@v1"',
        '"wfc @ git+<address>"',
        "python -m pip install -q wfc==0.1.0",
        "pip3 install other wfc",
        "pipx install wfc",
        "pipx run wfc check",
        "uv add wfc",
        "uv pip install wfc",
        "uv tool install 'wfc[lsp]'",
        "uvx wfc check",
        "poetry add wfc",
        "the extra `wfc[temporal]`",
        "or `'wfc[lsp,temporal]'`",
        "pip install\n'wfc[lsp]'",
    ],
)
def test_an_install_line_with_the_old_name_is_found(line: str) -> None:
    assert old_names(line)


@pytest.mark.parametrize(
    "line",
    [
        "pip install wfc-compiler",
        "pip install 'wfc-compiler[lsp]'",
        'pip install "wfc-compiler @ git+https://example.org/wfc@v1"',
        "pip install . && wfc init",
        "pip install .  # then wfc init",
        "`pip install .`, then `wfc doctor`",
        "pip install ./wfc",
        "[tool.wfc.exec]",
        'tool["wfc"]["exec"]',
        "from wfc.checker import check",
    ],
)
def test_any_other_line_is_left_alone(line: str) -> None:
    assert not old_names(line)


def test_the_extra_all_has_every_extra_for_users() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == "wfc-compiler"
    assert list(project["scripts"]) == ["wfc"]
    extras = project["optional-dependencies"]
    [everything] = map(Requirement, extras["all"])
    assert everything.name == project["name"]
    assert everything.extras == set(extras) - NOT_FOR_USERS
    assert all(extras[name] for name in everything.extras), "an extra without a requirement"
