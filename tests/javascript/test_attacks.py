"""Attempts to leave the sandbox, to leave something behind in it, or to exhaust the machine.

Each is one expression. It must end with the error or the harmless value beside it, and the process must still answer
afterwards, in the same context and in a new one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("quickjs")

from wfc_runtime.expr import ExpressionError
from wfc_runtime.javascript.engine import EngineLimits, Job, execute

QUICK = EngineLimits(seconds=0.2)
SCOPE = {"state": {"list": [3, 1, 2], "text": "secret"}, "inputs": {"name": "a"}}

# Code from text.
CODE = {
    "eval('1')": "eval is not defined",
    "(0, eval)('1')": "eval is not defined",
    "globalThis.eval": None,
    "globalThis['ev' + 'al']('1')": "not a function",
    "Function('return 1')()": "Function is not defined",
    "new Function('return 1')": "Function is not defined",
    "(() => 1).constructor('return 1')()": "not a function",
    "(function () {}).constructor === Object": True,
    "(function* () {}).constructor === Object": True,
    "(async () => 1).constructor === Object": True,
    "(async function* () {}).constructor === Object": True,
    "[].map.constructor === Object": True,
    "Object.getPrototypeOf(function* () {}).constructor === Object": True,
    "Object.getPrototypeOf(async function () {}).constructor === Object": True,
    "Object.getPrototypeOf(() => 1).constructor === Object": True,
    "class {}.constructor === Object": True,
    "(class { static f() {} }).f.constructor === Object": True,
    "Object.getOwnPropertyDescriptor(Object.getPrototypeOf(() => 1), 'constructor')": None,
    "shquote.constructor === Object": True,
    "Date.constructor === Object": True,
    "new Date().constructor.constructor === Object": True,
    "setTimeout('1', 0)": "setTimeout is not defined",
    "import('os')": "a Promise, which is not JSON",
    "import('/etc/passwd').then(x => x)": "a Promise, which is not JSON",
    "import.meta.url": "import",
    "require('fs')": "require is not defined",
    "new Worker('x')": "Worker is not defined",
    "WebAssembly.compile('')": "WebAssembly is not defined",
    "{{}}; eval('1')": "",
    "1) || (eval": "nexpected token",
    "1]; [eval": "",
    "1)}); globalThis.x = 1; (function () { return (1": "nexpected token",
    "1 /* never closed": "",
    "'never closed": "",
    "a; b": "",
    "return 1": "",
    "var x = 1": "",
    "with (state) text": "",
    "{ [eval]: 1 }": "eval is not defined",
}
# The process around it.
OUTSIDE = {
    "std": "std is not defined",
    "os": "os is not defined",
    "bjson": "bjson is not defined",
    "console.log(1)": "console is not defined",
    "print(1)": "print is not defined",
    "process.env": "process is not defined",
    "Deno": "Deno is not defined",
    "window": "window is not defined",
    "global": "global is not defined",
    "fetch('http://localhost')": "fetch is not defined",
    "new XMLHttpRequest()": "XMLHttpRequest is not defined",
    "performance.now()": "performance is not defined",
    "gc()": "gc is not defined",
    "Atomics": "Atomics is not defined",
    "new SharedArrayBuffer(8)": "SharedArrayBuffer is not defined",
    "new WeakRef({})": "WeakRef is not defined",
    "new FinalizationRegistry(() => 1)": "FinalizationRegistry is not defined",
    "new Proxy({}, {})": "Proxy is not defined",
    "Reflect.ownKeys(globalThis)": "Reflect is not defined",
    "queueMicrotask(() => 1)": "queueMicrotask is not defined",
    "Promise.resolve(1)": "Promise is not defined",
    "(async () => 1)()": "a Promise, which is not JSON",
    "Math.random()": "not a function",
    "Intl": "Intl is not defined",
    "new Date().toLocaleString()": "not a function",
    "(1234.5).toLocaleString('de')": "not a function",
    "'I'.toLocaleLowerCase('tr')": "not a function",
    "Date.now() - Date.now()": 0,
    "new Date() - new Date()": 0,
    "new Date(2024, 0, 1).getTimezoneOffset()": 0,
    "new Date('2024-03-31T02:30').toISOString()": "2024-03-31T02:30:00.000Z",
    "Object.getPrototypeOf(new Date()).constructor === Date": True,
    "Error.prepareStackTrace = (a, b) => b": "",
    "new Error('x').stack.includes('/')": False,
    "this": None,
    "(function () { return this })()": None,
    "arguments.callee": "",
    "(function f() { return f.caller })()": "",
    "arguments.length": 1,
    "Object.keys(arguments[0]).join()": "state,inputs",
    "state.hidden": "does not declare it",
    "state['hid' + 'den']": "does not declare it",
    "arguments[0].state.hidden": "does not declare it",
    "Object.getPrototypeOf(state).hidden": "does not declare it",
    "Object.getOwnPropertyDescriptor(Object.getPrototypeOf(state), 'hidden').get.call(state)": "does not declare it",
    "{ ...state }.hidden": None,
    "JSON.stringify(Object.getPrototypeOf(state))": "{}",
}
# Something left behind for the next expression.
POISON = {
    "Object.prototype.x = 1": "not extensible",
    "Object.prototype.toString = () => 'x'": "can't be changed",
    "Array.prototype.map = () => 'x'": "read-only",
    "String.prototype.split = null": "read-only",
    "JSON.parse = () => 1": "read-only",
    "JSON.stringify = () => '1'": "read-only",
    "Math.max = () => 1": "read-only",
    "Date.now = () => 1": "read-only",
    "Date.prototype.getTime = () => 1": "read-only",
    "globalThis.leak = 1": "not extensible",
    "leak = 1": "leak is not defined",
    "Object.defineProperty(globalThis, 'leak', { value: 1 })": "not extensible",
    "Object.setPrototypeOf(Array.prototype, null)": "not extensible",
    "Object.setPrototypeOf(globalThis, {})": "not extensible",
    "Object.assign(Object.getPrototypeOf([]), { x: 1 })": "not extensible",
    "delete Array.prototype.map": "could not delete",
    "delete globalThis.JSON": "could not delete",
    "Object.getPrototypeOf(function* () {}()).next = 1": "read-only",
    "Object.getPrototypeOf([][Symbol.iterator]()).next = 1": "read-only",
    "Object.getPrototypeOf(new Map().entries()).next = 1": "read-only",
    "[].constructor.prototype.push = 1": "read-only",
    "RegExp.prototype.exec = () => null": "read-only",
    "Symbol.iterator.description": "Symbol.iterator",
    "now.x = 1": "not extensible",
    "uuid = () => 1": "read-only",
    "shquote = x => x": "read-only",
    "state.__proto__.x = 1": "",
    "({}).__proto__": None,
    "(() => { const o = {}; o['__proto__'] = { polluted: 1 }; return ({}).polluted })()": None,
    'JSON.parse(\'{"__proto__": {"polluted": 1}}\').polluted': None,
    "state.list.push(9)": 4,
    "state.list.sort().join()": "1,2,3",
    "Object.freeze(state).list.length": 3,
    "HiddenField": "HiddenField is not defined",
    "run": "run is not defined",
    "clock = 1": "clock is not defined",
}
# Values that are not JSON, and errors that lie.
VALUES = {
    "0 / 0": "NaN",
    "[1 / 0]": "Infinity",
    "{ a: { b: [NaN] } }": "NaN",
    "10n ** 2n": "BigInt",
    "Symbol('x')": "symbol",
    "() => 1": "a function",
    "{ toJSON() { return 'fine' } }": "fine",
    "{ toJSON() { throw new Error('from toJSON') } }": "from toJSON",
    "(() => { const a = []; a.push(a); return a })()": "circular",
    "(() => { throw { toString() { throw 1 } } })()": "",
    "(() => { throw null })()": "null",
    "(() => { throw 'only text' })()": "only text",
    "(() => { throw Object.assign(new Error('m'), { stack: 5, name: Symbol('x') }) })()": "",
    "(() => { const e = new Error(); Object.defineProperty(e, 'message', { get() { throw 1 } }); throw e })()": "",
    "'\\ud800'.length": 1,
    "shquote('a\\0b')": "NUL",
    "shquote(undefined)": "undefined",
    "new Map([[1, 2]])": "a Map",
    "/x/": "a regular expression",
    "new Uint8Array(3)": "a typed array",
}
# Exhaustion. These have small limits here; the real ones are larger, and hold in the same way.
EXHAUSTION = {
    "(() => { while (true) {} })()": "seconds of CPU time",
    "(() => { try { while (true) {} } catch (e) { return 'caught' } })()": "seconds of CPU time",
    "(() => { try { while (true) {} } finally { return 'kept' } })()": "seconds of CPU time",
    "(() => { throw { toString() { for (;;) {} } } })()": "",
    "(() => { throw { get message() { for (;;) {} } } })()": "",
    "{ toJSON() { for (;;) {} } }": "seconds of CPU time",
    "{ get a() { for (;;) {} } }": "seconds of CPU time",
    "/^(a+)+$/.test('a'.repeat(40) + 'b')": "seconds of CPU time",
    "/(.*)*x/.exec('y'.repeat(5000))": "seconds of CPU time",
    "'x'.repeat(30).split('').sort(() => { for (;;) {} })": "seconds of CPU time",
    "[...(function* () { for (;;) {} })()]": "seconds of CPU time",
    "Array.from({ length: 1e9 }, (_, i) => 0).length": "",
    "(function f() { return f() + 1 })()": "too deeply",
    "(function f(n) { return [1].map(() => f(n + 1)) })(0)": "too deeply",
    "(() => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a })()": "",
    "JSON.parse('['.repeat(1e6))": "",
    "JSON.parse('['.repeat(5e4) + ']'.repeat(5e4))": "",
    "'a'.repeat(2 ** 30)": "",
    "'a'.repeat(7e7)": "memory",
    "(() => { let s = 'a'; for (;;) s += s; })()": "",
    "(() => { const a = []; for (;;) a.push('x'.repeat(1e6) + a.length) })()": "memory",
    "new Array(2 ** 32)": "",
    "new Array(1e9).fill(0)": "",
    "new ArrayBuffer(1e9)": "",
    "new Uint8Array(1e9)": "",
    "2n ** (2n ** 40n)": "",
    "'a'.padEnd(1e9).length": "",
    "Array(1e4).fill('x'.repeat(1e4)).join('')": "",
    "'x'.repeat(1e6).replace(/x/g, 'y'.repeat(1e4)).length": "",
    "(() => { const m = new Map(); for (let i = 0; ; i++) m.set(i, [i]) })()": "",
    "[" * 5000: "",
    "(" * 20000 + "1" + ")" * 20000: "",
    "1" + " + 1" * 15000: 15001,
    "'" + "x" * 70_000 + "'": "characters: the limit is",
    "`${`${`${'x'}`}`}`": "x",
}
# Functions of the engine that go on for minutes, and inside of which it does not look at its time limit.
ENDLESS_LIST = "(() => { const a = []; a[2 ** 32 - 2] = 1; return a })()"
ENDLESS = "{ length: 2 ** 53 - 1 }"
TWO_TEXTS = "['a'.repeat(1e6) + 'b', 'a'.repeat(1e6) + 'c']"
NATIVE = {
    f"{ENDLESS_LIST}.join()": "too long",
    f"`${{{ENDLESS_LIST}}}`": "too long",
    f"{ENDLESS_LIST}.reverse()": "too long",
    f"{ENDLESS_LIST}.sort()": "too long",
    f"{ENDLESS_LIST}.slice(1)": "too long",
    f"{ENDLESS_LIST}.splice(0, 1)": "too long",
    f"{ENDLESS_LIST}.shift()": "too long",
    f"[1].concat({ENDLESS_LIST})": "too long",
    f"JSON.stringify({{ a: 1 }}, {ENDLESS_LIST})": "too long",
    f"String.raw({{ raw: {ENDLESS} }})": "too long",
    "String.raw({ get raw() { return [] } })": "needs a template",
    f"[].join.call({ENDLESS})": "too long",
    f"[].copyWithin.call({ENDLESS}, 0, 1)": "too long",
    f"[].unshift.call({ENDLESS}, 1)": "too long",
    "[].join.call({ get length() { return 2 ** 53 - 1 } })": "plain length",
    "[].join.call(new (class { get length() { return 2 ** 53 - 1 } })())": "plain length",
    "[].join.call({ length: { valueOf: () => 2 ** 53 - 1 } })": "plain length",
    f"[].concat({{ ...{ENDLESS}, [Symbol.isConcatSpreadable]: true }})": "only lists",
    f"[].flat.call({ENDLESS})": "seconds of CPU time",
    f"[].values.call({ENDLESS}).drop(2 ** 52)": "not a function",
    f"new Set([1]).union({{ size: 1, has() {{}}, keys: () => [].values.call({ENDLESS}) }})": "expected a Set",
    (
        "new Set([1]).union(Object.defineProperty(new Set(), 'keys', "
        f"{{ value: () => [].values.call({ENDLESS}) }}))"
    ): "expected a Set",
    "'a'.repeat(4e5).indexOf('a'.repeat(2e5) + 'b')": "too long to look for",
    "'a'.repeat(4e5).lastIndexOf('a'.repeat(2e5) + 'b')": "too long to look for",
    "'a'.repeat(4e5).includes({ toString: () => 'a'.repeat(2e5) + 'b' })": "too long to look for",
    "'a'.repeat(4e5).split('a'.repeat(2e5) + 'b')": "too long to look for",
    "'a'.repeat(4e5).replace('a'.repeat(2e5) + 'b', '')": "too long to look for",
    "'a'.repeat(4e5).replaceAll('a'.repeat(2e5) + 'b', '')": "too long to look for",
    f"(([x, y]) => Array(1e6).fill(x).indexOf(y))({TWO_TEXTS})": "too long to look for",
    f"(([x, y]) => Array(1e6).fill(x).includes(y))({TWO_TEXTS})": "too long to look for",
    f"(([x, y]) => Array.from({{ length: 1e5 }}, (_, i) => i % 2 ? x : y).sort())({TWO_TEXTS})": "seconds of CPU time",
    "('a' + '\u0301\u0327'.repeat(1e5)).normalize('NFD')": "marks on one letter",
    "'a'.repeat(3e7).split('')": "its memory is full",
}
# What the same functions do with ordinary values.
ORDINARY = {
    "[[1, [2]], , 3].flat()": [1, [2], 3],
    "[[1, [2]], 3].flat(Infinity)": [1, 2, 3],
    "[1, 2].flatMap(x => [x, [x]])": [1, [1], 2, [2]],
    "[3, 10, 'b', undefined, 'a'].sort()": [10, 3, "a", "b", None],
    "['b' + 'x'.repeat(3e6), 'a' + 'x'.repeat(3e6), 'c'].sort().map(x => x[0]).concat(9, [8, [7]])": [
        *"abc",
        9,
        8,
        [7],
    ],
    "[1, 2, 1].lastIndexOf(1) + [NaN].indexOf(NaN) + 'abcabc'.lastIndexOf('c', 3)": 3,
    "[[NaN].includes(NaN), 'a5'.includes(5), 'undefined'.includes()]": [True, True, True],
    "'aXbX'.replaceAll('X', x => x + '$') + 'a1b'.split(/\\d/) + 'a-b'.split('-', 1)": "aX$bX$a,ba",
    "'aXb'.replace('X', '[$&]') + 'ab'.replace(/b/g, 'c')": "a[X]bac",
    "[...new Set([1, 2]).union(new Set([3]))]": [1, 2, 3],
    "String.raw`\\n${1}` + JSON.stringify({ a: 1, b: 2 }, ['a'])": '\\n1{"a":1}',
    "[].slice.call('abc', 1).join('') + [].join.call({ length: 2, 0: 'a', 1: 'b' })": "bca,b",
    "String.prototype.indexOf.call(null, 'n')": "",
    "'é'.normalize('NFD').length + ['b', 'a'].sort((x, y) => x.localeCompare(y)).length": 4,
}
ATTACKS = {**CODE, **OUTSIDE, **POISON, **VALUES, **EXHAUSTION, **NATIVE}


def job(source: str, limits: EngineLimits = QUICK) -> Job:
    return Job(source, tuple(SCOPE), json.dumps(SCOPE), "value", 1e12, "seed", ("hidden",), limits)


def test_there_are_more_than_a_hundred_attempts() -> None:
    assert len(ATTACKS) > 150


def name_of(source: str) -> str:
    return re.sub(r"\W+", " ", source)[:50].strip()


@pytest.mark.parametrize(
    "source", [one for one in ATTACKS if one not in {**EXHAUSTION, **NATIVE}], ids=name_of
)
def test_an_attack_is_stopped_and_leaves_nothing_behind(source: str) -> None:
    check(source, ATTACKS[source])


@pytest.mark.parametrize("source", [*EXHAUSTION, *NATIVE], ids=name_of)
def test_exhaustion_is_stopped_and_leaves_nothing_behind(source: str) -> None:
    check(source, ATTACKS[source])


@pytest.mark.parametrize("source", ORDINARY, ids=name_of)
def test_functions_that_can_be_misused_work_on_ordinary_values(source: str) -> None:
    check(source, ORDINARY[source])


@pytest.mark.skipif(os.name != "posix", reason="limits of CPU time of POSIX")
def test_the_system_ends_a_process_of_its_own_that_the_engine_does_not_stop() -> None:
    code = "from wfc_runtime.javascript.engine import _stop_after; _stop_after(0.5)\nwhile True: pass"
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode < 0


def check(source: str, expected: object) -> None:
    outcome = None
    try:
        outcome = json.loads(execute(job(source)))
    except ExpressionError as caught:
        error: ExpressionError | None = caught
    else:
        error = None
    if error is not None:
        assert isinstance(expected, str), error
        assert expected in str(error)
        assert "\n" not in str(error)
        assert error.template == source
        assert error.start is not None
        assert error.end is not None
        assert 0 <= error.start <= error.end <= len(source)
    else:
        assert outcome == expected
    assert json.loads(execute(job("[typeof leak, {}.polluted ?? null, state.list.map(x => x + 1)]"))) == [
        "undefined",
        None,
        [4, 2, 3],
    ]


def test_other_threads_evaluate_while_an_endless_loop_is_stopped() -> None:
    stopped = threading.Event()
    messages: list[str] = []

    def attack() -> None:
        try:
            execute(job("(() => { for (;;) {} })()", EngineLimits(seconds=1)))
        except ExpressionError as error:
            messages.append(error.message)
        stopped.set()

    thread = threading.Thread(target=attack)
    thread.start()
    answered = 0
    while not stopped.is_set():
        assert execute(job("state.list.length")) == "3"
        answered += 1
        stopped.wait(0.01)
    thread.join()
    assert messages == ["takes more than 1 seconds of CPU time"]
    assert answered > 1


def test_an_expression_that_is_slow_only_in_this_process_gets_its_value() -> None:
    """The verdict of the process of its own counts: 0.2 s are used up here by the other threads."""
    is_over = threading.Event()
    busy = [threading.Thread(target=lambda: [None for _ in iter(is_over.is_set, True)]) for _ in range(3)]
    for thread in busy:
        thread.start()
    try:
        source = "(() => { let n = 0; for (let i = 0; i < 3e6; i++) n += i; return n })()"
        assert execute(job(source, EngineLimits(seconds=5))) == "4499998500000"
    finally:
        is_over.set()
        for thread in busy:
            thread.join()


def test_a_module_in_the_working_directory_is_not_imported_by_the_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("import pathlib; pathlib.Path('touched').touch()", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExpressionError, match="CPU time"):
        execute(job("(() => { for (;;) {} })()"))
    assert not (tmp_path / "touched").exists()
