"""How the holes of a command stand in it."""

from __future__ import annotations

import pytest
from jinja2 import nodes

from wfc.analysis.taint.expressions import Walk
from wfc.analysis.taint.policy import SHELL
from wfc.analysis.taint.shell import HOLE, Spot, spots_of
from wfc.analysis.taint.values import CLEAN, Taint
from wfc.template import parse_template


class Nothing:
    policy = SHELL

    def field(self, name: str | None) -> Taint:
        return CLEAN

    def input(self, name: str | None) -> Taint:
        return CLEAN

    def other(self, name: str) -> Taint:
        return CLEAN

    def settled(self) -> list[nodes.Expr]:
        return []


def spots(text: str) -> list[Spot]:
    return spots_of(Walk(parse_template(text), Nothing()).pieces())


@pytest.mark.parametrize(
    ("command", "quote"),
    [
        ("cat {{ x }}", ""),
        ("cat '{{ x }}'", "'"),
        ('cat "{{ x }}"', '"'),
        ("echo 'a' {{ x }}", ""),
        ("echo 'a\"b' {{ x }}", ""),
        ('echo "it\'s" {{ x }}', ""),
        ('echo "a\\"b {{ x }}"', '"'),
        ('echo \\"{{ x }}', ""),
        ("echo 'a\\' {{ x }}", ""),
        ('echo "$(cat {{ x }})"', ""),
        ("echo \"$(cat 'a') {{ x }}\"", '"'),
        ('echo "`cat {{ x }}`"', ""),
        ("echo a # it's {{ x }}", "#"),
        ("echo a#b {{ x }}", ""),
        ("# it's\ncat {{ x }}", ""),
        ("cat <<EOF\nit's {{ x }}\nEOF\n", "<<"),
        ("cat <<'EOF' > a\nit's\nEOF\ncat {{ x }}", ""),
        ("cat <<-EOF\n\tit's\n\tEOF\ncat {{ x }}", ""),
        ("cat <<< 'a' {{ x }}", ""),
        ("echo ${a} {{ x }}", ""),
    ],
)
def test_the_quotes_around_a_hole_are_known(command: str, quote: str) -> None:
    assert [spot.quote for spot in spots(command)] == [quote]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("rm -f {{ x }}", ("rm", "-f")),
        ("cd /srv && rm {{ x }}", ("rm",)),
        ("a | b; c {{ x }}", ("c",)),
        ("run 2>&1 {{ x }}", ("run", "2>&1")),
        ("{ rm {{ x }}; }", ("rm",)),
        ("cp {{ x }} {{ y }}", ("cp", HOLE)),
        ("echo 'a b' \"c d\" {{ x }}", ("echo", "a b", "c d")),
        ("mv \\\n  {{ x }}", ("mv",)),
        ("echo $(ls a) {{ x }}", ("echo", "$")),
    ],
)
def test_the_words_before_a_hole_are_those_of_its_own_command(command: str, words: tuple[str, ...]) -> None:
    assert spots(command)[-1].words == words


def test_what_is_glued_to_a_hole_is_part_of_its_word() -> None:
    assert [spot.prefix for spot in spots("docker push {{ a }}:{{ b }} --x={{ c }}")] == [
        "",
        f"{HOLE}:",
        "--x=",
    ]


def test_each_command_has_a_number_of_its_own() -> None:
    first, second, third = spots("rm {{ a }} {{ b }}; rm {{ c }}")
    assert first.command == second.command != third.command


def test_a_quote_that_one_branch_opens_leaves_it_unsure() -> None:
    text = "echo {% if a %}'{% endif %}{{ x }}"
    assert [spot.unsure for spot in spots(text)] == [True]


def test_branches_that_end_alike_leave_no_doubt() -> None:
    text = "echo {% if a %}'a'{% else %}\"b\"{% endif %} {{ x }}"
    assert [(spot.quote, spot.unsure) for spot in spots(text)] == [("", False)]


def test_a_loop_is_read_once() -> None:
    text = "ls {% for f in files %}'{{ f }}' {% endfor %} {{ x }}"
    assert [spot.quote for spot in spots(text)] == ["'", ""]
