"""The three ways to write a picture down: well-formed, escaped, always the same."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from tests.support import ROOT
from tests.unit.graph.samples import HOSTILE, SHIPPED, picture_of, shipped
from wfc.picture import to_picture
from wfc_runtime.picture import RENDERERS
from wfc_runtime.picture.model import COLORS, INK, Flow, Line, Link, Node, Panel, Picture, Shape
from wfc_runtime.picture.svg import render_svg

_SVG = "{http://www.w3.org/2000/svg}"


def hostile_picture(text: str) -> Picture:
    """A picture that says the text wherever something can be said."""
    step = Node("a", Shape.BOX, text, text, badge="3 tries", tip=(text, text))
    choice = Node("b", Shape.CHOICE, text, text, tip=(text,))
    frame = Node("c", Shape.PARALLEL, text, branches=(Flow(text, [Node("d", Shape.BOX, text, text)]),))
    links = [Link("a", "b", text), Link("b", "c", text, Line.ERROR), Link("b", "a", text, Line.AGAIN)]
    flow = Flow(text, [step, choice, frame], links)
    panel = Panel(text, (text,), text, flow)
    return Picture(text, (panel, panel))


def parse(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


# -- SVG -----------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_svg_is_well_formed_and_needs_nothing_from_outside(name: str) -> None:
    svg = RENDERERS["svg"](to_picture(shipped(name)))
    root = parse(svg)
    assert root.tag == f"{_SVG}svg"
    tags = {element.tag.removeprefix(_SVG) for element in root.iter()}
    assert tags <= {"svg", "style", "g", "title", "rect", "path", "polygon", "circle", "text"}
    [style] = root.iter(f"{_SVG}style")
    assert not re.search(r"url\(|@import", style.text or "")
    # What the workflow says stands in texts and labels; an attribute that loads or executes something does not exist.
    names = {name for element in root.iter() for name in element.attrib}
    assert not {name for name in names if name == "style" or "href" in name or name.startswith("on")}
    said = r"<(title|text)\b[^>]*>.*?</\1>|aria-label=\"[^\"]*\""
    assert re.sub(said, "", svg, flags=re.DOTALL).count("http") == 1


@pytest.mark.parametrize("name", SHIPPED)
def test_all_text_of_an_svg_is_inside_its_view_box(name: str) -> None:
    root = parse(RENDERERS["svg"](to_picture(shipped(name))))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert root.attrib["viewBox"] == f"0 0 {root.attrib['width']} {root.attrib['height']}"
    for text in root.iter(f"{_SVG}text"):
        assert 0 < float(text.attrib["x"]) < width
        assert 0 < float(text.attrib["y"]) < height


def test_svg_tells_what_a_step_reads_and_writes() -> None:
    root = parse(RENDERERS["svg"](to_picture(shipped("deploy-service"))))
    tips = [title.text or "" for title in root.iter(f"{_SVG}title")]
    tip = next(tip for tip in tips if tip.startswith("push-image (shell)"))
    assert "reads: image\nwrites: push\ncommand: docker push" in tip
    assert "retry: max attempts 3" in tip


def test_svg_has_a_legend_of_the_colours_and_lines_that_it_uses() -> None:
    picture = picture_of(
        """\
  - {id: a, type: shell, command: make, on_error: {goto: c}}
  - {id: b, type: wait, duration_seconds: 1}
  - {id: c, type: goto, target: a, max_iterations: 2}
