"""The messages between a client and the successive workers that serve it: see `front`.

Lines pass through as bytes; a line is rewritten only if its id or its `_meta` changes. A request is kept from the
moment it is sent until it is answered, so that it can be sent to the next worker.
"""

from __future__ import annotations

import json
import os
import re
from collections import deque

TYPE_CHECKING = False  # As in `typing`, which takes longer to import than this module.
if TYPE_CHECKING:
    from typing import Any, TypeGuard

    from wfc_runtime.server.front_cache import HandshakeCache

    Message = dict[str, Any]
    Id = int | str

KEY = "wfc/requestKey"
"""In the `_meta` of a call: calls with the same key start only one run."""
KEYED = "wfc/keyed"
"""In the `_meta` of a listed tool: it accepts such a key."""
QUESTION = "wfc/question"
"""In the `_meta` of a form: the visit and run that ask. Two forms with the same value ask for the same answer."""
SOURCES = "notifications/wfc/sources"
"""The first message of a worker: the files that its lists depend on. It is not passed on to the client."""

_VERSION = "io.modelcontextprotocol/protocolVersion"
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_LISTEN = "subscriptions/listen"
_LISTED = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources"}
"""Lists with change notifications."""
# A request that kills two workers is likely to kill the third one, too.
_MOST_TRIES = 2
_MOST_TRIES_OF = {
    "initialize": 6,
    "server/discover": 6,
    "tools/list": 6,
    "prompts/list": 6,
    "resources/list": 6,
}
"""More attempts: without a handshake the session is lost, and these requests are unlikely to crash a worker."""
_MOST_FORMS = 100
_FAILED = -32000
_INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
# The SDK writes the keys of answers in this order, so the id of a large result is found without parsing it.
_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":(-?\d{1,18}|"[^"\\]{1,200}"),"(?:result|error)":')


class Outgoing:
    """Lines to be written. The first one may be partly written."""

    def __init__(self) -> None:
        self.lines: deque[bytes] = deque()
        self.size = 0
        self.offset = 0

    def add(self, line: bytes) -> None:
        self.lines.append(line)
        self.size += len(line)

    def written(self, count: int) -> None:
        self.size -= count
        count += self.offset
        while self.lines and count >= len(self.lines[0]):
            count -= len(self.lines.popleft())
        self.offset = count

    def remove(self, line: bytes) -> None:
        """Remove a line of which nothing has been written."""
        self.lines.remove(line)
        self.size -= len(line)

    def clear(self) -> None:
        self.lines.clear()
        self.size = self.offset = 0


class Request:
    """A request of the client that has not been answered."""

    def __init__(self, line: bytes, method: str, params: Message) -> None:
        self.line = line
        self.method = method
        self.meta: Message = _dict(params.get("_meta"))
        self.tool = str(params.get("name")) if method == "tools/call" else ""
        self.wants: Message = _dict(params.get("notifications")) if method == _LISTEN else {}
        self.is_keyed = False
        self.tries = 0
        # Below any number that a worker may report first.
        self.progress = float("-inf")
        self.acknowledged = False
        self.cache_key = ""
        self.given: object = None
        """The result that the client got from the cache. The worker's result is compared with it and not passed on."""


class Form:
    """A request of a worker to the client: a form for the user to fill in."""

    def __init__(self, content: str, is_named: bool, worker_id: Id) -> None:
        self.content = content
        self.is_named = is_named
        self.worker_id: Id | None = worker_id
        """None: its worker has died."""
        self.answer: Message | None = None


