"""Requests of the server: to hosts that are granted, at the address that is connected to, and within limits."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from wfc_runtime.execute import Grant, can_execute, execute
from wfc_runtime.execute.hosts import NoHostError, address_refusal, check_host, url_refusal


class Echo(BaseHTTPRequestHandler):
    """Answers with what it got; some paths redirect, send too much, or never end."""

    protocol_version = "HTTP/1.1"
    elsewhere = ""
    seen: list[str]

    def log_message(self, *words: Any) -> None:
        pass

    def _answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length).decode()
        Echo.seen.append(f"{self.command} {self.path}")
        what, _, rest = self.path.lstrip("/").partition("/")
        match what:
            case "to":
                self._send(302, "", {"Location": rest})
            case "keep":
                self._send(307, "", {"Location": rest})
            case "elsewhere":
                self._send(302, "", {"Location": Echo.elsewhere})
            case "status":
                self._send(int(rest), "no")
            case "large":
                self._send(200, "x" * 200_000)
            case "headers":
                self._send(200, "", {f"X-{number}": "y" * 900 for number in range(30)})
            case "cut":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf")
                self.close_connection = True
            case "gzip":
                self._send(200, "not", {"Content-Encoding": "gzip"})
            case "charset":
                self._send(200, "text", {"Content-Type": f"text/plain; charset={rest}"})
            case "nan":
                self._send(200, '{"a": NaN}', {"Content-Type": "application/json"})
            case "drip":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while not self.server.ended.wait(0.05):  # type: ignore[attr-defined]
                    self.wfile.write(b"X")
            case _:
                said = {"method": self.command, "headers": dict(self.headers.items()), "body": body}
                self._send(200, json.dumps(said), {"Content-Type": "application/json; charset=utf-8"})

    def _send(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer  # noqa: N815


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.daemon_threads = True
    server.handle_error = lambda request, address: None  # type: ignore[method-assign]
    server.ended = threading.Event()  # type: ignore[attr-defined]
    Echo.seen = []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server.server_port
    server.ended.set()  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()


def call(tmp_path: Path, *granted: str, env: tuple[str, ...] = (), **parameters: Any) -> dict[str, Any]:
    grant = Grant(tmp_path, http=granted, env=env)
    return execute({"type": "http_call", "parameters": parameters}, grant)


def refused(result: dict[str, Any]) -> bool:
    return set(result) == {"error"}


def test_a_request_is_made_and_every_status_is_data(tmp_path: Path, port: int) -> None:
    host = f"127.0.0.1:{port}"
    found = call(
        tmp_path,
        host,
        url=f"http://{host}/a?b=c",
        method="post",
        headers={"X-One": "1", "accept-encoding": "gzip"},
        json={"a": [1]},
    )
    assert (found["status_code"], found["success"], found["url"]) == (200, True, f"http://{host}/a?b=c")
    echoed = found["response_json"]
    assert (echoed["method"], json.loads(echoed["body"])) == ("POST", {"a": [1]})
    assert echoed["headers"]["X-One"] == "1"
    assert echoed["headers"]["Content-Type"] == "application/json"
    assert echoed["headers"]["Accept-Encoding"] == "identity"
    assert found["headers"]["content-type"].startswith("application/json")
    missing = call(tmp_path, host, url=f"http://{host}/status/404")
    assert (missing["status_code"], missing["success"], missing["response_body"]) == (404, False, "no")
    assert call(tmp_path, host, url=f"http://{host}/nan")["response_json"] is None


@pytest.mark.parametrize(
    ("granted", "url", "is_covered"),
    [
        ("api.example.com", "https://api.example.com/x", True),
        ("api.example.com", "https://API.example.com./x", True),
        ("api.example.com", "http://api.example.com/x", True),
        ("api.example.com", "https://api.example.com:8443/", False),
        ("api.example.com:8443", "https://api.example.com:8443/", True),
        ("api.example.com:8443", "https://api.example.com/", False),
        ("api.example.com", "https://api.example.com.evil.org/", False),
        ("api.example.com", "https://evil.org/api.example.com", False),
        ("api.example.com", "https://xapi.example.com/", False),
        ("*.example.com", "https://a.b.example.com/", True),
        ("*.example.com", "https://example.com/", False),
        ("*.example.com", "https://badexample.com/", False),
        ("10.0.0.0/8", "http://10.2.3.4/", True),
        ("10.0.0.0/8", "http://11.2.3.4/", False),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/", True),
        ("127.0.0.1", "http://2130706433/", False),
        ("127.0.0.1", "http://127.1/", False),
        ("[::1]:80", "http://[::1]/", True),
    ],
)
def test_a_host_is_compared_whole(granted: str, url: str, is_covered: bool) -> None:
    action = {"type": "http_call", "parameters": {"url": url}}
    assert can_execute(action, Grant(Path("/"), http=(granted,))) is is_covered


def test_any_command_is_no_grant_for_requests(tmp_path: Path, port: int) -> None:
    action = {"type": "http_call", "parameters": {"url": f"http://127.0.0.1:{port}/"}}
    assert not can_execute(action, Grant.all_commands(tmp_path))
    assert refused(execute(action, Grant.all_commands(tmp_path)))
    assert Echo.seen == []


@pytest.mark.parametrize(
    "host",
    [
        "",
        "http://a.example.com",
        "a.example.com/x",
        "*",
        "*.com",
        "a b",
        "u@a.example.com",
        "a:0",
        "a:99999",
        "1.2.3",
    ],
)
def test_what_is_no_host_can_not_be_granted(host: str) -> None:
    with pytest.raises(NoHostError):
        check_host(host)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
        *("100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1"),
        *("::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "::ffff:127.0.0.1"),
    ],
)
def test_a_name_that_resolves_to_a_private_address_leads_nowhere(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the resolver says, and whenever: the name is resolved once, and that address is checked."""

    def resolve(host: str, port: int, **more: Any) -> list[Any]:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    def connect(*arguments: Any) -> None:
        raise AssertionError("no connection may be attempted")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket.socket, "connect", connect)
    found = call(tmp_path, "api.example.com", url="http://api.example.com/")
    assert found["error"]["code"] == "refused"
    assert "public" in found["error"]["message"]


