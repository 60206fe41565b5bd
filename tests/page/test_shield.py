"""Which requests are let in: a table of probes, each refused with its status and without a word about runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.command import wfc
from tests.page.support import TOKEN, Page, serving
from tests.runtime.support import OK, Box
from wfc_runtime.page.keys import Keys
from wfc_runtime.page.shield import MOST_BYTES, POLICY

JSON = {"Content-Type": "application/json"}


def waiting(project: Box) -> tuple[str, str]:
    """A run that waits for a person, and the digest of what it asks."""
    run = project.service.start("asks")["workflow_id"]
    project.service.submit(run, "build", OK)
    return run, project.service.status(run, masked=True)["action"]["shown"]


def answer(project: Box) -> tuple[str, dict[str, Any]]:
    run, shown = waiting(project)
    return run, {"step_id": "agree", "shown": shown, "result": {"confirmed": True}, "name": "Ada"}


READS = [
    "/api/about",
    "/api/counts",
    "/api/waiting",
    "/api/runs",
    "/api/runs/x",
    "/api/runs/x/history",
    "/api/runs/x/visits",
    "/api/runs/x/journal",
    "/api/runs/x/path",
    "/api/runs/x/family",
    "/api/runs/x/state",
    "/api/runs/x/state/f",
    "/api/runs/x/picture",
    "/api/runs/x/preview?step_id=y",
    "/api/runs/x/migration",
    "/api/runs/x/picture.svg",
    "/api/runs/x/source",
    "/api/runs/x/export",
    "/api/workflows",
    "/api/workflows/asks",
    "/api/workflows/asks/picture.svg",
    "/api/workflows/asks/source",
    "/api/changes",
]
WRITES = ["answer", "cancel", "migrate", "retry"]


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Bearer a.b",
        "Bearer .",
        "Basic {key}",
        "{key}",
        "Bearer {key}x",
    ],
)
def test_without_a_valid_key_nothing_is_read(page: Page, path: str, authorization: str) -> None:
    sent = {"Authorization": authorization.format(key=page.key)} if authorization else {}
    status, _, body = page.send("GET", path, headers=sent)
    assert status == 401
    assert b"asks" not in body


@pytest.mark.parametrize("name", WRITES)
def test_without_a_key_nothing_is_changed(page: Page, project: Box, name: str) -> None:
    run, body = answer(project)
    before = project.service.history(run)
    assert page.send("POST", f"/api/runs/{run}/{name}", body, JSON)[0] == 401
    assert project.service.history(run) == before


def test_a_link_works_once(page: Page) -> None:
    assert page.post("/api/session", {"key": page.link})[0] == 401
    for wrong in (None, 1, "", "x", [], {"a": 1}, "ü", page.key):
        assert page.post("/api/session", {"key": wrong})[0] == 401


def test_no_reply_sets_a_cookie_and_a_cookie_is_not_a_key(page: Page) -> None:
    status, headers, _ = page.send(
        "GET", "/api/counts", headers={"Cookie": f"key={page.key}; token={page.key}"}
    )
    assert status == 401
    assert "set-cookie" not in headers
    assert "set-cookie" not in page.send("POST", "/api/session", {"key": "x"}, JSON)[1]


@pytest.mark.parametrize("path", ["/", "/runs", "/static/page.js", "/api/counts", "/api/session"])
@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", "127.0.0.1.evil.example:{port}",
     "127.0.0.1:{port}.evil.example", "[::1]:{port}", "0.0.0.0:{port}", "LOCALHOST.:{port}"],
)  # fmt: skip
def test_a_name_that_is_not_ours_is_refused(page: Page, path: str, host: str) -> None:
    sent = {**page.own, **JSON, "Host": host.format(port=page.port)}
    method = "POST" if path == "/api/session" else "GET"
    assert page.send(method, path, headers=sent)[0] == 421


ORIGINS = (
    "https://evil.example",
    "null",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1:{port}.evil.example",
    "http://127.0.0.1:{port}@evil.example",
    "http://localhost:{port}, https://evil.example",
    "http://evil.example:{port}",
    "file://",
)


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_request_of_another_page_is_refused(page: Page, project: Box, origin: str) -> None:
    run, body = answer(project)
    before = project.service.history(run)
    given = origin.format(port=page.port)
    assert page.post(f"/api/runs/{run}/answer", body, Origin=given)[0] == 403
    assert page.send("GET", "/api/counts", headers={**page.own, "Origin": given})[0] == 403
    assert project.service.history(run) == before


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "odd", ""])
def test_a_change_must_come_from_the_page_itself(page: Page, project: Box, site: str) -> None:
    run, body = answer(project)
    before = project.service.history(run)
    assert page.post(f"/api/runs/{run}/answer", body, Sec_Fetch_Site=site)[0] == 403
    assert project.service.history(run) == before


def test_the_page_itself_and_a_script_with_a_key_may_answer(page: Page, project: Box) -> None:
    for headers in ({"Origin": page.address, "Sec_Fetch_Site": "same-origin"}, {}):
        run, body = answer(project)
        status, reply = page.post(f"/api/runs/{run}/answer", body, **headers)
        assert (status, reply["status"]) == (200, "completed")
        [event] = [one for one in project.service.history(run)["events"] if one.get("step_id") == "agree"]
        assert (event["actor"], event["shown"]) == ("person:Ada, page", body["shown"])


@pytest.mark.parametrize(
    "kind",
    ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp",
     "text/plain; application/json", "application/json; charset=utf-7"],
)  # fmt: skip
def test_only_json_is_taken(page: Page, project: Box, kind: str) -> None:
    run, body = answer(project)
    sent = {**page.own, **({"Content-Type": kind} if kind else {})}
    assert page.send("POST", f"/api/runs/{run}/answer", body, sent)[0] == 415
    assert project.service.status(run)["status"] == "pending_action"


def test_a_large_body_is_refused_before_it_is_read(page: Page, project: Box) -> None:
    run, _ = waiting(project)
    assert (
        page.send("POST", f"/api/runs/{run}/answer", b"x" * (MOST_BYTES + 1), {**page.own, **JSON})[0] == 413
    )
    sent = {**page.own, **JSON, "Transfer-Encoding": "chunked"}
    chunk = b"%x\r\n%s\r\n" % (2**16, b" " * 2**16)
    body = chunk * (MOST_BYTES // 2**16 + 2) + b"0\r\n\r\n"
    assert page.send("POST", f"/api/runs/{run}/answer", body, sent)[0] == 413


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"x"', b"[" * 100_000, b'{"step_id": 1}', b"{}"]
)
def test_what_is_no_answer_is_refused(page: Page, project: Box, body: bytes) -> None:
    run, _ = waiting(project)
    status, _, said = page.send("POST", f"/api/runs/{run}/answer", body, {**page.own, **JSON})
    assert status == 400
    assert json.loads(said)["error"]["message"]


@pytest.mark.parametrize(
    "path", ["/", "/runs", "/runs/x", "/static/page.js", "/static/none", "/api/counts", "/none"]
)
def test_every_reply_has_the_policy(page: Page, path: str) -> None:
    for sent in ({}, page.own):
        _, headers, _ = page.send("GET", path, headers=sent)
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers.get("cache-control") == (
            "no-store" if path.startswith("/api") else headers.get("cache-control")
        )
        assert "access-control-allow-origin" not in headers


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert "*" not in POLICY
    assert "require-trusted-types-for 'script'" in POLICY


@pytest.mark.parametrize(
    "path",
    ["/static/../keys.py", "/static/..%2fkeys.py", "/static/%2e%2e/keys.py", "/static//etc/passwd", "/static/vendor",
     "/static/vendor/../../app.py", "/static/"],
)  # fmt: skip
def test_only_files_of_the_page_are_served(page: Page, path: str) -> None:
    assert page.send("GET", path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "path", ["/api/runs", "/api/runs/{run}", *(f"/api/runs/{{run}}/{one}" for one in WRITES)]
)
def test_a_read_only_page_has_no_way_to_change_anything(
    read_only: Page, project: Box, method: str, path: str
) -> None:
    run, body = answer(project)
    before = project.service.history(run)
    sent = {**read_only.own, **JSON}
    assert read_only.send(method, path.format(run=run), body, sent)[0] == 405
    assert project.service.history(run) == before
    assert read_only.get(f"/api/runs/{run}")[0] == 200
    assert read_only.get("/api/about")[1]["read_only"] is True


def test_looking_at_every_view_changes_nothing(page: Page, project: Box) -> None:
    run, _ = waiting(project)
    before = project.service.history(run)
    for view in (
        "",
        "/history",
        "/visits",
        "/journal",
        "/path",
        "/family",
        "/state",
        "/picture",
        "/source",
        "/state?at=1",
    ):
        assert page.get(f"/api/runs/{run}{view}")[0] == 200
    assert project.service.history(run) == before


def test_the_page_and_the_tools_of_a_server_are_behind_one_shield(project: Box) -> None:
    with serving(project.root, serve=True) as page:
        assert page.get("/api/counts")[0] == 200
        assert page.get("/api/counts", Authorization=f"Bearer {TOKEN}")[0] == 200
        assert page.post("/mcp", {}, Authorization=f"Bearer {page.key}")[0] == 401
        assert page.post("/mcp", {}, Host="evil.example")[0] == 421
        assert TOKEN not in page.link


def test_a_server_with_a_name_is_reached_by_it_and_by_no_other(project: Box) -> None:
    names = ("--host", "127.0.0.1", "--allow-host", "wfc.team.example", "--allow-host", "proxy.example:443")
    for serve in (True, False):
        with serving(project.root, *names, serve=serve, token=TOKEN) as page:
            allowed = [f"wfc.team.example:{page.port}", "wfc.team.example", "proxy.example:443"]
            for host in (*allowed, f"localhost:{page.port}"):
                for origin in ({}, {"Origin": f"https://{host}"} if host in allowed else {}):
                    sent = {**page.own, "Host": host, **origin}
                    assert page.send("GET", "/api/counts", headers=sent)[0] == 200, (host, origin)
            for host in ("evil.example", "proxy.example", f"proxy.example:{page.port}", "wfc.team.example:1"):
                assert page.send("GET", "/api/counts", headers={**page.own, "Host": host})[0] == 421, host
            for origin in ("https://evil.example", "https://wfc.team.example.evil.example", "null"):
                sent = {**page.own, "Host": "wfc.team.example", "Origin": origin}
                assert page.send("GET", "/api/counts", headers=sent)[0] == 403, origin
            assert page.send("GET", "/api/counts", headers={"Host": "wfc.team.example"})[0] == 401


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0"], "--host requires --allow-host"),
        (["--host", "0.0.0.0", "--allow-host", "wfc.example"], "need a token of yours in WFC_TOKEN"),
        (["--allow-host", "wfc.example"], "need a token of yours in WFC_TOKEN"),
        (["--allow-host", "*"], "is not the name of a host"),
        (["--allow-host", "http://wfc.example"], "is not the name of a host"),
        (["--allow-host", "wfc.example:"], "is not the name of a host"),
        (["--allow-host", "wfc.example/x"], "is not the name of a host"),
        (["--host", "no such address", "--allow-host", "wfc.example"], "WFC_TOKEN"),
    ],
)
@pytest.mark.parametrize("words", [["ui", "--no-open"], ["serve", "--http"]])
def test_another_address_needs_a_name_and_a_token_of_the_operator(
    project: Box, words: list[str], options: list[str], said: str
) -> None:
    found = wfc(*words, *options, cwd=project.root)
    assert said in found.err
    assert found.status != 0


def test_a_key_that_the_token_signed_is_valid_after_a_restart() -> None:
    first = Keys("secret")
    key = first.trade(first.new_link())
    assert key is not None
    assert Keys("secret").admits(f"Bearer {key}")
    assert not Keys("other").admits(f"Bearer {key}")
    assert not Keys().admits(f"Bearer {key}")
