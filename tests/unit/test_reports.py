"""Reports as agents and their clients hand them in: what is read, and what is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from tests.counting import calls_of
from wfc_runtime.reports import FORM, UnreadableReportError, read_report

FRAMED = """\
The sub-agent has finished. Its report follows.

  I looked at everything, see below.

  STATUS: success
  SUMMARY: Chose a store: SQLite (see #12 for why).
    It is simple.
  ACHIEVEMENTS:
  - Compared three stores
    in detail
  - **Wrote** the schema
  DECISIONS:
  - Question: Which store: SQLite or Postgres?
    Chosen: No
    Reasoning: |
      Simple: no server.
      Fast # really
    Options_considered: [SQLite, "Postgres, hosted"]
    Trade-offs: 12:30
  - **Question:** Tabs?
    **Chosen:** off
  ISSUES:
  - Description: API key missing
    Type: blocker
    RequiresHuman: Yes
  - Only a sentence
  MILESTONES:
    - Message: Schema done
      Progress: 80%
  FILES: src/a.py, `src/b c.py`
  LIMITATIONS: None.
  PROGRESS: ~90 %
  TOKENS_INPUT: 12,345

agentId: a1b2c3 (use SendMessage to continue this agent)
<usage>total_tokens: 123
STATUS: failed
tool_uses: 4</usage>
"""


def lean(answer: Any, criteria: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a report says, without the fields that it leaves empty."""
    report = read_report(answer, criteria)
    # Reading it once more changes nothing.
    assert read_report(report, criteria) == report
    json.dumps(report, allow_nan=False).encode()
    return {name: value for name, value in report.items() if value not in ([], {})}


def test_the_text_of_a_sub_agent_is_read_inside_the_frame_of_its_client() -> None:
    assert lean(FRAMED) == {
        "status": "success",
        "summary": "Chose a store: SQLite (see #12 for why).\nIt is simple.",
        "achievements": ["Compared three stores in detail", "**Wrote** the schema"],
        "decisions": [
            {
                "question": "Which store: SQLite or Postgres?",
                "chosen": "No",
                "reasoning": "Simple: no server.\nFast # really",
                "options_considered": ["SQLite", "Postgres, hosted"],
                "trade_offs": "12:30",
            },
            {"question": "Tabs?", "chosen": "off", "reasoning": ""},
        ],
        "issues": [
            {"description": "API key missing", "type": "blocker", "requires_human": True},
            {"description": "Only a sentence", "requires_human": False},
        ],
        "milestones": [{"message": "Schema done", "progress": 80}],
        "progress": 90,
        "files": ["src/a.py", "src/b c.py"],
        "tokens_input": 12345,
    }
    # The same without the frame, with other line ends, tabs, and control characters in it.
    inner = "\n".join(line.removeprefix("  ") for line in FRAMED.split("\n")[4:-5])
    assert lean(inner) == lean(FRAMED)
    assert lean(inner.replace("\n", "\r\n")) == lean(FRAMED)
    assert lean("\ufeff" + inner.replace("\n", "\x00\n").replace("\n  ", "\n\t")) == lean(FRAMED)
    assert lean({"response": FRAMED}) == lean(FRAMED)
    assert lean([{"type": "text", "text": FRAMED}]) == lean(FRAMED)


YAML = """\
output:
  status: partial_success
  summary: "half: done"
  decisions: [{question: Now?, chosen: No, reasoning: 'a, b'}, {question: Later?, chosen: yes}]
  issues:
    - description: >-
        It broke
        twice
      requires_human_review: no
      resolution: ~
  files_modified:
    - a.md
    - b.md
  files_created: [c.md, a.md]
  commands_executed:
  - git commit -m "a: b"
"""
PARTIAL = {
    "status": "partial",
    "summary": "half: done",
    "decisions": [
        {"question": "Now?", "chosen": "No", "reasoning": "a, b"},
        {"question": "Later?", "chosen": "yes", "reasoning": ""},
    ],
    "issues": [{"description": "It broke\ntwice", "requires_human": False, "resolution": "~"}],
    "files": ["a.md", "b.md", "c.md"],
    "commands_executed": ['git commit -m "a: b"'],
}


def indented(text: str, by: str) -> str:
    return "".join(f"{by}{line}" for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(
    "text",
    [
        YAML,
        f"```yaml\n{YAML}```",
        f"Here it is:\n\n   ~~~~ yml\n{indented(YAML, '   ')}   ~~~~\nBye.\n",
        f"- a list\n  ```\n{indented(YAML, '  ')}\n  ```\n<usage>x</usage>",
        f"```text\nSTATUS: success | partial | failed\n```\nThat was the form.\n```\n{YAML}",
        f"---\n{YAML}---\nstatus of the build: unknown",
    ],
    ids=["bare", "fence", "indented", "in a list", "second fence, never closed", "document"],
)
def test_yaml_is_read_wherever_it_stands_and_its_scalars_stay_text(text: str) -> None:
    assert lean(text) == PARTIAL


OBJECT = {
    "Status": "SUCCESS",
    "Summary": "x",
    "Decisions": [{"Question": "q", "Chosen": False, "Reason": 3}, "just a text", {"other": 1}, None, {}],
    "issues": {"description": "one", "requiresHuman": "yes"},
    "filesChanged": "a.py, b.py",
    "achievements": [1, True, None, {"a": "b"}, ["x", "y"]],
    "progress": 250,
    "tokens_output": "many",
    "unknown": {"deep": [[[]]]},
}
READ = {
    "status": "success",
    "summary": "x",
    "decisions": [
        {"question": "q", "chosen": "false", "reasoning": "3"},
        {"question": "", "chosen": "just a text", "reasoning": ""},
        {"question": "", "chosen": '{"other": 1}', "reasoning": ""},
    ],
    "issues": [{"description": "one", "requires_human": True}],
    "files": ["a.py", "b.py"],
    "achievements": ["1", "true", '{"a": "b"}', "x\ny"],
    "progress": 100,
}


def test_objects_are_read_with_other_spellings_and_under_other_keys() -> None:
    for wrapped in (
        OBJECT,
        {"output": OBJECT},
        {"result": {"report": OBJECT}},
        json.dumps(OBJECT),
        f"Done.\n```json\n{json.dumps(OBJECT, indent=2)}\n```",
        {"output": json.dumps({"text": json.dumps(OBJECT)})},
    ):
        assert lean(wrapped) == READ


STATUSES = {
    "STATUS: success": "success",
    "**STATUS:** Success.": "success",
    "**Status**: `success` ✅": "success",
    "## Status: failed": "failed",
    "## STATUS\nfailed": "failed",
    "- **Status:** partial": "partial",
    "Status : partially successful": "partial",
    "STATUS: Partial Success (2 of 3)": "partial",
    "STATUS: failed - the tests do not run": "failed",
    "STATUS: success, with one open question": "success",
    "STATUS: completed": "success",
    "STATUS: blocked": "failed",
    "status: 'success'": "success",
    "STATUS: |\n  success": "success",
    "STATUS: success\nSTATUS: success": "success",
    "STATUS: success | partial | failed\nSTATUS: partial": "partial",
    "STATUS: completed with errors": None,
    "STATUS: success, partial or failed": None,
    "STATUS: success or failed": None,
    "STATUS: success/failed": None,
    "STATUS: success\nSTATUS: failed": None,
    "STATUS: not a success": None,
    "STATUS: unsuccessful": None,
    "STATUS:": None,
    "STATUS: 200": None,
    "THE STATUS: success": None,
    "STATUSES: success": None,
    "status = success": None,
}


@pytest.mark.parametrize("line", STATUSES)
def test_a_status_is_read_if_it_says_one_thing(line: str) -> None:
    for text in (
        f"{line}\nSUMMARY: x",
        f"Words before.\n\n  {line.replace(chr(10), chr(10) + '  ')}\n  SUMMARY: x",
    ):
        try:
            found = read_report(text)["status"]
        except UnreadableReportError:
            found = None
        assert found == STATUSES[line]


REFUSED: list[Any] = [
    "",
    "All done.",
    "SUMMARY: x",
    "STATUS: success",
    "STATUS: success\nSUMMARY:",
    {"status": "success"},
    {"status": "success", "summary": "  "},
    {"status": None, "summary": "x"},
    {"status": ["success", "failed"], "summary": "x"},
    {"status": {"a": 1}, "summary": "x"},
    {"output": {"output": {}}},
    {"summary": "x"},
    {},
    [],
    [1, 2],
    None,
    True,
    7,
    [["STATUS: success"]],
    "{" * 5_000,
    "[" * 200_000,
    '{"status": "success", "summary": "x"',
    "```json\n{status: success\n```",
    FORM,
    "STATUS: failed\nSUMMARY: The first try.\n\nSTATUS: success\nSUMMARY: The second try.",
    "> STATUS: success\n> SUMMARY: It works.",
    "| STATUS | success |\n|---|---|\n| SUMMARY | It works. |",
    "The STATUS: success of the run was nice.",
    "```yaml\nstatus: &a success\nsummary: *a\n```",
    "STATUS\uff1a success\nSUMMARY\uff1a It works.",
]


@pytest.mark.parametrize("answer", REFUSED, ids=lambda answer: repr(answer)[:30])
def test_what_is_no_report_is_refused_with_the_form_to_use(answer: Any) -> None:
    with pytest.raises(UnreadableReportError) as caught:
        read_report(answer)
    assert FORM in str(caught.value)


HOSTILE = {
    "aliases": "a: &a [x, x]\nb: &b [*a, *a]\nSTATUS: success\nSUMMARY: *b\nFILES: [*a, *b]",
    "merge keys": "STATUS: success\nSUMMARY: x\n<<: *a\nDECISIONS:\n- <<: *a\n  question: q\n  chosen: c",
    "tags": "STATUS: !!python/object/apply:os.system [id]\nSTATUS: success\nSUMMARY: !!binary x",
    "deep lists": "STATUS: success\nSUMMARY: x\nDECISIONS: " + "[" * 50_000 + "]" * 50_000,
    "deep objects": "STATUS: success\nSUMMARY: x\nISSUES: " + '{"a":' * 3_000 + "1" + "}" * 3_000,
    "deep indentation": "STATUS: success\nSUMMARY: x\n" + "\n".join(" " * n + "- a" for n in range(400)),
    "halves of characters": '{"status": "success", "summary": "\\ud800 x", "evidence": {"\\udfff": "\\ud83d"}}',
    "not a number": '{"status": "success", "summary": "x", "progress": NaN, "tokens_input": 1e999}',
    "a huge number": '{"status": "success", "summary": "x", "tokens_input": ' + "9" * 4_000 + "}",
    "many fields": "STATUS: success\nSUMMARY: x\n" + "FILES: a\n" * 4_000,
    "many statuses": "STATUS: success\n" * 5_000 + "SUMMARY: x",
    "many fences": "```\nx\n```\n" * 10_000 + "STATUS: success\nSUMMARY: x",
    "many bullets": "STATUS: success\nSUMMARY: x\nACHIEVEMENTS:\n" + "- a\n" * 10_000,
    "one long line": "STATUS: success\nSUMMARY: " + "a: - * # [ { " * 20_000,
    "many spaces": "STATUS: success\nSUMMARY:" + " " * 250_000 + "x",
    "many colons": "STATUS: success\nSUMMARY: x\nEVIDENCE:" + ":" * 250_000,
    "many quotes": "STATUS: success\nSUMMARY: " + "\"'" * 120_000,
    "many ticks": "`" * 200_000 + "\nSTATUS: success\nSUMMARY: x",
    "nothing visible": "STATUS: success\nSUMMARY: x\u200b\x00\x1b[31m\x07\x85\u2028y",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_read_as_text_or_refused_and_never_expands(name: str) -> None:
    try:
        report = read_report(HOSTILE[name], ["It works."] if name == "many colons" else ())
    except UnreadableReportError:
        return
    assert read_report(report) == report
    text = json.dumps(report, ensure_ascii=False, allow_nan=False)
    assert len(text.encode()) <= 2 * len(HOSTILE[name].encode()) + 1_000
    assert not {"\x00", "\x1b"} & set(text)


@pytest.mark.parametrize(
    "part", ["- a: b\n", "FILES: a\n", "STATUS: success\n", "```\n", "[", "{a: ", "x: ", "*", " ", '"']
)
def test_the_work_grows_with_the_text(part: str) -> None:
    def work(times: int) -> int:
        text = f"STATUS: success\nSUMMARY: x\nDECISIONS:\n{part * times}"

        def read() -> None:
            with suppress(UnreadableReportError):
                read_report(text)

        return calls_of(read)

    assert work(1_600) < 12 * work(200)


WORKS = {"status": "success", "summary": "It works."}
FRAME = "The agent says:\n\n{}\n\nagentId: a1 (use SendMessage)\n<usage>total_tokens: 9</usage>"
BLOCKER = {"description": "Who pays?", "requires_human": True}
ODD: dict[str, tuple[str, dict[str, Any]]] = {
    "carriage returns": ("STATUS: success\r\nSUMMARY: It works.\r\n", WORKS),
    "tabs": (
        "STATUS:\tsuccess\nSUMMARY:\tIt works.\nISSUES:\n-\tDescription: Who pays?\n\tRequires_human: yes",
        {**WORKS, "issues": [BLOCKER]},
    ),
    "bold names and numbers": (
        "**STATUS:** success\n\n**SUMMARY:** It works.\n\n**ISSUES:**\n\n1. **Description:** Who pays?\n"
        "   **Requires_human:** yes\n",
        {**WORKS, "issues": [BLOCKER]},
    ),
    "headings": ("## Status\nsuccess\n\n## Summary\nIt works.\n", WORKS),
    "a word of joy": ("STATUS: \u2705 success\nSUMMARY: It works.", WORKS),
    "a qualified success": ("STATUS: success (two tests were skipped)\nSUMMARY: It works.", WORKS),
    "hard spaces": ("\ufeffSTATUS:\u00a0success\nSUMMARY:\u202fIt works.", WORKS),
    "an object and usage lines": (FRAME.format('{"status": "success", "summary": "It works."}'), WORKS),
    "an indented object of several lines": (
        FRAME.format(
            '  {\n    "output": {\n      "status": "success",\n      "summary": "It works."\n    }\n  }'
        ),
        WORKS,
    ),
    "braces before it": ("{ not an object\n{}\nSTATUS: success\nSUMMARY: It works.", WORKS),
    "an object in an object": (json.dumps({"output": json.dumps(WORKS)}), WORKS),
    "the form before it": (
        "STATUS: success, partial or failed\nSUMMARY: ...\n\nMy report:\nSTATUS: success\nSUMMARY: It works.",
        WORKS,
    ),
    "an old report in a quotation": (
        "> STATUS: failed\n> SUMMARY: x\n\nSTATUS: success\nSUMMARY: It works.",
        WORKS,
    ),
    "a status inside the summary": (
        "STATUS: partial\nSUMMARY: It prints\n  STATUS: success\n  which is wrong.",
        {"status": "partial", "summary": "It prints\nSTATUS: success\nwhich is wrong."},
    ),
    "nothing, in many words": (
        "STATUS: success\nSUMMARY: It works.\nISSUES: None.\nBLOCKERS: none\nDECISIONS: N/A\nFILES: -",
        WORKS,
    ),
    "a block of text as evidence": (
        "STATUS: success\nSUMMARY: It works.\nEVIDENCE:\n  tests: |\n    ```\n    12 passed\n    ```\n  docs: README",
        {**WORKS, "evidence": {"tests": "12 passed", "docs": "README"}},
    ),
    "odd paths": (
        "STATUS: success\nSUMMARY: It works.\nFILES:\n- C:\\a\\b.py\n- 'src/a: b.py'\n- src/#1.py",
        {**WORKS, "files": ["C:\\a\\b.py", "src/a: b.py", "src/#1.py"]},
    ),
    "times, dates and countries": (
        "status: success\nsummary: It works.\ndecisions:\n- {question: Where, chosen: NO}\n"
        "- {question: When, chosen: 12:30}\n- question: Day\n  chosen: 2026-01-01",
        {
            **WORKS,
            "decisions": [
                {"question": "Where", "chosen": "NO", "reasoning": ""},
                {"question": "When", "chosen": "12:30", "reasoning": ""},
                {"question": "Day", "chosen": "2026-01-01", "reasoning": ""},
            ],
        },
    ),
    "tags around it": ("<report>\nSTATUS: success\nSUMMARY: It works.\n</report>", WORKS),
    "a log with a status in a fence": (
        "STATUS: success\nSUMMARY: It works.\n```text\nSTATUS: failed\n```\nFILES:\n- a.py",
        {"status": "success", "summary": "It works.\nSTATUS: failed", "files": ["a.py"]},
    ),
    "a carriage return for each line": (
        "STATUS: success\rSUMMARY: It works.\rFILES:\r- a.py\r",
        {**WORKS, "files": ["a.py"]},
    ),
    "a frame of tabs": (FRAME.format("\tSTATUS: success\n\tSUMMARY: It works."), WORKS),
    "usage lines without a frame": (
        "STATUS: success\nSUMMARY: It works.\nagentId: a9\n<usage>9</usage>",
        WORKS,
    ),
    "a list in a list": (
        "STATUS: success\nSUMMARY: It works.\nACHIEVEMENTS:\n- outer\n  - inner\n- second",
        {**WORKS, "achievements": ["outer - inner", "second"]},
    ),
    "the words of another language": ("{'status': 'success', 'summary': 'It works.'}", WORKS),
    "a comma too many": ('```json\n{"status": "success", "summary": "It works.",}\n```', WORKS),
    "a rhetorical no and a loud yes": (
        "STATUS: success\nSUMMARY: It works.\nISSUES:\n- Description: Who pays?\n  RequiresHuman: Yes!\n"
        "- Description: Slow\n  Requires_human: no, but soon",
        {**WORKS, "issues": [BLOCKER, {"description": "Slow", "requires_human": False}]},
    ),
    "colons everywhere": (
        "STATUS: success\nSUMMARY: It works.\nDECISIONS:\n- Question: http://a:80/x?\n"
        "  Chosen: a: b\n  Reasoning: 'c: d'",
        {**WORKS, "decisions": [{"question": "http://a:80/x?", "chosen": "a: b", "reasoning": "c: d"}]},
    ),
    "a section of blockers": (
        "STATUS: partial\nSUMMARY: Half.\nISSUES:\n- Slow\nBLOCKERS:\n- Who pays?\n"
        "- Description: Where?\n  Requires_human: no\n",
        {
            "status": "partial",
            "summary": "Half.",
            "issues": [
                {"description": "Slow", "requires_human": False},
                BLOCKER,
                {"description": "Where?", "requires_human": False},
            ],
        },
    ),
    "a person for the whole report": (
        "STATUS: success\nSUMMARY: It works.\nREQUIRES_HUMAN: yes\nISSUES:\n- Description: Old\n  Resolution: done\n"
        "- Who pays?\nFILES: a.py",
        {
            **WORKS,
            "issues": [{"description": "Old", "requires_human": False, "resolution": "done"}, BLOCKER],
            "files": ["a.py"],
        },
    ),
    "a person and no issue": (
        "```yaml\nstatus: success\nsummary: It works.\nrequires_human_review: true\n```",
        {**WORKS, "issues": [{"description": "It works.", "requires_human": True}]},
    ),
    "a person in one of the issues, without an indentation": (
        "STATUS: success\nSUMMARY: It works.\nISSUES:\n- Description: Slow\n- Description: Who pays?\n"
        "Requires_human: yes",
        {**WORKS, "issues": [{"description": "Slow", "requires_human": False}, BLOCKER]},
    ),
    "no person": ("STATUS: success\nSUMMARY: It works.\nREQUIRES_HUMAN: no", WORKS),
    "thousands in short": (
        "STATUS: success\nSUMMARY: It works.\nTOKENS_INPUT: ~12.5k\nTOKENS_OUTPUT: 3 km",
        {**WORKS, "tokens_input": 12500, "tokens_output": 3},
    ),
    "a null character": ("STATUS: success\0\nSUMMARY: It works.", WORKS),
    "thoughts before it": ("<thinking>STATUS: failed</thinking>\nSTATUS: success\nSUMMARY: It works.", WORKS),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_text_is_read_as_its_author_meant_it(name: str) -> None:
    text, found = ODD[name]
    assert lean(text) == found


CRITERIA = ("The tests pass.", "Docs: written", "It is fast")


@pytest.mark.parametrize(
    "evidence",
    [
        {"The tests pass.": "ran", "Docs: written": "see README", "It is fast": "0.1 s"},
        {"the TESTS pass": "ran", "docs written": "see README", "It is fast!": "0.1 s"},
        {"1": "ran", "2": "see README", "criterion 3": "0.1 s"},
        ["The tests pass.: ran", "Docs: written: see README", "It is fast: 0.1 s"],
        [
            {"criterion": "The tests pass.", "evidence": "ran"},
            {"Docs: written": "see README"},
            {"It is fast": "0.1 s"},
        ],
        "- The tests pass.: ran\n- docs: written: see\n  README\n- **It is fast**: 0.1 s",
        "The tests pass.: ran\nDocs: written: see README\nIt is fast: 0.1 s",
        "- 'The tests pass.': ran\n- \"Docs: written\": see README\n- **It is fast:** 0.1 s",
        "1. ran\n",
    ],
)
def test_there_must_be_evidence_for_each_criterion(evidence: Any) -> None:
    answer = {"status": "success", "summary": "x", "evidence": evidence}
    if evidence == "1. ran\n":
        with pytest.raises(
            UnreadableReportError, match=r"no evidence for: The tests pass\.; Docs: written; It is fast"
        ):
            read_report(answer, CRITERIA)
        return
    found = {"The tests pass.": "ran", "Docs: written": "see README", "It is fast": "0.1 s"}
    assert lean(answer, CRITERIA)["evidence"] == found
    if isinstance(evidence, str):
        assert lean(f"STATUS: success\nSUMMARY: x\nEVIDENCE:\n{evidence}", CRITERIA)["evidence"] == found


def test_a_refusal_for_lack_of_evidence_names_the_criteria_that_lack_it() -> None:
    answer = "STATUS: success\nSUMMARY: x\nEVIDENCE:\n- It is fast: 0.1 s\n- Docs: written: n/a\n"
    with pytest.raises(UnreadableReportError) as caught:
        read_report(answer, CRITERIA)
    assert str(caught.value).startswith(
        "there is no evidence for: The tests pass.; Docs: written. Use this form"
    )
    assert "EVIDENCE:\n- The tests pass.: ..." in str(caught.value)
