"""`edit_file`: a file changed by a list of operations, all of them or none.

SECURITY. The file needs both grants, for reading and for writing, and so does its backup for writing. Patterns run in
the metered engine of expressions, in which no pattern can backtrack without bound.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from datetime import UTC, datetime

from wfc_runtime.contract import Json
from wfc_runtime.execute import paths
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result, shortened
from wfc_runtime.execute.files import check_encoding, encode
from wfc_runtime.execute.paths import file_refusal, locate_for, located
from wfc_runtime.execute.permissions import Grant
from wfc_runtime.expr import TEXT_LIMITS, ExpressionError, evaluate

_MOST_OPERATIONS = 1_000
_MOST_COMPARED = 4_000_000
_MOST_SHOWN = 64 * 1024
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+\d+(?:,\d+)? @@")


def _edit_file(job: Job) -> Result:
    parameters = job.parameters
    encoding = parameters.text("encoding", "utf-8")
    check_encoding(encoding)
    operations = parameters.value("operations")
    if not isinstance(operations, list) or len(operations) > _MOST_OPERATIONS:
        raise ExecutionError(f"`operations` must be a list of at most {_MOST_OPERATIONS:,} operations")
    with located(job, "path", "read", "write") as place:
        data = paths.read(place, job.grant.file_bytes)
        if data is None and not parameters.flag("create_if_missing", False):
            raise ExecutionError(f"there is no file {place}")
        try:
            # Operations count lines, and should not depend on the line ends of the file.
            before = (data or b"").decode(encoding).replace("\r\n", "\n")
        except UnicodeError as error:
            raise ExecutionError(f"{place} is not text in {encoding}: {error}") from None
        is_atomic = parameters.flag("atomic", True)
        after, applied, errors = _applied(before, operations, is_atomic, job.grant.file_bytes)
        diff = _diff(before.splitlines(), after.splitlines())
        added, removed = (sum(1 for line in diff[2:] if line.startswith(sign)) for sign in "+-")
        backup = None
        # Written only if something changed, so an edit that does nothing touches no file and makes no backup.
        if after != before and not parameters.flag("dry_run", False):
            written = encode(after, encoding)
            if len(written) > job.grant.file_bytes:
                limit = f"the limit is {job.grant.file_bytes:,}"
                raise ExecutionError(f"{place} would have {len(written):,} bytes; {limit}")
            if data is not None and parameters.flag("backup", True):
                kept = locate_for(job.grant, f"{place}.bak", "write")
                # The original bytes, not the text: a backup must restore the file exactly.
                paths.write(kept, data, mode=None, overwrite=True, create_parents=False)
                backup = str(kept)
            paths.write(place, written, mode=None, overwrite=True, create_parents=True)
    return {
        "path": str(place),
        "operations_applied": applied,
        "lines_added": added,
        "lines_removed": removed,
        "lines_modified": min(added, removed),
        "diff": _shown(diff),
        "backup_path": backup,
        "errors": errors,
        "success": not errors,
    }


def _diff(before: list[str], after: list[str]) -> list[str]:
    """A unified diff. Where many lines changed, all lines between the first and the last change count as changed."""
    most = min(len(before), len(after))
    first = next((at for at in range(most) if before[at] != after[at]), most)
    rest = range(1, most - first + 1)
    last = next((at for at in rest if before[-at] != after[-at]), most - first + 1) - 1
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    if len(old) * len(new) <= _MOST_COMPARED:
        return list(difflib.unified_diff(before, after, "before", "after", lineterm=""))
    # The library's time grows with the product of both numbers.
    hunk = f"@@ -{first + 1},{len(old)} +{first + 1},{len(new)} @@"
    return ["--- before", "+++ after", hunk, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]


def _shown(diff: list[str]) -> str:
    """A diff up to the size that a result can have: the file is written already, so that the step must not fail."""
    size = 0
    for at, line in enumerate(diff):
        size += len(line.encode(errors="replace")) + 1
        if size > _MOST_SHOWN:
            return "\n".join([*diff[:at], f"... {len(diff) - at:,} more lines"])
    return "\n".join(diff)


def _applied(text: str, operations: list[Json], is_atomic: bool, limit: int) -> tuple[str, int, list[str]]:
    """The text after the operations. One that fails ends the action, or is only listed if it is not atomic.

    No operation may produce more than `limit` characters: a few replacements can multiply a text without limit.
    """
    applied, errors = 0, []
    for number, given in enumerate(operations, 1):
        try:
            if not isinstance(given, dict):
                raise ExecutionError("an operation must be an object with a `type`")
            operation = Parameters(given)
            kind = operation.text("type")
            if kind not in _OPERATIONS:
                known = ", ".join(_OPERATIONS)
                raise ExecutionError(f"there is no operation {shortened(kind, 40)!r}: there are {known}")
            if kind == "replace_text":
                # Checked before the replacement is made: a text may grow beyond memory in one operation.
                _check_growth(text, operation, limit)
            made = _OPERATIONS[kind](text, operation)
            if len(made) > limit:
                raise ExecutionError(f"the text would have {len(made):,} characters; the limit is {limit:,}")
            text = made
            applied += 1
        except ExecutionError as error:
            message = f"operation {number}: {error.message}"
            if is_atomic:
                raise ExecutionError(message, error.code, error.hint) from None
            errors.append(message)
    return text, applied, errors


def _check_growth(text: str, operation: Parameters, limit: int) -> None:
    old, new = operation.text("old_text"), operation.text("new_text", "")
    size = len(text) + (text.count(old) if old else 0) * max(len(new) - len(old), 0)
    if size > limit:
        raise ExecutionError(f"the text would have up to {size:,} characters; the limit is {limit:,}")


def _replace_text(text: str, operation: Parameters) -> str:
    old = operation.text("old_text")
    if not old or old not in text:
        raise ExecutionError(f"the file does not contain {shortened(old, 60)!r}")
    return text.replace(old, operation.text("new_text", ""), _count(operation) or -1)


def _count(operation: Parameters) -> int:
    """How many places are changed at most; 0 for all of them, which may also be written as -1."""
    is_all = "count" in operation and str(operation.value("count")) == "-1"
    return 0 if is_all else int(operation.number("count", 0))


def _replace_lines(text: str, operation: Parameters) -> str:
    lines = text.splitlines(keepends=True)
    start, end = _range(operation, len(lines))
    lines[start:end] = _lines_of(operation)
    return "".join(lines)


def _insert_lines(text: str, operation: Parameters) -> str:
    lines = text.splitlines(keepends=True)
    at = int(operation.number("line_start", -1 if "line_start" in operation else 0)) - 1
    if not 0 <= at <= len(lines):
        raise ExecutionError(f"`line_start` must be from 1 to {len(lines) + 1:,}")
    # Without this, the inserted text would continue the last line.
    if at == len(lines) and lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    lines[at:at] = _lines_of(operation)
    return "".join(lines)


def _delete_lines(text: str, operation: Parameters) -> str:
    lines = text.splitlines(keepends=True)
    start, end = _range(operation, len(lines))
    del lines[start:end]
    return "".join(lines)


def _regex_replace(text: str, operation: Parameters) -> str:
    flags = operation.value("flags") if "flags" in operation else []
    if flags:
        raise ExecutionError("`flags` are written in the pattern: (?i), (?m), (?s)")
    names = {
        "text": text,
        "pattern": operation.text("pattern"),
        "replacement": operation.text("replacement", ""),
        "count": _count(operation),
    }
    try:
        found = evaluate(
            "{{ text | regex_replace(pattern, replacement, count) }}",
            names,
            now=datetime.now(UTC),
            uuid_seed="edit",
            limits=TEXT_LIMITS,
        )
    except ExpressionError as error:
        raise ExecutionError(f"the pattern can't be applied: {error.message}") from None
    return str(found)


def _patch(text: str, operation: Parameters) -> str:
    """Apply a unified diff. Its context must be in the file exactly, at the lines that it names."""
    # `@@ -0,0` is how a diff names the beginning of an empty file.
    lines, made, at = text.splitlines(), [], 0
    # Hunks must be in order: going back would apply a hunk to lines that were already copied.
    hunk = False
    for line in operation.text("patch").splitlines():
        found = _HUNK.match(line)
        if found:
            # Some tools strip the space of an empty context line.
            start = max(int(found[1]) - 1, 0)
            if not at <= start <= len(lines):
                raise ExecutionError(f"the patch names line {start + 1:,}, and the file has {len(lines):,}")
            made += lines[at:start]
            at, hunk = start, True
        elif hunk and (line.startswith((" ", "-")) or not line):
            if at >= len(lines) or lines[at] != line[1:]:
                raise ExecutionError(f"the patch does not fit at line {at + 1:,}: {shortened(line, 60)!r}")
            made += [lines[at]] if not line.startswith("-") else []
            at += 1
        elif hunk and line.startswith("+"):
            made.append(line[1:])
    if not hunk:
        raise ExecutionError("the patch has no hunk (`@@ -1,2 +1,2 @@`)")
    made += lines[at:]
    return "\n".join(made) + ("\n" if text.endswith("\n") or not text else "")


def _range(operation: Parameters, count: int) -> tuple[int, int]:
    start = int(operation.number("line_start", 0))
    end = int(operation.number("line_end", start))
    if not 1 <= start <= end <= count:
        raise ExecutionError(f"lines {start:,} to {end:,} are not in the file, which has {count:,}")
    return start - 1, end


def _lines_of(operation: Parameters) -> list[str]:
    content = operation.text("content", "")
    return [f"{line}\n" for line in content.splitlines()]


_OPERATIONS: dict[str, Callable[[str, Parameters], str]] = {
    "replace_text": _replace_text,
    "replace_lines": _replace_lines,
    "insert_lines": _insert_lines,
    "delete_lines": _delete_lines,
    "regex_replace": _regex_replace,
    "patch": _patch,
}


def _refusal(parameters: Parameters, grant: Grant) -> str:
    return file_refusal(parameters, grant, "path", "read", "write")


EDIT_FILE = Executor("edit_file", _edit_file, _refusal)
