"""The runtime of generated modules and servers.

The names in `__all__` are the Python API, described in docs/api.md; generated modules import others, which belong to
the format of the module. Importing the package loads nothing: the engine is imported by `open`.
"""

from __future__ import annotations

# As in `typing`, which `wfc serve` does without until it has answered.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from wfc_runtime.errors import WfcError
    from wfc_runtime.service.interface import Reply, Service, actions_of

__all__ = ["Reply", "Service", "WfcError", "actions_of", "open"]

_HOMES = {
    "Reply": "wfc_runtime.service.interface",
    "Service": "wfc_runtime.service.interface",
    "WfcError": "wfc_runtime.errors",
    "actions_of": "wfc_runtime.service.interface",
}


def open(path: str | os.PathLike[str], generated: str | os.PathLike[str] | None = None) -> Service:
    """Open the runs of a project and return the service that drives them. Close it when you are done.

    `path` is the folder of the project, whose runs are in `.wfc/state.db`, or the file that keeps the runs; it is
    created if it is missing. `generated` is the folder of the compiled modules; by default `generated` in the project.
    Any number of processes may have the same file open. The modules are imported, so open only folders that you trust.
    Raises `WfcError`.
    """
    from pathlib import Path

    from wfc_runtime.engines import Engine

    given = Path(path)
    state = given / ".wfc" / "state.db" if given.is_dir() else given
    root = state.parent.parent if state.parent.name == ".wfc" else state.parent
    return Engine(state, Path(generated) if generated is not None else root / "generated").open()


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
