"""Conditions mean what they would in Python, as far as that is true or false."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.blocks.support import result, workflow

VALUES: dict[str, Any] = {
    "word": "prod",
    "empty": "",
    "said": "False",
    "quote": "it's",
    "lines": "a\nb",
    "slash": "a\\b",
    "count": 3,
    "none": 0,
    "share": 1.5,
    "yes": True,
    "no": False,
    "items": ["a", "b"],
    "found": {"k": "v"},
}
ATOMS = [
    *("{word} == 'prod'", '"prod" == {word}', "{word} in ['dev', 'prod']", "{word} not in ('a', 'b')"),
    *("'ro' in {word}", "{word} < 'z'", "{quote} == 'it\\'s'", "{lines} == 'a\\nb'", "{slash} == 'a\\\\b'"),
    *("{empty} == ''", "{empty} == None", "{word} != {empty}", "{word} is not None", "{empty} in {word}"),
    *(
        "{count} == 3",
        "{count} == 3.0",
        "1 < {count} <= 3",
        "{count} > {share}",
        "-1 < {none}",
        "{count} in [1, 3]",
    ),
    *("{share} >= 1.5", "{count} != {none}", "{items} == ['a', 'b']", "'a' in {items}", "'c' not in {items}"),
    *(
        "'k' in {found}",
        "{found.k} == 'v'",
        "{items} != []",
        "{yes}",
        "{no}",
        "{yes} == true",
        "{no} != 'False'",
    ),
    *(
        "{yes} != {no}",
        "{yes} is True",
        "{yes} in [True]",
        "{said} == {no}",
        "true",
        "False",
        "{word} == {said}",
    ),
]
TRUTHS = ["{word}", "{empty}", "{said}", "{count}", "{none}", "{items}", "{found}"]
"""What has no say of its own, but may stand before `and` and `or`, and behind `not`."""


def made_up(random: Random, depth: int) -> str:
    match random.randrange(4) if depth else 0:
        case 1:
            return f"not {random.choice([*TRUTHS, f'({made_up(random, depth - 1)})'])}"
        case 2 | 3:
            parts = [made_up(random, depth - 1) for _ in range(random.randint(2, 3))]
            if random.random() < 0.4:
                parts.insert(0, random.choice(TRUTHS))
            return f"({random.choice((' and ', ' or ')).join(parts)})"
    return random.choice(ATOMS)


def in_python(condition: str) -> Any:
    """What Python makes of it, the texts `True` and `False` being what they say."""
    text = condition
    for name, value in {**VALUES, "found.k": "v", "said": False}.items():
        text = text.replace(f"{{{name}}}", f"({value!r})")
    text = text.replace("true", "True").replace("'False'", "False")
    return eval(text, {"__builtins__": {}})


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("seed", range(3))
def test_a_condition_holds_where_it_does_in_python(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    conditions: list[str] = [] if seed else list(ATOMS)
    while len(conditions) < 60:
        condition = made_up(random, 3)
        if isinstance(in_python(condition), bool):
            conditions.append(condition)
    types = {str: "str", int: "int", float: "float", bool: "bool", list: "list", dict: "dict"}
    inputs = [
        f"  {name}: {json.dumps({'type': types[type(value)], 'default': value})}"
        for name, value in VALUES.items()
    ]
    written = [condition.replace("{", "${inputs.") for condition in conditions]
    blocks = [
        f"  - {json.dumps({'id': f'c{number}', 'type': 'EchoBlock', 'inputs': {'message': 'a'}, 'condition': one})}"
        for number, one in enumerate(written)
    ]
    outputs = [f"  c{number}: ${{blocks.c{number}.succeeded}}" for number in range(len(conditions))]
    found = result(tmp_path, workflow("\n".join(blocks), "\n".join(outputs), "inputs:\n" + "\n".join(inputs)))
    wanted = {f"c{number}": str(in_python(one)).lower() for number, one in enumerate(conditions)}
    assert {conditions[int(name[1:])]: value for name, value in found.items() if value != wanted[name]} == {}
