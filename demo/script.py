"""What the agents of the demo find out and write, and what the person says, by step."""

from __future__ import annotations

_PLAN = "# Goal\nLimit requests per client.\n\n# Steps\n1. Token bucket in middleware.py\n2. Tests\n"

PLANNING = {
    "ask-request": {"input": "Add rate limiting to our public API, without a new service."},
    "list-questions": [
        "Which limiter fits a service with one process?",
        "What do clients expect when they are limited?",
    ],
    "search-web": {
        "results": [{"title": "Rate limits", "url": "https://example.org/limits", "snippet": "429"}]
    },
    "answer-question": {
        "summary": "A token bucket in memory is enough; answer 429 with Retry-After.",
        "recommendations": ["Keep one bucket per API key."],
        "sources": ["https://example.org/limits"],
    },
    "draft-plan": {"response": _PLAN},
    "review-plan": {
        "blockers": [{"problem": "Buckets are never dropped.", "fix": "Expire them after an hour."}],
        "suggestions": [],
    },
    "revise-plan": {"response": f"{_PLAN}3. Drop buckets after an hour\n"},
    "review-plan@2": {"blockers": [], "suggestions": ["Name the header in the docs."]},
    "approve-plan": {"confirmed": True},
    "make-folder": {"stdout": "", "stderr": "", "exit_code": 0},
    "save-plan": {"written": True},
}
