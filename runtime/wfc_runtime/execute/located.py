"""Files that parameters name, in the granted folders or in the run's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from wfc_runtime.execute import paths
from wfc_runtime.execute.base import Job
from wfc_runtime.execute.scratch import scratch

_SCRATCH = re.compile(r"\$(?:SCRATCH|\{SCRATCH\})/+")


@contextmanager
def located(job: Job, name: str) -> Iterator[paths.Place]:
    """The file, for as long as it is worked on: `$SCRATCH` before it is what commands have by that name."""
    given = job.parameters.path(name)
    before = _SCRATCH.match(given)
    if before is None:
        yield paths.locate(job.grant, given)
        return
    with scratch(job.grant.root, job.run) as folder:
        yield paths.locate(job.grant, str(folder / given[before.end() :]))
