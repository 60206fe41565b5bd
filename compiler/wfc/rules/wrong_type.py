"""A value has the wrong type for its field.

`timeout` takes a number of seconds, `version` takes text, `needs_state` takes a list. YAML derives the type of an
unquoted value from its form: `1.0` is a number, `"1.0"` is text, `30s` is text.

Bad:

```yaml
- id: build
  type: shell
  command: make
  timeout: "30s"
```

Good:

```yaml
- id: build
  type: shell
  command: make
  timeout: 30
```
"""

from __future__ import annotations

from collections.abc import Iterator

from wfc.caching import pattern
from wfc.findings import Fix, Severity
from wfc.language.fields import NAME, Mismatch
from wfc.language.shape import Shape
from wfc.language.steps.base import SCHEMA_TYPES, Step
from wfc.language.values import Literal, Text, Tree, Word
from wfc.project import SourceFile
from wfc.rules.base import Finding, rule
from wfc.rules.common.edits import rename
from wfc.rules.common.hints import Hints
from wfc.struct import replace
from wfc.suggest import did_you_mean, nearest
from wfc.yaml import Entry, Mapping, Node, Scalar, Sequence


@rule("WF006", "wrong-type", fix="unsafe")
def check(file: SourceFile) -> Iterator[Finding]:
    for shape, entry, found in _mismatches(file):
        hints = Hints(entry, shape.FIELDS[entry.key.text].type)
        for bad in found:
            yield Finding(
                bad.span,
                f"`{entry.key.text}`: {bad.message}",
                help=hints.on(bad),
                fix=_respelt(file, shape, entry, bad),
                step=shape.name if isinstance(shape, Step) else None,
            )
    for step in file.steps:
        schema = step.values.get("result_schema")
        for inner in _schemas(schema.node) if isinstance(schema, Tree) else ():
            # JSON Schema permits both, so these are warnings although the rule itself reports errors.
            for doubtful in (*_undescribed(inner), *_without_effect(inner)):
                yield replace(doubtful, severity=Severity.WARNING, step=step.name)


def _undescribed(schema: Mapping) -> Iterator[Finding]:
    """Properties that a schema requires but does not describe: usually one name is spelt in two ways."""
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, Sequence) or not isinstance(properties, Mapping):
        return
    known = [entry.key.text for entry in properties.entries]
    for item in required.items:
        if isinstance(item, Scalar) and item.text not in known:
            near = nearest(item.text, known)
            yield Finding(
                item.span,
                f"`required` lists `{item.text}`, which `properties` does not have",
                help=did_you_mean(item.text, known),
                fix=rename(item, near, f"require {near}") if near else None,
            )


def _without_effect(schema: Mapping) -> Iterator[Finding]:
    """Keys of a schema that nothing is checked against."""
    keys = [entry.key.text for entry in schema.entries]
    # `$ref` and extensions such as `x-order` may stand alone.
    if keys and not any(key in _KEYWORDS or key.startswith(("$", "x-")) for key in keys):
        first = schema.entries[0].value
        word = first.text if isinstance(first, Scalar) and first.text in SCHEMA_TYPES else "string"
        yield Finding(
            schema.entries[0].key.span,
            f"no effect: `{keys[0]}` is not a keyword of JSON Schema, so any value is accepted",
            help=f"write `{{type: object, properties: {{{keys[0]}: {{type: {word}}}}}, required: [{keys[0]}]}}`",
        )
    kind, inner = schema.get("type"), schema.entry("properties")
    if inner is not None and isinstance(kind, Scalar) and kind.text in SCHEMA_TYPES and kind.text != "object":
        yield Finding(
            inner.key.span,
            f"no effect: `properties` describes an object, and the `type` here is `{kind.text}`",
            help="an array describes its elements under `items`"
            if kind.text == "array"
            else "write `type: object`",
        )


_KEYWORDS = frozenset(
    {"type", "enum", "const", "properties", "required", "items", "additionalProperties", "patternProperties"}
    | {
        "propertyNames",
        "minProperties",
        "maxProperties",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
    }
    | {"prefixItems", "additionalItems", "contains", "minContains", "maxContains", "minItems", "maxItems"}
    | {"uniqueItems", "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum"}
    | {
        "exclusiveMaximum",
        "multipleOf",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "definitions",
    }
    | {
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "contentEncoding",
    }
    | {"contentMediaType", "contentSchema", "unevaluatedItems", "unevaluatedProperties"}
)


def _schemas(node: Node) -> Iterator[Mapping]:
    """A schema and the schemas of its properties and items."""
    if isinstance(node, Mapping):
        yield node
        properties, items = node.get("properties"), node.get("items")
        for entry in properties.entries if isinstance(properties, Mapping) else ():
            yield from _schemas(entry.value)
        if items is not None:
            yield from _schemas(items)


def _respelt(file: SourceFile, shape: Shape, entry: Entry, bad: Mismatch) -> Fix | None:
    """The fix for a field name with invalid characters, such as `built-out`: each is replaced by `_`."""
    node = entry.value
    if (
        shape.FIELDS[entry.key.text].type is not NAME
        or not isinstance(node, Scalar)
        or bad.span is not node.span
    ):
        return None
    name = _NO_WORD.sub("_", node.text.strip())
    # If a step already writes a field of that name, the rename would merge two fields.
    if not _NAME.fullmatch(name) or any(name in step.writes() for step in file.steps):
        return None
    return rename(node, name, f"write {name}")


_NO_WORD = pattern(r"\W")
_NAME = pattern(r"[A-Za-z][A-Za-z0-9_]{0,99}")


def wrong_places(file: SourceFile) -> set[int]:
    """The offsets of values with a wrong type, which other checks then skip."""
    return {bad.span.start for _, _, found in _mismatches(file) for bad in found}


def _mismatches(file: SourceFile) -> Iterator[tuple[Shape, Entry, list[Mismatch]]]:
    # A value that could not be parsed has been reported, and its type is unknown.
    seen = {problem.span.start for problem in file.problems}
    for shape in file.shapes:
        for entry in _doubtful(shape):
            found = shape.FIELDS[entry.key.text].type.mismatches(entry.value)
            # An alias repeats a value in several places; it is reported once.
            new = [bad for bad in found if bad.span.start not in seen]
            if new:
                seen.update(bad.span.start for bad in new)
                yield shape, entry, new


def _doubtful(shape: Shape) -> Iterator[Entry]:
    """The entries to check. Scalars that could be read are left out, because they are correct."""
    for entry in shape.node.entries:
        name = entry.key.text
        value = shape.values.get(name)
        if isinstance(value, (Word, Text, Literal)) and value.node is entry.value:
            continue
        # Of a duplicate key, the first entry is read.
        if name in shape.FIELDS and shape.node.entry(name) is entry:
            yield entry
