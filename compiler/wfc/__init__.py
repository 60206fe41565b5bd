"""wfc: agent workflows in YAML, compiled ahead of time into typed Python statecharts.

The names in `__all__` are the Python API, described in docs/api.md. Every other module is internal and may change in
any release. Importing the package loads nothing; the compiler is imported by the first call.
"""

from __future__ import annotations

# Like `typing.TYPE_CHECKING`: the front of `wfc serve` answers its client before it imports `typing`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from wfc.api import Compilation, Finding, Module, ProjectError, StrPath

__all__ = ["Compilation", "Finding", "Module", "ProjectError", "check", "compile"]


def check(paths: StrPath | Iterable[StrPath] = ()) -> list[Finding]:
    """Check workflows and return the findings, sorted by place.

    `paths` are files and folders, one or several; without any, the workflows folder of the project here. The findings
    are those of `wfc check`. Raises `ProjectError`.
    """
    from wfc import api

    return api.check(paths)


def compile(paths: StrPath | Iterable[StrPath] = ()) -> Compilation:
    """Compile workflows in memory: the modules of those without errors, and all findings. Nothing is written.

    `paths` are as for `check`. Raises `ProjectError`.
    """
    from wfc import api

    return api.compile_paths(paths)


def __getattr__(name: str) -> Any:
    if name in __all__:
        from wfc import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
