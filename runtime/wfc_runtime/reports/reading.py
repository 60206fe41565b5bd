"""Reading a report: from an object or a text to the names and types of the contract. Repeating it changes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from wfc_runtime.contract import DEFAULTS, Json, Report
from wfc_runtime.reports.fields import FIELDS, FORM, SAID, WRAPPERS, Kind, spelled, status_of
from wfc_runtime.reports.text import (
    Pairs,
    fields_in,
    fields_of_report,
    items_of,
    records_of,
    says_nothing,
    unquoted,
    value_of,
)

_YES = frozenset({"yes", "true", "y", "1", "on", "required"})
_DEEPEST = 8
_MOST = 10**15
_NUMBER = re.compile(r"\W*(\d[\d,_]{0,15}(?:\.\d{1,6})?)(?: ?([kKmM])\b)?", re.ASCII)
_TIMES = {"k": 1000, "m": 1_000_000}
_QUOTES = "*`\"'"
_BLOCK_SCALAR = re.compile(r":[ ]*[|>][+-]?[ ]*(?=\n)")
_SURROGATES = re.compile("[\ud800-\udfff]")


class UnreadableReportError(Exception):
    """The answer is not a report. The message says why, and shows the form to use."""

    def __init__(self, why: str, criteria: Sequence[str] = ()) -> None:
        evidence = ["", "EVIDENCE:", *(f"- {one}: ..." for one in criteria)] if criteria else []
        super().__init__(f"{why}. Use this form:\n{FORM}" + "\n".join(evidence))


def read_report(answer: Json, criteria: Sequence[str] = ()) -> dict[str, Json]:
    """The report in an answer. Raises `UnreadableReportError`.

    `criteria`: what there must be evidence for.
    """
    given = _object_in(answer, 0)
    if given is None:
        what = "the text has no STATUS line" if isinstance(answer, str) else "the object has no `status`"
        raise UnreadableReportError(
            what if isinstance(answer, (str, dict)) else "this is not a report", criteria
        )
    report = _with_person(_typed(given, SAID, criteria))
    said = str(report.get("status", ""))
    status = status_of(said)
    if status is None:
        raise UnreadableReportError(f"the status is {said[:60]!r}", criteria)
    if not report.get("summary"):
        raise UnreadableReportError("there is no summary", criteria)
    evidence = report.get("evidence", {})
    lacking = [one for one in criteria if not evidence.get(one)]
    if lacking:
        raise UnreadableReportError(f"there is no evidence for: {'; '.join(lacking)}", criteria)
    empty = {name: type(value)() for name, value in DEFAULTS[Report].items() if name not in report}
    report |= {"status": status, **empty}
    return {name: report[name] for name in FIELDS if name in report}


def _with_person(report: dict[str, Json]) -> dict[str, Json]:
    """The report with blockers as issues. If it needs a person and no issue says so, all open ones do, or else the
    report itself is one."""
    issues = [*report.pop("issues", []), *report.pop("blockers", [])]
    if report.pop("requires_human", False) and not any(one["requires_human"] for one in issues):
        waiting = [one for one in issues if not one.get("resolution")]
        if not waiting:
            issues.append({"description": str(report.get("summary", "")), "requires_human": True})
        for one in waiting:
            one["requires_human"] = True
    return {**report, "issues": issues} if issues else report


def _object_in(answer: Json, depth: int) -> Pairs | None:
    """The fields of a report. It may be wrapped, or be in a text."""
    if depth > _DEEPEST:
        return None
    if isinstance(answer, str):
        whole = value_of(answer)
        if isinstance(whole, (dict, list)):
            return _object_in(whole, depth + 1)
        found = [_inside(one, depth) for one in fields_of_report(answer)]
        known = [one for one in found if one is not None]
        # A block that has only a part of the form, such as the form itself, is not a report.
        return max(known, key=_completeness, default=None)
    if isinstance(answer, list):
        # The content blocks of a message.
        texts = [one["text"] for one in answer if isinstance(one, dict) and isinstance(one.get("text"), str)]
        return _object_in("\n".join(texts), depth + 1) if texts else None
    return _inside(list(answer.items()), depth) if isinstance(answer, dict) else None


def _inside(pairs: Pairs, depth: int) -> Pairs | None:
    """The fields themselves if a status is among them; otherwise those of the report that one of them has."""
    if any(spelled(str(key), FIELDS) == "status" for key, _ in pairs):
        return pairs
    wrapped = (value for key, value in pairs if str(key).strip().lower() in WRAPPERS)
    inside = (_object_in(value, depth + 1) for value in wrapped)
    return next((one for one in inside if one is not None), None)


def _completeness(report: Pairs) -> int:
    """The number of required parts that it has: of two complete reports, the first one counts."""
    said = [(spelled(str(key), FIELDS), _text(value)) for key, value in report]
    has_status = any(name == "status" and status_of(text) for name, text in said)
    return 2 * has_status + any(name == "summary" and text for name, text in said)


def _typed(given: Pairs, fields: Mapping[str, Kind], criteria: Sequence[str]) -> dict[str, Json]:
    """An object with the names and types of its fields. Of a field that is given twice, lists are joined."""
    found: dict[str, list[Json]] = {}
    for key, value in given:
        name = spelled(str(key), fields)
        read = None if name is None or value is None else _read(value, fields[name], criteria)
        if name is not None and read is not None:
            found.setdefault(name, []).append(read)
    return {name: _joined(values) for name, values in found.items()}


def _joined(values: list[Json]) -> Json:
    if len(values) == 1:
        return values[0]
    if isinstance(values[0], list):
        return list({json.dumps(one): one for value in values for one in value}.values())
    if isinstance(values[0], dict):
        return {key: one for value in reversed(values) for key, one in value.items()}
    return next(filter(None, values), values[0])


def _read(value: Json, kind: Kind, criteria: Sequence[str]) -> Json:
    match kind.reading:
        case "flag":
            return _is_yes(value)
        case "number" | "percent":
            return _number(value, 100 if kind.reading == "percent" else _MOST)
        case "texts" | "names":
            return _texts(value, kind.reading == "names")
        case "records":
            return _records(value, kind)
        case "evidence":
            return _evidence(value, criteria)
    return _text(value)


# Scalars.


def _text(value: Json) -> str:
    """A value as text. JSON in a text can contain what no text may: halves of characters."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        text = "\n".join(value)
    else:
        text = "" if value is None else json.dumps(value, ensure_ascii=False)
    return _SURROGATES.sub("\ufffd", text).strip()


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.split("\n")).strip()


