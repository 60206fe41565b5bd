"""Blocks that write the same file, though neither waits for the other."""

from __future__ import annotations

from wfc.dialects.blocks.reports import Reports
from wfc.dialects.blocks.translation import Translation
from wfc.findings import Note, Severity
from wfc.language.ast import Workflow
from wfc.language.steps.files import Written, may_clash, written_by


def check_files(workflow: Workflow, found: Translation, reports: Reports) -> None:
    """Those of different parts run one after the other, but only by chance. Of one part the core speaks itself."""
    graph, parts = found.graph, found.parts
    written: dict[str, list[Written]] = {}
    for step in workflow.walk():
        if step.name not in graph.nodes:
            continue
        node = graph.nodes[step.name]
        for file in written_by(step):
            name, _, path = file
            for _, writer, place in written.setdefault(name, []):
                other = graph.nodes[writer.name]
                is_ordered = graph.is_upstream(other.name, node) or graph.is_upstream(node.name, other)
                if not is_ordered and parts[other.name] != parts[node.name] and may_clash(writer, step):
                    reports.add(
                        "WF310",
                        path.span,
                        f"`{other.name}` and `{node.name}` both write this file, and neither waits for the other",
                        "let one wait for the other with `depends_on`, or give each a file of its own",
                        notes=(Note(f"`{other.name}` writes it too", place.span),),
                        step=node.name,
                        severity=Severity.WARNING,
                    )
                    break
            written[name].append(file)
