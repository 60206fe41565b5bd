"""The picture of a loaded module is that of the IR: a run can be drawn when its YAML is gone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import ROOT, file_of, is_sampled
from wfc.compiler import compile_file
from wfc.picture import to_picture
from wfc_runtime.picture.model import Flow, Line, Node, Picture
from wfc_runtime.registry import Module, Registry
from wfc_runtime.service.pictures import kinds_of, picture_of

SOURCES = sorted(
    [
        *(path for path in (ROOT / "workflows").glob("*.yaml") if is_sampled(path.stem)),
        *(ROOT / "tests/golden").glob("*/workflow.yaml"),
    ]
)


def loaded(path: Path) -> Module:
    file = file_of(path.read_text(encoding="utf-8"))
    compiled = compile_file(file, str(path.relative_to(ROOT)))
    [text] = [text for name, text in compiled.files.items() if name.endswith(".py")]
    [line_map] = [text for name, text in compiled.files.items() if name.endswith(".json")]
    return Registry(ROOT / "nowhere").take(text, line_map)


def plain(picture: Picture) -> Picture:
    """Without descriptions of steps, which a module does not have, and with tips in any order."""
    return replace(picture, panels=tuple(replace(one, flow=_flow(one.flow)) for one in picture.panels))


def _flow(flow: Flow) -> Flow:
    return Flow(flow.title, [_node(node) for node in flow.nodes], flow.links)


def _node(node: Node) -> Node:
    return replace(node, tip=(), branches=tuple(map(_flow, node.branches)))


@pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: path.parent.name if path.stem == "workflow" else path.stem
)
def test_a_module_has_the_picture_of_its_source(path: Path) -> None:
    module = file_of(path.read_text(encoding="utf-8")).scheduled_module
    assert module is not None
    mine, theirs = plain(picture_of(loaded(path))), plain(to_picture(module))
    for one, other in zip(mine.panels, theirs.panels, strict=True):
        assert (one.caption, one.inputs, one.chart) == (other.caption, other.inputs, other.chart)
        assert one.flow.nodes == other.flow.nodes
        assert one.flow.links == other.flow.links


def test_a_tip_has_the_line_the_reads_and_the_parameters() -> None:
    found = picture_of(loaded(ROOT / "workflows" / "deploy-service.yaml"))
    [tip] = [node.tip for node in found.panels[0].flow.nodes if node.title == "push-image" and node.tip][:1]
    assert tip[0].startswith("push-image (shell), line ")
    assert "reads: image" in tip
    assert any(line.startswith("command: docker push") for line in tip)


def test_the_kind_of_a_step_is_read_from_beside_or_above_its_state() -> None:
    text = (
        "class A(Machine[I, F]):\n    class running(State.Compound):\n"
        '        a = State("a")  # shell -> out\n        # foreach task -> list\n'
        '        b = State("b", initial=True)\n        c = State("c # not this")\n'
    )
    assert kinds_of(text) == {"A": {"a": "shell", "b": "foreach"}}


def test_the_handler_of_failures_is_reached_from_a_node_that_stands_for_every_step() -> None:
    found = picture_of(loaded(ROOT / "workflows" / "standards-fix.yaml"))
    panel = next(one for one in found.panels if one.chart == "fix_batch")
    nodes = {node.id: node for node in panel.flow.nodes}
    [link] = [link for link in panel.flow.links if link.target == "note_failure"]
    assert (nodes[link.source].title, link.line) == ("a step fails", Line.ERROR)
    assert nodes["handled"].detail == "handled and still failed"
    # Nothing stands alone in the chart.
    linked = {end for one in panel.flow.links for end in (one.source, one.target)}
    assert set(nodes) == linked
