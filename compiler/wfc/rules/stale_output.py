"""A generated module, or its line map, is not what its source says.

The YAML was changed and not compiled, a new workflow has no module yet, a module's workflow has gone, or another
version of wfc made it. Then what would run is not what was reviewed. The same holds for the line map beside a module
(`deploy.map.json`), which says from which line of the YAML each state comes. `wfc compile --check` finds it, and
`wfc compile` writes the files again.

Bad: `workflows/deploy.yaml` is changed and committed, `generated/deploy.py` is not.

Good: `wfc compile` has been run, and both are in the same commit.
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.project import DriftKind, SourceFile
from wfc.rules.base import Finding, rule

_MESSAGES = {
    DriftKind.MISSING: "`{path}` has not been generated",
    DriftKind.STALE: "`{path}` is not what its source says",
    DriftKind.OLD_FORMAT: "`{path}` was made by another version of wfc",
    DriftKind.ORPHANED: "`{path}` was made from a workflow that has gone",
}


@rule("WF701", "stale-output")
def check(file: SourceFile) -> Iterator[Finding]:
    for drift in file.drift:
        if drift.condition in _MESSAGES:
            place = file.source.start if drift.condition is DriftKind.MISSING else drift.file.start
            yield Finding(place, _MESSAGES[drift.condition].format(path=drift.path), help="run `wfc compile`")
