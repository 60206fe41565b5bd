"""What the tests of the inference share: a state with one field of each kind, and shorthands."""

from __future__ import annotations

from tests.support import file_of
from wfc.analysis.types.environment import Environment, Kind, Problem, Surroundings
from wfc.analysis.types.expressions import Inference
from wfc.analysis.types.lattice import UNDEFINED, exact, join
from wfc.analysis.types.workflow import FileTypes, types_of
from wfc.language import types
from wfc.language.types import ListType, Property, Record, Type
from wfc.template import parse_template
from wfc_runtime.contract import ConfirmAnswer, DelegateResult, ShellResult

ISSUE = Record(
    "",
    (
        Property("title", types.TEXT),
        Property("size", types.INT),
        Property("owner", types.TEXT, required=False),
        Property("parent", types.union(types.TEXT, types.NULL)),
    ),
    open=False,
)

FIELDS: dict[str, Type] = {
    "build": types.of_python(ShellResult),
    "answer": types.of_python(ConfirmAnswer),
    "plan": types.union(types.of_python(DelegateResult), types.NULL),
    "text": types.TEXT,
    "count": types.INT,
    "ratio": types.NUMBER,
    "flag": types.BOOL,
    "names": ListType(types.TEXT),
    "issues": ListType(ISSUE),
    "issue": ISSUE,
    "scores": types.MapType(types.INT),
    "object": types.OBJECT,
    "maybe": join(types.TEXT, UNDEFINED),
    "word": join(exact("true"), exact("false")),
    "nothing": types.NULL,
    "unknown": types.ANY,
}

INPUTS: dict[str, Type] = {
    "env": types.Choice(("staging", "production")),
    "note": types.union(types.TEXT, types.NULL),
    "limit": types.NUMBER,
}


def environment() -> Environment:
    return Environment(
        Surroundings(lambda name: FIELDS.get(name, types.ANY), INPUTS),
        lambda name: FIELDS.get(name, types.ANY),
        {"item": types.TEXT, "index": types.INT},
    )


def infer(text: str) -> tuple[Type, list[Problem]]:
    walk = Inference(parse_template(text), environment())
    return walk.infer(), walk.problems


def type_of(expression: str) -> str:
    """The type of an expression, as text."""
    return str(infer(f"{{{{ {expression} }}}}")[0])


def problems(expression: str) -> list[tuple[Kind, str]]:
    """What is wrong with an expression: the kind of problem, and the characters it is about."""
    text = f"{{{{ {expression} }}}}"
    return [(found.kind, text[found.start : found.end]) for found in infer(text)[1]]


def file_types(text: str) -> FileTypes:
    found = types_of(file_of(text))
    assert found is not None
    return found


def field_types(text: str, scope: int = 0) -> dict[str, str]:
    """The inferred types of a scope's state fields."""
    return {name: str(kind) for name, kind in file_types(text).scopes[scope].field_types().items()}