"""
    )
    texts = [text.text for text in parse(RENDERERS["svg"](picture)).iter(f"{_SVG}text")]
    meanings = ["agent acts", "waits", "control flow", "after a failure", "back to an earlier step"]
    assert texts[-5:] == meanings


@pytest.mark.parametrize("text", HOSTILE)
def test_svg_shows_hostile_text_as_text(text: str) -> None:
    root = parse(RENDERERS["svg"](hostile_picture(text)))
    assert {"b", "script"}.isdisjoint(element.tag.removeprefix(_SVG) for element in root.iter())
    shown = "".join(element.text or "" for element in root.iter(f"{_SVG}title"))
    assert text[:3].strip() in shown or not text.isprintable()


# -- Mermaid -------------------------------------------------------------------

_LABEL = r'"(?:[^"#&<>`{}\[\]\\*~%;\n]|#\w+;|<br/>|(?<=#\d\d);)*"'
_NAME = r"c\d+b?(?:_\w+)?"
_MERMAID = [
    r"flowchart TD",
    rf"{_NAME}(?:\[{_LABEL}\]|\{{{_LABEL}\}}|\(\[{_LABEL}\]\)|\(\(\(?{_LABEL}\)?\)\)):::\w+",
    rf"subgraph {_NAME}\[{_LABEL}\]",
    r"direction TB",
    r"end",
    rf"{_NAME} (?:-->|-\.->)(?:\|{_LABEL}\|)? {_NAME}",
    r"classDef \w+ [\w:#,.-]+",
    rf"class {_NAME}(?:,{_NAME})* frame",
    r"linkStyle \d+(?:,\d+)* stroke:#\w+(?:,stroke-dasharray:5 3)?",
]
_MERMAID_LINE = re.compile("|".join(f"(?:{line})" for line in _MERMAID))


def strange_lines(mermaid: str) -> list[str]:
    return [line for line in mermaid.splitlines() if not _MERMAID_LINE.fullmatch(line.strip())]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_line_of_a_mermaid_chart_has_a_known_form(name: str) -> None:
    assert strange_lines(RENDERERS["mermaid"](to_picture(shipped(name)))) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_mermaid_labels_hold_nothing_that_mermaid_could_read(text: str) -> None:
    assert strange_lines(RENDERERS["mermaid"](hostile_picture(text))) == []


def test_mermaid_writes_quotes_and_brackets_as_codes() -> None:
    mermaid = RENDERERS["mermaid"](hostile_picture('say "<hi>" & [go]'))
    assert '["say #34;#60;hi#62;#34; #38; #91;go#93;<br/>' in mermaid


def test_mermaid_does_not_take_text_for_a_list_or_for_emphasis() -> None:
    assert '["1#46; first<br/>' in RENDERERS["mermaid"](hostile_picture("1. first"))
    assert '["#45; item<br/>' in RENDERERS["mermaid"](hostile_picture("- item"))
    assert '["#95;#95;init#95;#95; of a_b<br/>' in RENDERERS["mermaid"](hostile_picture("__init__ of a_b"))


def test_mermaid_names_are_told_apart_from_its_keywords() -> None:
    mermaid = RENDERERS["mermaid"](picture_of("  - {id: end, type: shell, command: make}\n"))
    assert "  c0_end[" in mermaid


def test_mermaid_frames_hold_tasks_and_branches() -> None:
    assert 'subgraph c1["task review_file"]' in RENDERERS["mermaid"](to_picture(shipped("analyze-codebase")))
    release = RENDERERS["mermaid"](to_picture(shipped("release-checks")))
    assert 'subgraph c0_run_checks["run-checks"]' in release
    assert 'subgraph c0b_run_checks_0["tests"]' in release
    assert "c0_name_range --> c0_run_checks\n" in release


# -- Graphviz ------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_dot_strings_end_where_they_should(text: str) -> None:
    dot = RENDERERS["dot"](hostile_picture(text))
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', dot)
    assert '""' in bare
    assert re.fullmatch(r"[\w\s{}\[\]=;>.,-]*", bare.replace('""', ""))


def test_dot_writes_quotes_backslashes_and_entities_so_that_they_are_seen() -> None:
    dot = RENDERERS["dot"](hostile_picture('"a" \\N &lt;'))
    assert 'label="\\"a\\" \\\\N &amp;lt;\\n' in dot


def test_dot_ties_links_to_the_frame_of_a_parallel_step() -> None:
    dot = RENDERERS["dot"](to_picture(shipped("release-checks")))
    assert "c0_name_range -> c0i_run_checks [lhead=cluster_c0_run_checks " in dot
    assert "c0o_run_checks -> c0_weigh_results [ltail=cluster_c0_run_checks " in dot


def test_dot_has_tooltips() -> None:
    dot = RENDERERS["dot"](to_picture(shipped("deploy-service")))
    assert 'tooltip="push-image (shell), line' in dot


# -- all of them ---------------------------------------------------------------


def test_the_same_workflow_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    path = ROOT / "workflows" / "deploy-service.yaml"
    program = (
        "import json; from tests.support import file_of;"
        "from wfc_runtime.picture import RENDERERS; from wfc.picture import to_picture;"
        f"module = file_of(open({str(path)!r}).read()).module;"
        "print(json.dumps({form: RENDERERS[form](to_picture(module)) for form in RENDERERS}))"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    one, other = map(json.loads, outputs)
    assert set(one) == set(RENDERERS)
    assert one == other


@pytest.mark.parametrize("form", RENDERERS)
@pytest.mark.parametrize("name", SHIPPED)
def test_text_ends_with_a_newline_and_has_no_spaces_at_line_ends(form: str, name: str) -> None:
    text = RENDERERS[form](to_picture(shipped(name)))
    assert text.endswith("\n")
    assert not re.search(r"[ \t]+$", text, re.MULTILINE)
    text.encode()


def test_text_stands_out_from_every_fill() -> None:
    for color in COLORS.values():
        assert contrast(INK, color.fill) > 7


def contrast(one: str, other: str) -> float:
    """As the guidelines for accessible pages define it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    shares = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_page_and_the_file_have_the_same_colors_in_both_themes() -> None:
    css = (ROOT / "runtime/wfc_runtime/page/static/page.css").read_text(encoding="utf-8")
    light, dark = css.split("@media (prefers-color-scheme: dark)")[:2]
    for name, color in COLORS.items():
        rule = re.search(rf"\.chart \.is-{name} {{ fill: var\((--[\w-]+)\); stroke: var\((--[\w-]+)\)", css)
        assert rule is not None, name
        for part, wanted in (
            (light, (color.fill, color.stroke)),
            (dark, (color.dark_fill, color.dark_stroke)),
        ):
            assert tuple(re.search(rf"{one}: (#\w+);", part)[1] for one in rule.groups()) == wanted, name  # type: ignore[index]


def test_a_file_follows_the_theme_of_its_reader_and_the_chart_of_the_page_has_no_style_of_its_own() -> None:
    picture = picture_of("- {id: hello, type: say, message: Hello}")
    assert "prefers-color-scheme:dark" in render_svg(picture)
    assert "<style" not in render_svg(picture, themes=False)
