// The world that an expression sees. Evaluates to the function `run`, which is the only way in.
// An expression reaches its own scope and the intrinsics below, frozen; it can keep nothing for the next one.
(function () {
  "use strict";
  const { parse, stringify } = JSON;
  const { defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
  const { apply, construct, ownKeys } = Reflect;
  const { isArray } = Array;
  const { call } = Function.prototype;
  const { imul, floor, trunc } = Math;
  const NativeDate = Date;
  let clock = 0;
  let seed = "";
  let count = 0;

  // What depends on anything but the scope, makes code from text, or watches the garbage collector.
  for (const name of [
    "eval", "Function", "Proxy", "Reflect", "WeakRef", "FinalizationRegistry", "Atomics", "SharedArrayBuffer",
    "performance", "queueMicrotask", "DOMException", "Promise", "gc", "print", "console", "std", "os", "bjson",
    "setTimeout", "setInterval", "navigator", "InternalError", "DisposableStack", "AsyncDisposableStack",
  ]) delete globalThis[name];
  delete Math.random;
  for (const name of ["prepareStackTrace", "captureStackTrace", "stackTraceLimit"]) delete Error[name];
  for (const name of ["__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"])
    delete Object.prototype[name];
  const functions = [function () {}, function* () {}, async function () {}, async function* () {}].map(getPrototypeOf);
  for (const prototype of functions) delete prototype.constructor;
  for (const kind of [Object, Array, Number, BigInt, String, Date, getPrototypeOf(Int8Array)])
    for (const name of ownKeys(kind.prototype))
      if (typeof name === "string" && name.startsWith("toLocale")) delete kind.prototype[name];

  // The engine does not look at its limits inside of its own functions: one that would take minutes is refused.
  const MOST = 5_000_000; // Lists with more elements than this are nearly empty: they would not fit into the memory.
  const WORK = 2 ** 31; // Characters that one call may compare.
  function wrap(where, name, around) {
    const native = where[name];
    replace(where, name, { [name]() { return around(native, this, arguments); } }[name]);
  }
  function replace(where, name, value) {
    defineProperty(where, name, { value, writable: true, enumerable: false, configurable: true });
  }
  function sized(list) {
    if (isArray(list) && list.length <= MOST) return list;
    if (list === null || list === undefined) return list;
    const found = getOwnPropertyDescriptor(list, "length");
    // A length that is computed could be another one when the engine reads it.
    if (found === undefined ? "length" in list : !("value" in found) || typeof found.value === "object")
      throw new TypeError("a list needs a plain length");
    if (found !== undefined && found.value > MOST) throw new RangeError("a list of " + found.value + " elements is too long");
    return list;
  }
  function compared(many, text) {
    if (many * text.length > WORK) throw new RangeError("the texts are too long to look for one in the other");
  }
  const lists = Array.prototype;
  for (const name of ["join", "reverse", "copyWithin", "slice", "splice", "shift", "unshift", "toReversed", "toSpliced", "with"])
    wrap(lists, name, (native, self, given) => apply(native, sized(self), given));
  for (const name of ["indexOf", "lastIndexOf", "includes"]) {
    wrap(lists, name, (native, self, given) => {
      sized(self);
      if (typeof given[0] === "string" && self !== null && self !== undefined) compared(self.length, given[0]);
      return apply(native, self, given);
    });
  }
  function order(one, other) {
    one = `${one}`;
    other = `${other}`;
    return one < other ? -1 : one > other ? 1 : 0;
  }
  for (const name of ["sort", "toSorted"]) {
    wrap(lists, name, (native, self, given) => {
      sized(self);
      if (given[0] === undefined && isArray(self)) {
        let longest = 0;
        for (let at = 0; at < self.length; at += 1)
          if (typeof self[at] === "string" && self[at].length > longest) longest = self[at].length;
        if (longest * self.length > WORK / 64) return apply(native, self, [order]);
      }
      return apply(native, self, given);
    });
  }
  wrap(lists, "concat", (native, self, given) => {
    let total = 0;
    for (const one of [self, ...given]) {
      if (typeof one !== "object" || one === null) continue;
      if (isArray(one)) total += sized(one).length;
      else if (Symbol.isConcatSpreadable in one) throw new TypeError("only lists can be joined");
    }
    if (total > MOST) throw new RangeError("a list of " + total + " elements is too long");
    return apply(native, self, given);
  });
  function flatten(list, depth, into) {
    const size = list.length;
    for (let at = 0; at < size; at += 1) {
      if (!(at in list)) continue;
      if (depth >= 1 && isArray(list[at])) flatten(list[at], depth - 1, into);
      else into.push(list[at]);
    }
    return into;
  }
  const { map } = lists;
  wrap(lists, "flat", (_, self, given) => flatten(self, given[0] === undefined ? 1 : trunc(given[0]), []));
  wrap(lists, "flatMap", (_, self, given) => flatten(apply(map, self, given), 1, []));
  for (const name of ["indexOf", "lastIndexOf", "includes", "split", "replace", "replaceAll"]) {
    const native = String.prototype[name];
    const direct = call.bind(native);
    function converted(self, sought, given) {
      const isText = typeof sought === "string" || (typeof sought === "object" && !(sought instanceof RegExp));
      if (!isText || self === null || self === undefined) return apply(native, self, given);
      const [text, part] = [`${self}`, `${sought}`];
      compared(text.length, part);
      return apply(native, text, [part, given[1]]);
    }
    // Calls with texts are frequent, and must not become slower by much.
    replace(String.prototype, name, {
      [name](sought, more) {
        return typeof sought === "string" && typeof this === "string" && this.length * sought.length <= WORK
          ? direct(this, sought, more) : converted(this, sought, arguments);
      },
    }[name]);
  }
  for (const name of ["normalize", "localeCompare"]) {
    wrap(String.prototype, name, (native, self, given) => {
      for (const one of [self, given[0]])
        if (typeof one === "string" && one.length > 1000 && /\p{M}{1000}/u.test(one))
          throw new RangeError("more than 1,000 marks on one letter");
      return apply(native, self, given);
    });
  }
  wrap(String, "raw", (native, self, given) => {
    const found = getOwnPropertyDescriptor(given[0], "raw");
    if (found === undefined || !("value" in found)) throw new TypeError("String.raw needs a template");
    sized(found.value);
    return apply(native, self, given);
  });
  wrap(JSON, "stringify", (native, self, given) => {
    if (isArray(given[1])) sized(given[1]);
    return apply(native, self, given);
  });
  for (const name of [
    "union", "intersection", "difference", "symmetricDifference", "isSubsetOf", "isSupersetOf", "isDisjointFrom",
  ]) {
    if (!(name in Set.prototype)) continue;
    wrap(Set.prototype, name, (native, self, given) => {
      const other = given[0];
      // Others have functions of their own, which can go on forever.
      if (!(other instanceof Set) || getPrototypeOf(other) !== Set.prototype || ownKeys(other).length > 0)
        throw new TypeError("expected a Set");
      return apply(native, self, given);
    });
  }
  delete Iterator.prototype.drop;

  // A Date that knows the time of the event, and whose local time is UTC.
  const zone = /(?:z|utc|gmt|[+-]\d\d:?\d\d)\s*(?:\([^)]*\))?\s*$/i;
  const dateOnly = /^\s*[+-]?\d{4,6}(?:-\d\d){0,2}\s*$/;
  function parseDate(text) {
    text = String(text);
    if (zone.test(text) || dateOnly.test(text)) return NativeDate.parse(text);
    return NativeDate.parse(/^\s*[+-]?\d{4,6}-\d\d-\d\dT/i.test(text) ? text.trim() + "Z" : text + " UTC");
  }
  function timeOf(parts) {
    if (parts.length === 0) return clock;
    if (parts.length > 1) return apply(NativeDate.UTC, NativeDate, parts);
    const [only] = parts;
    if (only instanceof NativeDate) return only.getTime();
    const plain = typeof only === "object" && only !== null ? only.valueOf() : only;
    return typeof plain === "string" ? parseDate(plain) : Number(plain);
  }
  const prototype = NativeDate.prototype;
  for (const name of ownKeys(prototype))
    if (typeof name === "string" && /^[gs]etUTC/.test(name)) prototype[name.replace("UTC", "")] = prototype[name];
  prototype.getTimezoneOffset = function getTimezoneOffset() { return 0; };
  prototype.toDateString = function toDateString() {
    return this.toUTCString().replace(/^(\w+), (\d+) (\w+) (-?\d+).*/, "$1 $3 $2 $4");
  };
  prototype.toTimeString = function toTimeString() { return this.toISOString().slice(-13, -5) + " GMT+0000 (UTC)"; };
  prototype.toString = function toString() {
    return Number.isNaN(this.getTime()) ? "Invalid Date" : this.toDateString() + " " + this.toTimeString();
  };
  const SafeDate = function Date(...parts) {
    if (new.target === undefined) return construct(NativeDate, [clock]).toString();
    return construct(NativeDate, [timeOf(parts)], new.target);
  };
  defineProperty(SafeDate, "prototype", { value: prototype, writable: false });
  defineProperty(prototype, "constructor", { value: SafeDate });
  defineProperty(SafeDate, "length", { value: 7 });
  SafeDate.now = function now() { return clock; };
  SafeDate.parse = function parse(text) { return parseDate(text); };
  SafeDate.UTC = NativeDate.UTC;
  globalThis.Date = SafeDate;

  // The four functions that the language adds.
  function mix(word) {
    word = imul(word ^ (word >>> 16), 0x85ebca6b);
    word = imul(word ^ (word >>> 13), 0xc2b2ae35);
    return (word ^ (word >>> 16)) >>> 0;
  }
  function hash(text, lane) {
    let word = mix(lane + 1);
    for (let at = 0; at < text.length; at += 1) word = imul(word ^ text.charCodeAt(at), 0x5bd1e995 + 2 * lane) ^ (word >>> 15);
    return mix(word);
  }
  globalThis.now = function now() { return construct(NativeDate, [clock]).toISOString(); };
  globalThis.uuid = function uuid() {
    count += 1;
    const words = [0, 1, 2, 3].map((lane) => hash(`${seed}/${count}`, lane));
    const hex = words.map((word) => word.toString(16).padStart(8, "0")).join("");
    const variant = "89ab"[parseInt(hex[16], 16) & 3];
    return [hex.slice(0, 8), hex.slice(8, 12), "4" + hex.slice(13, 16), variant + hex.slice(17, 20), hex.slice(20)].join("-");
  };
  globalThis.shquote = function shquote(value) {
    const text = show(value);
    if (text.includes("\0")) throw new TypeError("a command can't contain a NUL character");
    return /^[\w@%+=:,.\/-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\"'\"'") + "'";
  };
  globalThis.path_to_key = function path_to_key(value) { return show(value).replace(/[^A-Za-z0-9_]/g, "_"); };

  // Values that are not JSON say so, instead of becoming `{}` or nothing.
  function refuse(what) {
    return function toJSON() { throw new TypeError("the result has " + what + ", which is not JSON"); };
  }
  const refused = [
    [Object.getPrototypeOf(function () {}), "a function"], [Map.prototype, "a Map"], [Set.prototype, "a Set"],
    [WeakMap.prototype, "a WeakMap"], [WeakSet.prototype, "a WeakSet"], [RegExp.prototype, "a regular expression"],
    [Error.prototype, "an Error"], [ArrayBuffer.prototype, "an ArrayBuffer"], [DataView.prototype, "a DataView"],
    [getPrototypeOf(Int8Array).prototype, "a typed array"], [getPrototypeOf(async function () {}), "a function"],
    [getPrototypeOf((async function () {})()), "a Promise"], [getPrototypeOf(getPrototypeOf([][Symbol.iterator]())), "an iterator"],
  ];
  for (const [where, what] of refused) defineProperty(where, "toJSON", { value: refuse(what) });
  function isLost(value) {
    switch (typeof value) {
      case "number": return value - value !== 0;
      case "symbol": return true;
      case "object":
        if (value === null) return false;
        if (isArray(value)) return value.some(isLost);
        for (const key in value) if (isLost(value[key])) return true;
    }
    return false;
  }
  function json(value) {
    if (value === undefined) return "null";
    const text = stringify(value);
    // NaN and Infinity become null on the way. Looking at every value takes longer than all the rest.
    if (text === undefined || (text.includes("null") && isLost(value)))
      throw new TypeError("the result has " + nameOf(value) + ", which is not JSON");
    return text;
  }
  function nameOf(value) {
    return typeof value === "number" ? String(value) : typeof value === "symbol" ? "a symbol" : "NaN, Infinity or a symbol";
  }
  function show(value) {
    switch (typeof value) {
      case "string": return value;
      case "undefined": throw new ReferenceError("the value is undefined");
      case "symbol": case "function": throw new TypeError("a " + typeof value + " can't be printed");
      case "object": return value === null ? "null" : value instanceof NativeDate ? value.toISOString() : json(value);
      default: return String(value);
    }
  }

  // Freezing makes inherited properties read-only in every object: `counts.constructor = 1` would fail. As
  // accessors they can be overridden.
  function overridable(where) {
    for (const name of ownKeys(where)) {
      const found = getOwnPropertyDescriptor(where, name);
      if (!("value" in found) || !found.configurable) continue;
      const { value } = found;
      defineProperty(where, name, {
        get() { return value; },
        set(given) {
          if (this === where) throw new TypeError("built-in objects can't be changed");
          defineProperty(this, name, { value: given, writable: true, enumerable: true, configurable: true });
        },
        enumerable: false, configurable: false,
      });
    }
  }
  for (const kind of [Object, Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, AggregateError])
    overridable(kind.prototype);
  const seen = new Set();
  function freezeAll(value) {
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) return;
    seen.add(value);
    for (const name of ownKeys(value)) {
      const found = getOwnPropertyDescriptor(value, name);
      for (const part of [found.value, found.get, found.set]) freezeAll(part);
    }
    freezeAll(getPrototypeOf(value));
    freeze(value);
  }
  const generated = [(function* () {})(), (async function* () {})(), (async function () {})()];
  const iterators = [[][Symbol.iterator](), ""[Symbol.iterator](), new Map().keys(), new Set().keys(), "".matchAll(/a/g)];
  const helpers = [[].values().map((x) => x), Iterator.from({ next() {} })];
  for (const one of [...functions, ...generated, ...iterators, ...helpers]) freezeAll(getPrototypeOf(one));
  freezeAll(globalThis);

  // Fields that exist but that the step did not declare: reading one fails, whether by name or by a computed key.
  function guard(names) {
    const hidden = {};
    for (const name of parse(names))
      defineProperty(hidden, name, {
        get() { throw new HiddenField(name); },
        set(value) { defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true }); },
      });
    return freeze(hidden);
  }
  class HiddenField extends Error {
    constructor(name) { super(name); this.name = "HiddenField"; }
  }
  function describe(error) {
    try {
      if (error === null)
        return '{"name":"Error","message":"null was thrown, as the engine does when its memory is full","stack":""}';
      if (!(error instanceof Error)) return stringify({ name: "Error", message: show(error).slice(0, 1000), stack: "" });
      const { name, message, stack } = error;
      return stringify({
        name: String(name).slice(0, 100), message: String(message).slice(0, 1000),
        stack: typeof stack === "string" ? stack.slice(0, 4000) : "",
      });
    } catch (_) {
      return '{"name":"Error","message":"the thrown value can\'t be printed","stack":""}';
    }
  }
  return function run(expression, scope, mode, now, id, hidden) {
    clock = floor(now);
    seed = id;
    count = 0;
    try {
      if (mode === "guard") return guard(scope);
      const given = parse(scope);
      if (hidden !== undefined) setPrototypeOf(given.state, hidden);
      const value = expression(given);
      // The text as the engine's own functions made it: a concatenated one can't cross the border.
      return mode === "truth" ? (value ? "true" : "false") : mode === "text" ? stringify(show(value)) : json(value);
    } catch (error) {
      return freeze({ error: describe(error) });
    }
  };
})()
