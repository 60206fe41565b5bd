"""`http_call`: one HTTP request to a host that the operator allows, within limits of time and size.

SECURITY. The address of a connection is checked before it is made and again on the connected socket: the name is
resolved once, so a name that changes its address in between leads nowhere else. Every redirect is checked like the
first request; to another origin it takes along neither the headers nor the body that the workflow gave. Proxies of the
environment, cookies and credentials of the user are not used, and certificates are always verified.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from threading import Event, Thread
from urllib.parse import SplitResult, urljoin, urlsplit

from wfc_runtime.contract import Json
from wfc_runtime.execute.base import ExecutionError, Executor, Job, Parameters, Result, shortened
from wfc_runtime.execute.hosts import address_refusal, url_refusal
from wfc_runtime.execute.permissions import Grant
from wfc_runtime.version import __version__

_METHOD = re.compile(r"[A-Z]{1,20}")
_FIELD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_CONTROL = re.compile(r"[\x00-\x20\x7f-\x9f]")
_OURS = frozenset(
    ("connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade")
)
"""Headers that belong to the connection; a workflow that sets them could smuggle a second request into it."""
_KEPT_ELSEWHERE = frozenset(("accept", "accept-language", "user-agent"))
"""The headers that a redirect to another origin takes along."""
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_MOST_HEADERS = 16 * 1024
_LONGEST_URL = 8_000
_LONGEST = 1_800.0
_CHUNK = 16 * 1024


@dataclass(frozen=True)
class _Request:
    url: str
    method: str
    headers: dict[str, str]
    body: bytes | None

    @property
    def parts(self) -> SplitResult:
        return _parts(self.url)

    @property
    def origin(self) -> tuple[str, str | None, int | None]:
        parts = self.parts
        return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}[parts.scheme]


def _http_call(job: Job) -> Result:
    parameters = job.parameters
    seconds = min(parameters.number("timeout", 30), job.grant.seconds, _LONGEST)
    request = _request(parameters)
    follows = parameters.flag("follow_redirects", True)
    clock = _Clock(time.monotonic() + seconds, seconds, job.stop)
    # Every redirect is a new request, which the grant has to cover as well.
    for _ in range(_MOST_REDIRECTS + 1):
        if refused := _refusal_of(request, job.grant):
            raise ExecutionError(refused, "refused")
        status, headers, body = _exchange(request, job.grant, clock)
        target = headers.get("location")
        if not (follows and status in _REDIRECTS and target):
            return _result(request, status, headers, body)
        request = _redirected(request, status, target)
    raise ExecutionError(f"more than {_MOST_REDIRECTS} redirects, the last one to {shortened(request.url)}")


# What is asked.


def _request(parameters: Parameters) -> _Request:
    given = parameters.text("method", "GET")
    method = given.upper()
    # CONNECT would open a tunnel; TRACE returns headers, with the secrets in them.
    if not (given.isascii() and _METHOD.fullmatch(method)) or method in ("CONNECT", "TRACE"):
        raise ExecutionError(f"`method` must be the name of an HTTP method, not {given[:40]!r}")
    headers: dict[str, str] = {}
    for name, value in parameters.mapping("headers").items():
        text = value if isinstance(value, str) else json.dumps(value)
        if not _FIELD.fullmatch(name) or name.lower() in _OURS:
            raise ExecutionError(f"the header {name[:60]!r} can't be set")
        if not _VALUE.fullmatch(text):
            raise ExecutionError(f"the header {name} contains a line break or a character outside Latin-1")
        headers[name] = text
    if "json" in parameters and "content" in parameters:
        raise ExecutionError("only one of `json` and `content` can be the body of a request")
    body: bytes | None = None
    if "json" in parameters:
        body = json.dumps(parameters.value("json")).encode()
        if "content-type" not in map(str.lower, headers):
            headers["Content-Type"] = "application/json"
    elif "content" in parameters:
        # Half of a surrogate pair can't be encoded.
        body = parameters.text("content").encode(errors="replace")
    if "user-agent" not in map(str.lower, headers):
        headers["User-Agent"] = f"wfc/{__version__}"
    return _Request(parameters.text("url").strip(), method, headers, body)


def _parts(url: str) -> SplitResult:
    """The parts of a URL that can be requested. Input that clients interpret differently is refused."""
    if len(url) > _LONGEST_URL or _CONTROL.search(url) or "\\" in url:
        raise ExecutionError(f"`url` has a character that a URL can't have, or is too long: {shortened(url)}")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ExecutionError(f"`url` is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ExecutionError(f"`url` must begin with http:// or https:// and a host: {shortened(url)}")
    if parts.username is not None or parts.password is not None:
        raise ExecutionError("`url` has a user name or password in it; use a header")
    if not host.isascii() or not url.isascii():
        raise ExecutionError("`url` has letters that must be encoded: `| urlencode`, and `xn--` in the host")
    return parts


def _refusal_of(request: _Request, grant: Grant) -> str:
    scheme, host, port = request.origin
    return url_refusal(grant.http, scheme, host or "", port)


def _redirected(request: _Request, status: int, target: str) -> _Request:
    try:
        found = replace(request, url=urljoin(request.url, target.strip()))
    except ValueError as error:
        raise ExecutionError(f"the redirect to {shortened(target)} is not a URL: {error}", "http") from None
    # As browsers do it, and as RFC 9110 allows for 301 and 302. HEAD stays HEAD: no body was asked for.
    if status == 303 or (status in (301, 302) and request.method == "POST"):
        headers = {key: text for key, text in request.headers.items() if key.lower() != "content-type"}
        found = replace(
            found, method="HEAD" if request.method == "HEAD" else "GET", body=None, headers=headers
        )
    # The same origin may get everything that the workflow sent to it.
    if found.origin == request.origin:
        return found
    if request.parts.scheme == "https" and found.parts.scheme == "http":
        raise ExecutionError(f"the redirect to {shortened(found.url)} is not encrypted", "refused")
    if found.body is not None:
        raise ExecutionError(
            f"the redirect to {shortened(found.url)} would send the body elsewhere", "refused"
        )
    kept = {key: text for key, text in found.headers.items() if key.lower() in _KEPT_ELSEWHERE}
    return replace(found, headers=kept)


# The exchange.


class _Clock:
    """The time that is left, and a watch that ends a connection when there is none."""

    def __init__(self, deadline: float, seconds: float, stop: Event) -> None:
        self._deadline, self._seconds, self._stop = deadline, seconds, stop

    def left(self) -> float:
        """Raises `ExecutionError` if the time is up or the run has ended."""
        if self._stop.is_set():
            raise ExecutionError("the run ended before the request did", "interrupted")
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise ExecutionError(f"the request took longer than {self._seconds:g} seconds", "timeout")
        return left

    def watch(self, end: Callable[[], None], done: Event) -> None:
        """End something at the deadline or when the run has ended, unless it is done before."""

        def wait() -> None:
            # At least every half second, to notice that the run was cancelled.
            while not done.wait(min(max(self._deadline - time.monotonic(), 0.01), 0.5)):
                if self._stop.is_set() or time.monotonic() >= self._deadline:
                    end()
                    return

        Thread(target=wait, name="wfc-http-watch", daemon=True).start()


def _exchange(request: _Request, grant: Grant, clock: _Clock) -> tuple[int, dict[str, str], bytes]:
    parts = request.parts
    port = parts.port or (443 if parts.scheme == "https" else 80)
    link = _connected(parts.hostname or "", port, grant, clock)
    done = Event()
    # A server may send one byte at a time, so a timeout per operation would never end it.
    clock.watch(lambda: _end(link), done)
    try:
        if parts.scheme == "https":
            # The handshake is separate, so that the watch already ends the socket in which it happens.
            # Standard verification: certificate and host name.
            link = ssl.create_default_context().wrap_socket(
                link, server_hostname=parts.hostname, do_handshake_on_connect=False
            )
            link.do_handshake()
        connection = HTTPConnection(parts.hostname or "", parts.port)
        # The socket is given to the library, which would otherwise resolve the name again.
        connection.sock = link
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        own = {"Accept": "*/*"} | request.headers
        # Compressed responses could expand without limit, so they are not asked for.
        headers = {key: text for key, text in own.items() if key.lower() != "accept-encoding"}
        headers |= {"Accept-Encoding": "identity", "Connection": "close"}
        connection.request(request.method, path, request.body, headers)
        response = connection.getresponse()
        found = response.status, _headers(response), _body(response, grant.http_bytes)
        clock.left()  # A connection that the watch has ended looks like the end of a response.
        return found
    except (OSError, HTTPException, ValueError) as error:
        clock.left()  # A connection that was ended by the watch fails in many ways.
        raise ExecutionError(f"the request to {parts.hostname} failed: {_words(error)}", "http") from None
    finally:
        done.set()
        _end(link)
        link.close()


def _end(link: socket.socket) -> None:
    with suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)


def _connected(host: str, port: int, grant: Grant, clock: _Clock) -> socket.socket:
    """A connection to an address of the host that the grant covers."""
    why = ""
    for family, kind, protocol, address in _resolved(host, port, clock):
        # A scope such as `%eth0` is not part of the address.
        if refused := address_refusal(grant.http, ip_address(str(address[0]).partition("%")[0]), port):
            why = refused
            continue
        link = socket.socket(family, kind, protocol)
        try:
            link.settimeout(clock.left())
            link.connect(address)
            peer = ip_address(str(link.getpeername()[0]).partition("%")[0])
            if refused := address_refusal(grant.http, peer, port):
                raise ExecutionError(refused, "refused")
            return link
        except OSError as error:
            # Try the next address: a host may have an IPv6 address that can't be reached from here.
            link.close()
            clock.left()
            why = why or f"{host} can't be reached: {_words(error)}"
        except ExecutionError:
            link.close()
            raise
    raise ExecutionError(why or f"{host} has no address", "http" if "reached" in why else "refused")


_Found = tuple[int, int, int, tuple[Json, ...]]


def _resolved(host: str, port: int, clock: _Clock) -> Iterable[_Found]:
    """The addresses of a host. The system's resolver has no time limit of its own, so that it runs beside."""
    answers: SimpleQueue[list[_Found] | OSError] = SimpleQueue()

    def resolve() -> None:
        try:
            found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
            answers.put([(one[0], one[1], one[2], tuple(one[4])) for one in found])
        except (OSError, UnicodeError) as error:
            answers.put(error if isinstance(error, OSError) else OSError(str(error)))

    # A daemon thread: a lookup that hangs must not keep the process alive.
    Thread(target=resolve, name="wfc-http-resolve", daemon=True).start()
    while True:
        try:
            found = answers.get(timeout=min(clock.left(), 0.5))
        except Empty:
            continue
        if isinstance(found, OSError):
            raise ExecutionError(f"{host} can't be resolved: {_words(found)}", "http")
        return found