class Relay:
    """Decides what each line means for the other side. It does no I/O itself."""

    def __init__(self, cache: HandshakeCache | None = None) -> None:
        self.to_client, self.to_worker = Outgoing(), Outgoing()
        self.asked: dict[Id, Request] = {}
        self.has_worker = False
        self.has_answered = False
        """Whether this worker has answered a request of the client."""
        self.ever_answered = False
        self._cache = cache
        self._tools: dict[str, Message] | None = None
        self._initialize: Message | None = None
        self._is_initialized = False
        self._forms: dict[Id, Form] = {}
        self._private: dict[Id, str] = {}
        """The methods of requests that the front itself has sent."""
        # Random, so that ids of the front can't collide with those that the client chooses.
        self._prefix = f"wfc-{os.urandom(6).hex()}-"
        self._count = 0
        self._is_modern: bool | None = None
        """Whether the first request to this worker was one of the newer protocol. The worker then refuses the older."""
        self._is_recalled = False
        """Whether this session began with answers from the cache."""
        self._changed: set[str] = set()
        """Lists whose change the client has not been notified of yet."""

    # -- from the client -------------------------------------------------------

    def from_client(self, line: bytes) -> None:
        message = read_message(line)
        if message is None:
            # The worker answers it with the right error.
            self.to_worker.add(line)
            return
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            self._take_form(number, message)
        elif not _is_id(number):
            self._pass_notification(method, _dict(message.get("params")), line)
        else:
            self._ask(number, method, message, line)

    def refuse_overlong(self, most: int) -> None:
        """Answer a line of the client that exceeds the limit."""
        self._send({"id": None, "error": _error(-32700, f"The message is longer than {most:,} bytes.")})

    def _ask(self, number: Id, method: str, message: Message, line: bytes) -> None:
        # Kept until it is answered: if the worker dies, the next one gets the same line.
        request = Request(line, method, _dict(message.get("params")))
        if method == "initialize":
            self._initialize = message
        elif _VERSION in request.meta and method != "server/discover":
            # Some clients try both protocols and continue with the newer one.
            self._initialize = None
        if method == _LISTEN and self._is_recalled and not self.ever_answered:
            self._acknowledge_early(number, request)
        if method == "tools/call":
            self._key(request, message)
        elif self._cache:
            self._recall(number, request, message)
        self._open(request)
        self.asked[number] = request
        self.to_worker.add(request.line)

    def _open(self, request: Request) -> None:
        if self._is_modern is None:
            self._is_modern = _VERSION in request.meta and request.method != "initialize"

    def _key(self, request: Request, message: Message) -> None:
        """Give a call a key, so that it can be repeated without being executed twice."""
        # Whether a call may be repeated depends on the tool, so the list is needed before an answer can be
        # lost.
        if self._tools is None and not any(one.method == "tools/list" for one in self.asked.values()):
            self._list_tools(request.meta)
        tool = None if self._tools is None else self._tools.get(request.tool)
        # As long as the tools are unknown, every call gets a key; a tool that does not take one ignores it.
        if (self._tools is None or (tool is not None and tool["keyed"])) and isinstance(
            message.get("params"), dict
        ):
            # A key that the client has set itself takes precedence.
            meta = message["params"]["_meta"] = {KEY: os.urandom(16).hex(), **request.meta}
            request.is_keyed = isinstance(meta[KEY], str)
            request.line = _dump(message)

    def _list_tools(self, meta: Message) -> None:
        """Find out which calls may be repeated, if the client has not listed the tools."""
        if "tools/list" not in self._private.values():
            kept = {key: value for key, value in meta.items() if key.startswith("io.modelcontextprotocol/")}
            self._ask_privately("tools/list", {"_meta": kept} if kept else {})

    def _ask_privately(self, method: str, params: Message) -> None:
        number = self._new_id()
        self._private[number] = method
        self.to_worker.add(_dump({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))

    def _new_id(self) -> str:
        self._count += 1
        return f"{self._prefix}{self._count}"

    def _pass_notification(self, method: str, params: Message, line: bytes) -> None:
        if method == "notifications/cancelled":
            number: Any = params.get("requestId")
            request = self.asked.get(number) if _is_id(number) else None
            if request is not None:
                if request.given is not None:
                    # The client already has its answer; the worker's is needed for the comparison.
                    return
                del self.asked[number]
                # The last call may have ended, and a form of it would be answered for nobody.
                self._close_forms()
                if not self.has_worker:
                    # Not sent yet, so no worker needs a notification.
                    self.to_worker.remove(request.line)
                    return
        elif method == "notifications/initialized":
            self._is_initialized = True
            self._notify_changes()
        self.to_worker.add(line)

    def _take_form(self, number: object, message: Message) -> None:
        """Pass the user's answer to the worker that asked, or keep it for the next one that asks the same."""
        # An answer to an unknown id, or a second answer, is dropped.
        form = self._forms.get(number) if _is_id(number) else None
        if form is not None and form.answer is None:
            form.answer = {key: message[key] for key in ("result", "error") if key in message}
            self._hand_over(form)

    def _hand_over(self, form: Form) -> None:
        if form.worker_id is not None and form.answer is not None:
            self.to_worker.add(_dump({"jsonrpc": "2.0", "id": form.worker_id, **form.answer}))

    # -- from the worker -------------------------------------------------------

    def from_worker(self, line: bytes) -> None:
        # The fast path: results can be large, and only their id is needed here.
        found = _ANSWER.match(line)
        if found is not None:
            self._answer(json.loads(found[1]), line)
            return
        message = read_message(line)
        if message is None:
            self.to_client.add(line)
            return
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            self._answer(number, line)
        elif _is_id(number):
            self._show_form(number, method, message)
        elif self._passes(method, message):
            self.to_client.add(line)

    def _answer(self, number: object, line: bytes) -> None:
        if not _is_id(number):
            self.to_client.add(line)
            return
        private = self._private.pop(number, None)
        if private is not None:
            # The answer is for the front, and the client never asked for it.
            self._learn(private, _result(line))
            return
        request = self.asked.pop(number, None)
        self.has_answered = self.ever_answered = True
        # Cancelled or failed meanwhile; the client decides what to do with a late answer.
        if request is None:
            self.to_client.add(line)
            return
        if request.method in ("initialize", "tools/list") or request.cache_key:
            result = _result(line)
            if request.method == "initialize" and result is None:
                # A refused handshake must not be repeated to the next worker.
                self._initialize = None
            self._learn(request.method, result)
            if request.cache_key and self._cache and result is not None:
                self._cache.keep(request.cache_key, result)
            if request.given is not None:
                # The client has acted on the old list, so it is notified to fetch the new one.
                if result is not None and result != request.given and request.method in _LISTED:
                    self._changed.add(_LISTED[request.method])
                    self._notify_changes()
                return
        self.to_client.add(line)
        self._close_forms()

    def _learn(self, method: str, result: object) -> None:
        tools = result.get("tools") if isinstance(result, dict) and method == "tools/list" else None
        if isinstance(tools, list):
            self._tools = {str(one.get("name")): _repeatable(one) for one in tools if isinstance(one, dict)}

    def _passes(self, method: str, message: Message) -> bool:
        """Whether to pass a notification on unchanged."""
        params = _dict(message.get("params"))
        if method == SOURCES:
            if self._cache:
                self._cache.depend_on(params.get("paths"))
            return False
        if method == "notifications/progress":
            return self._grows(params)
        if method == _ACKNOWLEDGED:
            return self._acknowledge(_dict(params.get("_meta")).get(_SUBSCRIPTION), message)
        if method == "notifications/cancelled":
            self._cancel_form(params)
            return False
        return True

    def _grows(self, params: Message) -> bool:
        """Whether this progress is new to the client: a repeated call starts again at 0, and progress must increase."""
        token, progress = params.get("progressToken"), params.get("progress")
        for request in self.asked.values():
            if token is not None and token == request.meta.get("progressToken"):
                if not isinstance(progress, int | float) or progress <= request.progress:
                    return False
                request.progress = progress
        return True

    def _acknowledge(self, number: object, message: Message) -> bool:
        request = self.asked.get(number) if _is_id(number) else None
        if request is None or request.acknowledged:
            # A second acknowledgement of the same subscription is swallowed.
            return request is None
        request.acknowledged = True
        self.to_client.add(_dump(message))
        self._notify_changes()
        return False

    # -- forms -----------------------------------------------------------------

    def _show_form(self, number: Id, method: str, message: Message) -> None:
        """Show a form. It gets an id from the front, since all workers number their requests from 0."""
        params = _dict(message.get("params"))
        content = json.dumps([method, params], sort_keys=True)
        # After a restart the new worker asks the same question: the form is already open, or even answered.
        for form in self._forms.values():
            # Only forms whose worker has died: two open forms with equal content are two questions.
            if form.worker_id is None and form.content == content:
                form.worker_id = number
                self._hand_over(form)
                return
        shown = self._new_id()
        self._forms[shown] = Form(content, QUESTION in _dict(params.get("_meta")), number)
        self.to_client.add(_dump({**message, "id": shown}))
        for request in self.asked.values():
            # A call that gets as far as another question is not what its workers die of.
            request.tries = 0
        # Answered forms are kept for a while, in case the worker dies before it has used the answer.
        for old in [one for one, form in self._forms.items() if form.answer is not None][:-_MOST_FORMS]:
            del self._forms[old]

    def _cancel_form(self, params: Message) -> None:
        for shown, form in list(self._forms.items()):
            if (
                form.worker_id is not None
                and form.worker_id == params.get("requestId")
                and form.answer is None
            ):
                del self._forms[shown]
                self._cancel_at_client({**params, "requestId": shown})

    def _cancel_at_client(self, params: Message) -> None:
        self._send({"method": "notifications/cancelled", "params": params})

    def _close_forms(self) -> None:
        """Close open forms if no call is left that could use an answer."""
        # As long as a call is in progress, its next worker may ask the same question again.
        if not self._forms or any(one.method == "tools/call" for one in self.asked.values()):
            return
        for shown, form in list(self._forms.items()):
            if form.worker_id is None and form.answer is None:
                self._cancel_at_client({"requestId": shown, "reason": "the call that asked has ended"})
            if form.worker_id is None or form.answer is not None:
                del self._forms[shown]

    # -- the life of a worker --------------------------------------------------

    def worker_started(self) -> None:
        self.has_worker, self.has_answered = True, False

    def worker_died(self) -> int:
        """Prepare the messages for the next worker, and fail requests that must not be repeated; returns the number of
        repeated requests."""
        self.has_worker = False
        self.to_worker.clear()
        self._private.clear()
        for shown, form in list(self._forms.items()):
            form.worker_id = None
            if form.answer is not None and not form.is_named:
                # The answer may have been used already; a question that merely looks the same must not get it.
                del self._forms[shown]
        for number, request in list(self.asked.items()):
            # A subscription stays open for the whole session, so it is not to blame for a crash.
            request.tries += request.method != _LISTEN
            if not self._may_repeat(request):
                self._fail(number, "the server crashed while processing this request")
            elif request.tries >= _MOST_TRIES_OF.get(request.method, _MOST_TRIES):
                self._fail(number, f"the server crashed {request.tries} times while processing this request")
        self._greet()
        for request in self.asked.values():
            # In their order: the first decides which protocol the worker speaks.
            self._open(request)
            self.to_worker.add(request.line)
            if request.method == "initialize" and self._is_initialized:
                self.to_worker.add(_INITIALIZED)
        self._close_forms()
        return len(self.asked)

    def _greet(self) -> None:
        """A worker of the older protocol can't answer before its handshake."""
        self._is_modern = None
        # The newer protocol has no handshake; otherwise the client's own request is repeated below.
        if self._initialize is None or any(one.method == "initialize" for one in self.asked.values()):
            return
        self._is_modern = False
        self._ask_privately("initialize", _dict(self._initialize.get("params")))
        if self._is_initialized:
            self.to_worker.add(_INITIALIZED)

    def fail_all(self, why: str) -> None:
        """Fail all requests: no worker lives long enough to answer."""
        for number in list(self.asked):
            self._fail(number, why)
        self.to_worker.clear()
        self._private.clear()
        self._greet()
        self._close_forms()

    def _may_repeat(self, request: Request) -> bool:
        if request.method != "tools/call":
            return True
        tool = (self._tools or {}).get(request.tool)
        # A tool that is unknown, or that changes something without a key, might be executed twice.
        return tool is not None and (tool["safe"] or (tool["keyed"] and request.is_keyed))

    def _fail(self, number: Id, why: str) -> None:
        request = self.asked.pop(number)
        # The client has had its answer from the cache.
        if request.given is not None:
            return
        if request.method != "tools/call":
            self._send({"id": number, "error": _error(_FAILED, f"{why}; see its standard error")})
            return
        text = f"{request.tool}: {why}. It may or may not have been executed. Next: list_runs()"
        result: Message = {"content": [{"type": "text", "text": text}], "isError": True}
        if _VERSION in request.meta:
            result["resultType"] = "complete"
        self._send({"id": number, "result": result})

    # -- the cached handshake --------------------------------------------------

    def _recall(self, number: Id, request: Request, message: Message) -> None:
        """Answer from the cache until the worker has answered its first request. The worker gets the request anyway."""
        assert self._cache is not None
        if request.method == "initialize" and self._is_modern:
            # The client asked in the newer way, got no answer in time, and tries the older one. With an answer it
            # would go on with that, and the worker would refuse all it asks.
            return
        request.cache_key = self._cache.key_of(message, self._initialize)
        result = self._cache.recall(request.cache_key) if request.cache_key else None
        if result is not None and not self.ever_answered:
            request.given = result
            self._is_recalled = True
            self._learn(request.method, result)
            self._send({"id": number, "result": result})

    def _acknowledge_early(self, number: Id, request: Request) -> None:
        """A client that subscribes waits for this before it asks for the lists. The worker's own is swallowed."""
        request.acknowledged = True
        wanted = {name: value for name, value in request.wants.items() if value}
        params = {"_meta": {_SUBSCRIPTION: number}, "notifications": wanted}
        self._send({"method": _ACKNOWLEDGED, "params": params})

    def _notify_changes(self) -> None:
        for kind in sorted(self._changed):
            method = f"notifications/{kind}/list_changed"
            # In the older protocol, notifications are only allowed after the handshake.
            if self._initialize is not None:
                if self._is_initialized:
                    self._changed.discard(kind)
                    self._send({"method": method})
                continue
            for number, request in self.asked.items():
                if request.acknowledged and request.wants.get(f"{kind}ListChanged"):
                    self._changed.discard(kind)
                    self._send({"method": method, "params": {"_meta": {_SUBSCRIPTION: number}}})

    def _send(self, message: Message) -> None:
        self.to_client.add(_dump({"jsonrpc": "2.0", **message}))


def read_message(line: bytes) -> Message | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        # Deeply nested JSON raises RecursionError.
        return None
    return found if isinstance(found, dict) else None


def _result(line: bytes) -> object:
    return (read_message(line) or {}).get("result")


def _repeatable(tool: Message) -> Message:
    hints, meta = _dict(tool.get("annotations")), _dict(tool.get("_meta"))
    safe = hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True
    return {"safe": safe, "keyed": meta.get(KEYED) is True}


def _is_id(value: object) -> TypeGuard[Id]:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _dict(value: Any) -> Message:
    return value if isinstance(value, dict) else {}


def _error(code: int, message: str) -> Message:
    return {"code": code, "message": message}


def _dump(message: Message) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