def _is_yes(value: Json) -> bool:
    words = re.findall(r"\w+", value[:40].lower()) if isinstance(value, str) else []
    return bool(words) and words[0] in _YES if isinstance(value, str) else value is True or value == 1


def _number(value: Json, most: int) -> Json:
    """A non-negative number; None, which is left out, for a text without a number."""
    if isinstance(value, str):
        found = _NUMBER.match(value[:60])
        text = found[1].replace(",", "").replace("_", "") if found else ""
        value = (float(text) if "." in text else int(text)) if text else None
        if found and found[2] and value is not None:
            value = round(value * _TIMES[found[2].lower()])
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return None
    return min(max(value, 0), most)


# Lists.


def _texts(value: Json, commas: bool) -> list[str]:
    if isinstance(value, str):
        if says_nothing(value):
            return []
        listed = value_of(value)
        if listed is not None:
            return _texts(listed, commas)
        found = [unquoted(_one_line(item)) for item in items_of(value)]
        if commas:
            found = [part.strip().strip("`") for one in found for part in one.split(",")]
        return [_text(one) for one in found if not says_nothing(one)]
    if isinstance(value, Mapping):
        return [f"{_text(key)}: {_text(one)}" for key, one in value.items()]
    return [text for one in (value if isinstance(value, list) else [value]) if (text := _text(one))]


def _records(value: Json, kind: Kind) -> list[Json]:
    if isinstance(value, str):
        listed = value_of(value)
        value = listed if listed is not None else [] if says_nothing(value) else records_of(value, kind)
    given = value if isinstance(value, list) else [value]
    found = [_record(one, kind) for one in given]
    return [{**kind.empty, **one} for one in found if any(one.values())]


def _record(value: Json, kind: Kind) -> dict[str, Json]:
    if isinstance(value, str):
        inside = value_of(value)
        value = inside if isinstance(inside, Mapping) else fields_in(value, kind) or value
    if isinstance(value, Mapping):
        read = _typed(list(value.items()), kind.fields, ())
        # An object with other keys says something too.
        return read or ({kind.main: _text(dict(value))} if value else {})
    text = _text(value)
    return {} if says_nothing(text) else {kind.main: text}


# Evidence: by criterion.


def _evidence(value: Json, criteria: Sequence[str]) -> dict[str, Json]:
    if isinstance(value, str):
        value = value_of(value) or items_of(value)
    given = value if isinstance(value, list) else [value]
    found: dict[str, Json] = {}
    for key, said in (pair for one in given for pair in _pairs(one, criteria)):
        name, text = _criterion(key, criteria), _text(said)
        if text and not says_nothing(text):
            found[name] = f"{found[name]}\n{text}" if name in found else text
    return found


def _pairs(one: Json, criteria: Sequence[str]) -> Iterator[tuple[str, Json]]:
    """One entry: `{criterion, evidence}`, `{<criterion>: <evidence>}`, or a text with a colon."""
    if isinstance(one, Mapping):
        known = {str(key).strip().lower(): value for key, value in one.items()}
        if "criterion" in known and len(known) > 1:
            rest = [_text(value) for key, value in known.items() if key != "criterion"]
            yield _text(known["criterion"]), "\n".join(rest)
        else:
            yield from ((str(key), value) for key, value in one.items())
    elif isinstance(one, str):
        text = _one_line(_BLOCK_SCALAR.sub(":", one, count=1))
        # A criterion may contain a colon itself, and be quoted because of it.
        bare = text.lstrip(_QUOTES)
        named = [name for name in criteria if bare.casefold().startswith(name.casefold())]
        for name in sorted(named, key=len, reverse=True):
            behind = bare[len(name) :].lstrip(f"{_QUOTES} ")
            if behind.startswith(":"):
                yield name, behind[1:].removeprefix("**").strip()
                return
        key, _, said = text.partition(":")
        yield key, said.strip()


def _criterion(key: str, criteria: Sequence[str]) -> str:
    """The criterion that a key names: by its words, by its number, or the key itself."""
    said = _folded(key)
    digits = said.removeprefix("criterion").strip()
    by_number = int(digits) - 1 if digits.isdecimal() and len(digits) < 4 else -1
    named = [one for number, one in enumerate(criteria) if _folded(one) == said or number == by_number]
    return named[0] if named else _text(key).strip(f"{_QUOTES} ")


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
