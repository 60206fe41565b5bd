"""What a template refers to, part by part, at the exact place."""

import pytest

from wfc.template import Read, parse_template


def show(text: str) -> list[str]:
    """Each read on one line: its path, `()` after a call, `?` where guarded, and the characters it covers."""
    return [_show(text, read) for read in parse_template(text).reads]


def _show(text: str, read: Read) -> str:
    parts = "".join(f".{'*' if part.name is None else part.name}{'()' * part.called}" for part in read.path)
    return f"{read.root}{parts}{'?' * read.guarded} <{text[read.start : read.end]}>"


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("plain", []),
        ("{{ 1 + 'a' }}", []),
        ("{{ item }}", ["item <item>"]),
        ("{{ state.build.exit_code }}", ["state.build.exit_code <state.build.exit_code>"]),
        ("{{ state['build'].exit_code }}", ["state.build.exit_code <state['build'].exit_code>"]),
        ('{{ state . build [ "x" ] }}', ['state.build.x <state . build [ "x" ]>']),
        ("{{ state.list[0].a }}", ["state.list.0.a <state.list[0].a>"]),
        ("{{ state.list.0 }}", ["state.list.0 <state.list.0>"]),
        ("{{ state.list[-1] }}", ["state.list.* <state.list[-1]>"]),
        ("{{ state | tojson }}", ["state <state>"]),
        ("{{ state[key].x }}", ["state.*.x <state[key].x>", "key <key>"]),
        ("{{ state[inputs.k ~ 1] }}", ["state.* <state[inputs.k ~ 1]>", "inputs.k <inputs.k>"]),
        ("{{ state.x.strip() }}", ["state.x.strip() <state.x.strip>"]),
        ("{{ state.x.strip().split(item) }}", ["state.x.strip() <state.x.strip>", "item <item>"]),
        ("{{ (state.a | first).b }}", ["state.a <state.a>"]),
        ("{{ state.a[1:n].b }}", ["state.a <state.a>", "n <n>"]),
        ("{{ (state).a }}", ["state.a <state).a>"]),
        ("{{ [a, {'k': b}] }}", ["a <a>", "b <b>"]),
        ("{{ a if b else c }}", ["a <a>", "b <b>", "c <c>"]),
        ("{{ a ~ -b ** (c, d)[0] }}", ["a <a>", "b <b>", "c <c>", "d <d>"]),
        ("{{ x | join(sep, attribute=a) }}", ["x <x>", "sep <sep>", "a <a>"]),
        ("{{ x is divisibleby(y) and x is in z }}", ["x <x>", "y <y>", "x <x>", "z <z>"]),
        ("{{ f(a, k=b) }}", ["a <a>", "b <b>"]),
        ("{{ now().year }}", []),
        ("{{ a == b != c }}", ["a <a>", "b <b>", "c <c>"]),
    ],
)
def test_each_reference_is_found_with_its_path(text: str, reads: list[str]) -> None:
    assert show(text) == reads


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("{% for x in xs %}{{ x.a }}{{ y }}{% endfor %}{{ x }}", ["xs <xs>", "y <y>", "x <x>"]),
        ("{% for a, (b, c) in xs %}{{ a }}{{ b }}{{ c }}{% endfor %}", ["xs <xs>"]),
        ("{% for x in x.xs %}{% endfor %}", ["x.xs <x.xs>"]),
        (
            "{% for x in xs if x.ok and y %}{{ loop.index }}{% endfor %}{{ loop }}",
            ["xs <xs>", "y <y>", "loop <loop>"],
        ),
        ("{% for x in xs %}{% else %}{{ x }}{{ loop }}{% endfor %}", ["xs <xs>", "x <x>", "loop <loop>"]),
        ("{{ x }}{% set x = y %}{{ x.z }}", ["x <x>", "y <y>"]),
        ("{% set a, b = c %}{{ a }}{{ b }}", ["c <c>"]),
        ("{% set x %}{% set y = 1 %}{{ z }}{% endset %}{{ x }}{{ y }}", ["z <z>", "y <y>"]),
        ("{% set x | replace(a, b) %}{% endset %}", ["a <a>", "b <b>"]),
        (
            "{% if a %}{% set x = 1 %}{% elif b %}{% else %}{{ c }}{% endif %}{{ x }}",
            ["a <a>", "b <b>", "c <c>"],
        ),
        ("{% for i in a %}{% set x = 1 %}{{ x }}{% endfor %}{{ x }}", ["a <a>", "x <x>"]),
        ("{% set ns = namespace(t=a) %}{% set ns.t = ns.t + b %}{{ ns.t }}", ["a <a>", "b <b>"]),
        ("{% set ns.t = 1 %}", ["ns <ns>"]),
        ("{# {{ a }} #}{% raw %}{{ b }}{% endraw %}{{ c }}", ["c <c>"]),
    ],
)
def test_names_that_the_template_binds_are_not_reads(text: str, reads: list[str]) -> None:
    assert show(text) == reads


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("{{ a.b | default(c.d) }}", ["a.b? <a.b>", "c.d <c.d>"]),
        ("{{ a.b | d }}", ["a.b? <a.b>"]),
        ("{{ a.b is defined }}", ["a.b? <a.b>"]),
        ("{{ a is not defined }}", ["a? <a>"]),
        ("{{ a.b is undefined }}", ["a.b? <a.b>"]),
        ("{{ a[b] | default(1) }}", ["a.*? <a[b]>", "b <b>"]),
        ("{{ (a if b else c) | default(1) }}", ["a? <a>", "b <b>", "c? <c>"]),
        ("{{ (a ~ b) | default(1) }}", ["a <a>", "b <b>"]),
        ("{{ a | length | default(0) }}", ["a <a>"]),
        ("{{ a.strip() | default(0) }}", ["a.strip() <a.strip>"]),
        ("{{ a is defined and a > 1 }}", ["a? <a>", "a? <a>"]),
        ("{{ a is undefined or a > 1 }}", ["a? <a>", "a? <a>"]),
        ("{{ not a is defined or a }}", ["a? <a>", "a? <a>"]),
        ("{{ a is defined or a }}", ["a? <a>", "a <a>"]),
        ("{{ a.b.c is defined and a.b }}", ["a.b.c? <a.b.c>", "a.b? <a.b>"]),
        ("{{ a.b is defined and a.b.c }}", ["a.b? <a.b>", "a.b.c <a.b.c>"]),
        ("{{ a if a is defined else a }}", ["a? <a>", "a? <a>", "a <a>"]),
        (
            "{% if a is defined %}{{ a }}{% else %}{{ a }}{% endif %}{{ a }}",
            ["a? <a>", "a? <a>", "a <a>", "a <a>"],
        ),
        (
            "{% if a is undefined %}x{% elif b %}{{ a }}{% else %}{{ a }}{% endif %}",
            ["a? <a>", "b <b>", "a? <a>", "a? <a>"],
        ),
    ],
)
def test_a_read_is_guarded_where_the_template_copes_with_its_absence(text: str, reads: list[str]) -> None:
    assert show(text) == reads


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("{{ state.a.b }}", [0]),
        ("{{ state.a.b if state.a }}", [1, 0]),
        ("{{ state.a and state.a.b }}", [0, 1]),
        ("{{ state.a or state.a.b }}", [0, 0]),
        ("{{ not state.a or state.a.b }}", [0, 1]),
        ("{{ state.a is not none and state.a.b }}", [0, 1]),
        ("{{ state.a is none or state.a.b }}", [0, 1]),
        ("{{ state.a != none and state.a.b }}", [0, 1]),
        ("{{ state.a == none or state.a.b }}", [0, 1]),
        ("{{ state.a is defined and state.a.b }}", [0, 0]),
        ("{{ state.a.b is defined and state.a.b.c }}", [0, 1]),
        ("{{ state.a | default(false) and state.a.b }}", [0, 1]),
        ("{{ state.a | default(true) and state.a.b }}", [0, 0]),
        ("{% if state.a.b %}{{ state.a.b.c.d }}{{ state.x }}{% endif %}", [0, 2, 0]),
        ("{% if not state.a %}{% else %}{{ state.a.b }}{% endif %}", [0, 1]),
    ],
)
def test_tests_show_what_is_there(text: str, known: list[int]) -> None:
    assert [read.known for read in parse_template(text).reads] == known


def test_each_part_has_its_own_place() -> None:
    text = "{{ state['build'].list[0][k].strip() }}"
    (read, _) = parse_template(text).reads
    assert [text[part.start : part.end] for part in read.path] == ["build", "list", "0", "k", "strip"]
    assert [part.name for part in read.path] == ["build", "list", 0, None, "strip"]
    assert [part.called for part in read.path] == [False, False, False, False, True]
    assert read.names == ("build", "list", 0)


def test_a_name_spelled_with_escapes_covers_its_quotes() -> None:
    text = r"{{ state['\x61'] }}{{ state['a' 'b'] }}"
    first, second = parse_template(text).reads
    assert (first.path[0].name, text[first.path[0].start : first.path[0].end]) == ("a", r"'\x61'")
    assert (second.path[0].name, text[second.path[0].start : second.path[0].end]) == ("ab", "'a' 'b'")


def test_white_space_control_and_line_ends_do_not_shift_places() -> None:
    text = "é\r\n  {%- if a -%}\r\n {{- b.c -}} \r\n{%- endif %}\r\n{{ d }}"
    assert show(text) == ["a <a>", "b.c <b.c>", "d <d>"]
