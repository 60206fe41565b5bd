"""A worker that does what a test tells it to: `stand_in.py FOLDER`, where it notes its starts and the calls it gets.

It serves both protocol eras as far as the front can see a difference. What it is told lies in the folder as files:
`fatal` (how to die at the start), `release` (slow calls are answered), `tools.json` (another list of tools).
"""

import json
import os
import signal
import sys
import threading
import time

FOLDER = sys.argv[1]
LOCK = threading.Lock()
SAFE, UNSAFE = {"readOnlyHint": True}, {"readOnlyHint": False, "idempotentHint": False}
TOOLS = [
    {"name": "echo", "annotations": SAFE},
    {"name": "slow", "annotations": SAFE},
    {"name": "die", "annotations": SAFE},
    {"name": "steps", "annotations": {"idempotentHint": True}},
    {"name": "ask", "annotations": {"idempotentHint": True}},
    {"name": "unsafe", "annotations": UNSAFE},
    {"name": "start", "annotations": UNSAFE, "_meta": {"wfc/keyed": True}},
]
waiting = {}
asked = 0


def path(name):
    return os.path.join(FOLDER, name)


def note(name, text):
    with open(path(name), "a", encoding="utf-8") as file:
        file.write(text + "\n")


def told(name):
    try:
        with open(path(name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def send(message):
    data = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
    with LOCK:
        while data:
            data = data[os.write(1, data) :]


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def answer(number, result):
    send({"id": number, "result": result})


def done(number, text):
    answer(number, {"content": [{"type": "text", "text": text}], "pid": os.getpid()})


def until_released(work):
    while not os.path.exists(path("release")):
        time.sleep(0.005)
    work()


def form(params):
    """Shows a form, and answers the call with what the person said."""
    global asked
    while os.path.exists(path("pause")):
        time.sleep(0.005)
    number, arguments = params["_id"], params.get("arguments", {})
    shown = {"message": arguments.get("message", "Continue?"), "requestedSchema": {}}
    if "question" in arguments:
        shown["_meta"] = {"wfc/question": arguments["question"]}
    with LOCK:
        mine, asked = asked, asked + 1
    waiting[mine] = lambda said: after_form(number, arguments, said)
    send({"id": mine, "method": "elicitation/create", "params": shown})
    if arguments.get("then") == "take back":
        send({"method": "notifications/cancelled", "params": {"requestId": mine}})
    if arguments.get("then") == "first mute" and told("starts").split()[0] == str(os.getpid()):
        os.close(1)


def after_form(number, arguments, said):
    note("forms", json.dumps(said))
    if arguments.get("then") == "wait":
        until_released(lambda: done(number, json.dumps(said)))
    else:
        done(number, json.dumps(said))


def call(number, params):
    tool, arguments = params["name"], params.get("arguments", {})
    meta = params.get("_meta", {})
    note("calls", json.dumps([tool, number, meta.get("wfc/requestKey")]))
    if tool == "die":
        die()
    elif tool == "mute":
        os.close(1)
    elif tool == "flood":
        flood(number)
    elif tool == "ask":
        form({**params, "_id": number})
    elif tool == "steps":
        for step in range(1, arguments["steps"] + 1):
            progress = {"progressToken": meta["progressToken"], "progress": step}
            send({"method": "notifications/progress", "params": progress})
        until_released(lambda: done(number, "steps"))
    elif tool in ("slow", "unsafe", "start"):
        until_released(lambda: done(number, meta.get("wfc/requestKey") or tool))
    else:
        done(number, arguments.get("text", ""))


def flood(number):
    """Much more than fits into pipes."""
    for count in range(1_600):
        note("flood", str(count))
        send({"method": "notifications/message", "params": {"data": "x" * 60_000}})
    done(number, "flood")


def listen(number, params):
    about = {"io.modelcontextprotocol/subscriptionId": number}
    note("listens", str(number))
    send(
        {
            "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": about, "notifications": params["notifications"]},
        }
    )
    if os.path.exists(path("announce")):
        send({"method": "notifications/tools/list_changed", "params": {"_meta": about}})


def serve(message):
    number, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if method is None:
        threading.Thread(target=waiting.pop(number), args=(message.get("result"),), daemon=True).start()
    elif method == "initialize":
        note("handshakes", method)
        answer(number, {"protocolVersion": params["protocolVersion"], "serverInfo": {"name": "stand-in"}})
    elif method == "notifications/initialized":
        note("handshakes", method)
    elif method == "server/discover":
        answer(number, {"supportedVersions": ["2026-07-28"]})
    elif method.endswith("/list"):
        kind = method.split("/")[-2]
        tools = json.loads(told("tools.json") or "null") or TOOLS
        answer(number, {kind: tools if kind == "tools" else []})
    elif method == "tools/call":
        threading.Thread(target=call, args=(number, params), daemon=True).start()
    elif method == "subscriptions/listen":
        listen(number, params)
    elif method == "notifications/cancelled":
        note("cancelled", str(params["requestId"]))
    elif method == "ping":
        answer(number, {})
    elif number is not None:
        send({"id": number, "error": {"code": -32601, "message": method}})


def main():
    note("starts", str(os.getpid()))
    fatal = told("fatal")
    if fatal == "kill":
        die()
    if fatal:
        print("stand-in: no such option", file=sys.stderr)
        sys.exit(int(fatal))
    sources = [path("sources")]
    send({"method": "notifications/wfc/sources", "params": {"paths": sources}})
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict):
            serve(message)
        else:
            send({"id": None, "error": {"code": -32700, "message": "not a message"}})


main()
os._exit(0)
