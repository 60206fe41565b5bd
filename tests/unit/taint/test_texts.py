"""What marks a piece of text for an agent, what looks like a secret, and what reaches for Python."""

from __future__ import annotations

import pytest

from wfc.rules.common.injection import escapes_in
from wfc.rules.hardcoded_secret import looks_random, named_secret, secrets_in
from wfc.rules.prompt_injection import Delimiters
from wfc.template import parse_template


def is_marked(text: str) -> bool:
    start = text.index("{{ x")
    return Delimiters(text).enclose(start + 3, start + 4)


@pytest.mark.parametrize(
    "text",
    [
        "<plan>{{ x }}</plan>",
        "<plan>\nIt says:\n{{ x }}\n</plan>",
        '<plan kind="a">{{ y }}{{ x }}</plan>',
        "```\n{{ x }}\n```",
        "~~~text\n{{ x }}\n~~~",
        '"""\n{{ x }}\n"""',
        'It is "{{ x }}".',
        "It is `{{ x }}`.",
        "> {{ x }}",
    ],
)
def test_tags_fences_and_quotes_mark_a_text(text: str) -> None:
    assert is_marked(text)


@pytest.mark.parametrize(
    "text",
    [
        "Do {{ x }}",
        "<plan></plan>{{ x }}",
        "<plan>{{ x }}",
        "<a>{{ x }}</b>",
        "```\na\n```\n{{ x }}",
        "{{ 1 < 2 }}{{ x }}{{ 2 > 1 }}",
        '"{{ x }}',
        "a > b: {{ x }}\n",
    ],
)
def test_what_only_looks_like_it_does_not(text: str) -> None:
    assert not is_marked(text)


def test_well_known_secrets_are_found_where_they_stand() -> None:
    text = "export A=1 && use ghp_" + "a1B2" * 9 + " now"
    assert [text[found.start : found.end][:4] for found in secrets_in(text)] == ["ghp_"]


@pytest.mark.parametrize(
    "text",
    [
        "use $GITHUB_TOKEN and ghp_short",
        "https://user:$TOKEN@host/x",
        "https://host:8080/path@version",
        "password: ask the person who knows it",
        "--token {{ inputs.token }} and more",
        "sk-learn is a library for machine learning",
        "AKIAIOSFODNN7EXAMPLE",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert secrets_in(text) == []


def test_a_name_alone_makes_no_secret() -> None:
    assert named_secret("api_key", "k3J9x0Qw81Zv") is not None
    assert named_secret("apiKey", "k3J9x0Qw81Zv") is not None
    assert named_secret("api_key", "correct horse battery") is None
    assert named_secret("api_key", "your-key-goes-here-1") is None
    assert named_secret("keyboard", "k3J9x0Qw81Zv") is None
    assert not looks_random("aaaaaaaaaaaaa1")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{ x.__class__ }}", ["__class__"]),
        ("{{ x._id }}", ["_id"]),
        ("{{ x['__class__'] }}", ["__class__"]),
        ("{{ x | attr('__init__') }}", ["__init__"]),
        ("{{ [x] | selectattr('__class__.__mro__') }}", ["__class__"]),
        ("{{ '{0.__class__}'.format(x) }}", ["__class__"]),
        ("{{ x['_id'] }} {{ x.a_b }} {{ 'see __main__' | upper }}", []),
        ("__init__ {{ x }}", []),
    ],
)
def test_names_that_lead_to_python_are_seen(text: str, names: list[str]) -> None:
    assert [found.name for found in escapes_in(parse_template(text))] == names