def _headers(response: HTTPResponse) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in response.getheaders():
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    if sum(len(key) + len(value) for key, value in found.items()) > _MOST_HEADERS:
        raise ExecutionError(
            f"the headers of the response have more than {_MOST_HEADERS:,} characters", "http"
        )
    return found


def _body(response: HTTPResponse, limit: int) -> bytes:
    # Decompressing is refused instead of limited.
    if response.headers.get("content-encoding", "identity").lower() not in ("identity", ""):
        raise ExecutionError("the response is compressed, although that was not asked for", "http")
    data = b""
    while chunk := response.read(_CHUNK):
        data += chunk
        if len(data) > limit:
            raise ExecutionError(
                f"the response has more than {limit:,} bytes",
                "output_invalid",
                "Ask for less, or use a command.",
            )
    # `length` is what is still missing from the announced size.
    if response.length:
        raise ExecutionError("the connection ended in the middle of the response", "http")
    return data


# The result.


def _result(request: _Request, status: int, headers: dict[str, str], body: bytes) -> Result:
    kind = headers.get("content-type", "")
    charset = re.search(r"charset=[\"']?([A-Za-z0-9_-]+)", kind)
    try:
        text = body.decode(charset[1] if charset else "utf-8", errors="replace")
    except (LookupError, UnicodeError):
        # A charset that does not exist or can't replace bytes is the server's mistake; the text is still useful.
        text = body.decode("utf-8", errors="replace")
    parsed: Json = None
    if "json" in kind.lower():
        with suppress(ValueError, RecursionError):
            parsed = json.loads(text, parse_constant=_no_number)
    return {
        "status_code": status,
        "response_body": text,
        "response_json": parsed,
        "headers": dict(headers),
        "url": request.url,
        "success": 200 <= status < 300,
    }


def _no_number(word: str) -> Json:
    raise ValueError(f"{word} is not JSON")


def _words(error: Exception) -> str:
    said = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return shortened(said or type(error).__name__)


def _refusal(parameters: Parameters, grant: Grant) -> str:
    if not grant.http:
        return "the server may make no requests (no --allow-http host was given)"
    return _refusal_of(_request(parameters), grant)


HTTP_CALL = Executor("http_call", _http_call, _refusal)