def test_the_connected_address_is_checked_too(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the system connects elsewhere than it was asked to, the request is not sent."""
    real = socket.socket.connect

    def resolve(host: str, number: int, **more: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", number))]

    def connect(link: socket.socket, place: Any) -> None:
        real(link, ("127.0.0.1", port))

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket.socket, "connect", connect)
    found = call(tmp_path, f"api.example.com:{port}", url=f"http://api.example.com:{port}/")
    assert found["error"]["code"] == "refused"
    assert Echo.seen == []


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "//127.0.0.1/", "127.0.0.1", ""),
        *(
            "http://user:pw@127.0.0.1/",
            "http://127.0.0.1@evil.example.com/",
            "http://127.0.0.1\\@evil.example.com/",
        ),
        *("http://127.0.0.1/\r\nHost: evil", "http://127.0.0.1/ HTTP/1.1\r\nX: y", "http://127.0.0.1/\0"),
        *("http://127.0.0.1:abc/", "http://[::1/", "http://127.0.0.1:99999/", "http://exämple.com/"),
    ],
)
def test_a_url_that_could_be_read_in_two_ways_is_refused(url: str, tmp_path: Path, port: int) -> None:
    found = call(
        tmp_path, "127.0.0.1", f"127.0.0.1:{port}", "evil.example.com", url=url.replace(":80", f":{port}")
    )
    assert refused(found)
    assert Echo.seen == []


@pytest.mark.parametrize(
    "more",
    [
        {"headers": {"Host": "evil"}},
        {"headers": {"content-length": "0"}},
        {"headers": {"Transfer-Encoding": "chunked"}},
        {"headers": {"X": "a\r\nY: b"}},
        {"headers": {"X: y\r\nZ": "b"}},
        {"method": "GET / HTTP/1.1\r\nX: y"},
        {"method": "CONNECT"},
        {"method": "\u017fet"},
        {"headers": {"X": "a\x0bb"}},
        {"headers": {"X": "\u65e5\u672c"}},
        {"headers": {"X": "\ud800"}},
        {"json": {}, "content": "x"},
    ],
)
def test_nothing_can_be_smuggled_into_a_request(more: dict[str, Any], tmp_path: Path, port: int) -> None:
    host = f"127.0.0.1:{port}"
    assert refused(call(tmp_path, host, url=f"http://{host}/", **more))
    assert Echo.seen == []


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "0.0.0.0", "198.18.0.1", "240.0.0.1"),
        *(
            "192.0.0.8",
            "192.0.0.170",
            "192.88.99.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
        ),
        *("::ffff:127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::"),
        *("2001:0:0:0:0:0:80ff:fffe", "fe80::1", "fec0::1", "fe00::1", "fd00:ec2::254", "ff02::1", "100::1"),
        *("2001:db8::1", "4000::1", "5f00::1"),
    ],
)
def test_an_address_that_is_not_public_must_be_named(address: str) -> None:
    assert address_refusal(("example.com", "*.example.com"), ip_address(address), 443)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822"])
def test_a_public_address_is_allowed(address: str) -> None:
    assert not address_refusal(("example.com",), ip_address(address), 443)


@pytest.mark.parametrize(
    "target",
    ["http://[", "http://[::1", "http://a:99999/", "file:///etc/passwd", "http://a:b@127.0.0.1/", "//["],
)
def test_a_redirect_to_what_is_not_a_url_is_an_error(target: str, tmp_path: Path, port: int) -> None:
    host = f"127.0.0.1:{port}"
    Echo.elsewhere = target
    assert refused(call(tmp_path, host, url=f"http://{host}/elsewhere"))


@pytest.mark.parametrize("name", ["idna", "undefined", "hex", "zlib", "mbcs", "nothing", "rot13", "base64"])
def test_a_charset_that_does_not_fit_leaves_the_text_readable(name: str, tmp_path: Path, port: int) -> None:
    host = f"127.0.0.1:{port}"
    assert call(tmp_path, host, url=f"http://{host}/charset/{name}")["response_body"] == "text"


def test_half_a_surrogate_pair_in_a_body_is_replaced(tmp_path: Path, port: int) -> None:
    host = f"127.0.0.1:{port}"
    assert call(tmp_path, host, url=f"http://{host}/", content="a\ud800")["response_json"]["body"] == "a?"


def test_a_redirect_is_followed_to_granted_hosts_only(tmp_path: Path, port: int) -> None:
    host = f"127.0.0.1:{port}"
    found = call(tmp_path, host, url=f"http://{host}/to//a")
    assert found["status_code"] == 200
    assert found["url"] == f"http://{host}/a"
    stays = call(tmp_path, host, url=f"http://{host}/to//a", follow_redirects=False)
    assert stays["status_code"] == 302
    for target in (
        "http://169.254.169.254/latest",
        f"http://localhost:{port}/",
        "file:///etc/passwd",
        "http://[::1]/",
        "http://[::ffff:169.254.169.254]/",
        f"http://2130706433:{port}/",
        f"http://0x7f.1:{port}/",
        f"http://127.0.0.1.nip.io:{port}/",
        f"//localhost:{port}/",
        f"http://{host}@localhost:{port}/",
        "gopher://127.0.0.1/",
        "data:text/plain,x",
    ):
        Echo.elsewhere = target
        assert refused(call(tmp_path, host, url=f"http://{host}/elsewhere")), target
    Echo.elsewhere = "/elsewhere"
    assert "redirects" in call(tmp_path, host, url=f"http://{host}/elsewhere")["error"]["message"]


def test_a_redirect_to_a_granted_name_that_resolves_to_a_private_address_leads_nowhere(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo

    def resolve(host: str, number: int, **more: Any) -> list[Any]:
        if host == "api.example.com":
            # Not the address that is granted by itself.
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.2", number))]
        return list(real(host, number, **more))

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    here, there = f"127.0.0.1:{port}", f"api.example.com:{port}"
    Echo.elsewhere = f"http://{there}/secret"
    found = call(tmp_path, here, there, url=f"http://{here}/elsewhere", method="GET")
    assert found["error"]["code"] == "refused"
    assert Echo.seen == ["GET /elsewhere"]


def test_a_redirect_elsewhere_takes_no_secret_along(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WFC_TEST_TOKEN", "token-123456")
    one, other = f"127.0.0.1:{port}", f"localhost:{port}"
    secret: dict[str, Any] = {
        "secrets": {"WFC_TEST_TOKEN": "@@1"},
        "headers": {"Authorization": "Bearer @@1", "X-K": "@@1"},
    }
    here = call(tmp_path, one, env=("WFC_TEST_TOKEN",), url=f"http://{one}/to//a", **secret)
    assert here["response_json"]["headers"]["Authorization"] == "Bearer ***"
    Echo.elsewhere = f"http://{other}/a"
    there = call(tmp_path, one, other, env=("WFC_TEST_TOKEN",), url=f"http://{one}/elsewhere", **secret)
    assert there["status_code"] == 200
    assert not {"Authorization", "X-K"} & set(there["response_json"]["headers"])
    body = call(
        tmp_path, one, other, url=f"http://{one}/keep/http://{other}/a", method="POST", content="secret"
    )
    assert body["error"]["code"] == "refused"
    post = call(tmp_path, one, url=f"http://{one}/to//a", method="POST", content="x")
    assert (post["response_json"]["method"], post["response_json"]["body"]) == ("GET", "")


@pytest.mark.parametrize("path", ["large", "headers", "gzip", "cut"])
def test_a_response_that_is_too_large_or_not_whole_is_an_error(path: str, tmp_path: Path, port: int) -> None:
    host = f"127.0.0.1:{port}"
    assert refused(call(tmp_path, host, url=f"http://{host}/{path}"))


def test_a_server_that_never_ends_is_left_at_the_time_limit(tmp_path: Path, port: int) -> None:
    host = f"127.0.0.1:{port}"
    found = call(tmp_path, host, url=f"http://{host}/drip", timeout=0.3)
    assert found["error"]["code"] == "timeout"


def test_proxies_of_the_environment_are_not_used(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    host = f"127.0.0.1:{port}"
    assert call(tmp_path, host, url=f"http://{host}/")["status_code"] == 200


def test_a_certificate_that_nobody_signed_is_refused(tmp_path: Path, port: int) -> None:
    """The other side does not even speak TLS: the request is not sent unencrypted instead."""
    host = f"127.0.0.1:{port}"
    assert refused(call(tmp_path, host, url=f"https://{host}/a", timeout=5))
    assert Echo.seen == []


def test_the_words_of_a_refusal_name_the_option() -> None:
    assert "--allow-http" in url_refusal((), "https", "api.example.com", None)
