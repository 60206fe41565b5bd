"""Files that parameters name, in the granted folders or in the run's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from wfc_runtime.execute import paths
from wfc_runtime.execute.base import ExecutionError, Job, Parameters
from wfc_runtime.execute.grant import Access, Grant
from wfc_runtime.execute.scratch import FOLDER, scratch

_SCRATCH = re.compile(r"\$(?:SCRATCH|\{SCRATCH\})/+")


@contextmanager
def located(job: Job, name: str, *access: Access) -> Iterator[paths.Place]:
    """The file that a parameter names, for as long as it is worked on. `$SCRATCH` means the same as in commands."""
    given = job.parameters.path(name)
    before = _SCRATCH.match(given)
    if before is None:
        yield paths.locate_for(job.grant, given, *access)
        return
    with scratch(job.grant.root, job.run) as folder:
        yield paths.locate_for(job.grant, str(folder / given[before.end() :]), *access)


def read_refusal(parameters: Parameters, grant: Grant) -> str:
    """The refusal of kinds that read the file `path`."""
    return file_refusal(parameters, grant, "path", "read")


def write_refusal(parameters: Parameters, grant: Grant) -> str:
    """The refusal of kinds that write the file `path`."""
    return file_refusal(parameters, grant, "path", "write")


def file_refusal(parameters: Parameters, grant: Grant, name: str, *access: Access) -> str:
    """Why the patterns of a grant do not cover a file; empty where they do.

    A path that no pattern could cover (outside every folder, protected) is not refused here: the step fails with it,
    instead of the agent being asked to do what the server must not.
    """
    for one in access:
        if not grant.grants_files(one):
            return f"the server was not granted to {one} files (--allow-{one})"
    given = parameters.path(name)
    before = _SCRATCH.match(given)
    if before is not None:
        # The run is not known here. Patterns match the folders of all runs alike.
        given = f"{FOLDER}/run/{given[before.end() :]}"
    try:
        path = paths.locate(grant, given).path
    except ExecutionError:
        return ""
    return next((why for one in access if (why := grant.file_refusal(one, path))), "")
