"""A generated module or line map was edited by hand, has conflicts of a merge, or is not one of ours.

The next `wfc compile` would throw the edit away, and until then what runs is not what the YAML says. Make the change in
the YAML. Where a merge has left conflicts, resolve those of the YAML: `wfc compile` writes the file again. A file of
that name that wfc did not make is never overwritten: move it away first.

Bad: a timeout is changed in `generated/deploy.py`.

Good: it is changed in `workflows/deploy.yaml`, and `wfc compile` is run.
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import Drift, DriftKind, SourceFile
from wfc.rules.base import Finding, rule
from wfc.yaml import Span


@rule("WF702", "edited-output")
def check(file: SourceFile) -> Iterator[Finding]:
    for drift in file.drift:
        if drift.condition is DriftKind.EDITED:
            yield Finding(
                _first_difference(drift),
                f"`{drift.path}` was edited by hand",
                help="make the change in the YAML; `wfc compile` will overwrite this file",
            )
        elif drift.condition is DriftKind.CONFLICTED:
            yield Finding(
                drift.file.start,
                f"`{drift.path}` has conflicts that a merge left",
                help="resolve them in the YAML and run `wfc compile`, which writes this file again",
            )
        elif drift.condition is DriftKind.FOREIGN:
            yield Finding(
                drift.file.start,
                f"`{drift.path}` is in the way: wfc did not make it",
                help="move or rename it, then run `wfc compile`",
            )


def _first_difference(drift: Drift) -> Span:
    """The first line of the body that is not what the source gives."""
    file = drift.file
    wanted = (drift.after or "").splitlines()
    for number, line in enumerate(file.lines(), 1):
        if line.startswith("# wfc-"):
            continue
        if number > len(wanted) or line != wanted[number - 1]:
            start = file.line_starts[number - 1]
            return file.span(start, start + len(line))
    return file.start
