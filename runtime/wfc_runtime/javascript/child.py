"""A process that evaluates one expression, for `engine`: the engine's time limit counts only its own work here."""

from __future__ import annotations

import json
import sys

from wfc_runtime.expr.errors import ExpressionError
from wfc_runtime.javascript.engine import Context, EngineLimits, Job, LimitReachedError, placed


def main() -> None:
    source, names, scope, mode, at, seed, hidden, limits = json.load(sys.stdin)
    job = Job(source, tuple(names), scope, mode, at, seed, tuple(hidden), EngineLimits(*limits))
    try:
        answer: dict[str, object] = {"result": Context().run(job, job.limits.seconds)}
    except LimitReachedError as error:
        answer = _failure(placed(job, str(error), "limit", error.place))
    except ExpressionError as error:
        answer = _failure(error)
    json.dump(answer, sys.stdout)


def _failure(error: ExpressionError) -> dict[str, object]:
    return {"message": error.message, "reason": error.reason, "place": [error.start, error.end]}


if __name__ == "__main__":
    main()
