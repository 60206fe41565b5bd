"""wfc itself and the libraries beside it."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec

from wfc.doctor.report import Result, bad, good, note
from wfc_runtime.version import __version__

_EXTRAS = {"pygls": ("lsp", "the language server"), "temporalio": ("temporal", "runs on Temporal")}


def check_installation() -> Iterator[Result]:
    yield good("wfc", f"version {__version__} on Python {platform.python_version()}")
    import yaml

    if not yaml.__with_libyaml__:
        help = "install PyYAML from a wheel, or libyaml's headers and then PyYAML"
        yield bad("yaml", "PyYAML has no C parser here, which wfc reads with", help)
    yield from _on_path()
    for module, (extra, purpose) in _EXTRAS.items():
        if find_spec(module):
            yield good(extra, f"the extra for {purpose} is installed")


def _on_path() -> Iterator[Result]:
    found = shutil.which("wfc")
    if found is None:
        help = "activate the environment that wfc is installed in, or name its full path in .mcp.json"
        yield note("path", "there is no `wfc` on the PATH", help)
        return
    try:
        done = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=30, check=False)
        said = done.stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        yield bad("path", f"`{found}` does not run: {error}", "install the distribution `wfc-compiler` again")
        return
    if said.endswith(f" {__version__}"):
        yield good("path", f"`wfc` on the PATH is this version ({found})")
    else:
        help = "agents and hooks start that one: upgrade it, or change the PATH"
        yield note("path", f"`wfc` on the PATH says `{said[:80]}` ({found}); this one is {__version__}", help)
