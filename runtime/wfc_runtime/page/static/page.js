// The shell: addresses, the key, requests to the API, the heading, keys of the keyboard. Views are loaded when needed.

import { html, nothing, render } from "./vendor/lit-html.js";

export { html, nothing, render };

// -- storage ------------------------------------------------------------------

export const kept = {
  get(name) {
    try { return localStorage.getItem(`wfc.${name}`) || ""; } catch { return ""; }
  },
  set(name, value) {
    try {
      if (value) localStorage.setItem(`wfc.${name}`, value);
      else localStorage.removeItem(`wfc.${name}`);
    } catch { /* A browser may forbid it; then a draft lives as long as the tab. */ }
  },
};

// -- requests -----------------------------------------------------------------

export class Refusal extends Error {
  constructor(status, error) {
    super(error.message);
    Object.assign(this, { status, code: error.code, hint: error.hint || "" });
  }
  // The service's own words.
  get words() {
    const stop = /[.?!]$/.test(this.message) ? "" : ".";
    return this.hint ? `${this.message}${stop} ${this.hint}` : this.message;
  }
}

const offline = () => new Refusal(0, { code: "offline", message: "the server does not answer", hint: "Is `wfc ui` still running?" });

async function request(path, options = {}) {
  let reply;
  const headers = { Authorization: `Bearer ${kept.get("key")}`, ...options.headers };
  try {
    reply = await fetch(path, { ...options, headers });
  } catch {
    throw offline();
  }
  if (reply.ok) return reply;
  const text = await reply.text();
  let error = { code: "refused", message: text || reply.statusText };
  try { error = JSON.parse(text).error; } catch { /* not from the API */ }
  if (reply.status === 401) locked();
  throw new Refusal(reply.status, error);
}

export const api = {
  get: async (path) => (await request(`/api/${path}`)).json(),
  post: async (path, body) => (await request(`/api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ name: kept.get("name"), ...body }),
  })).json(),
  // Under trusted types no text becomes a document. A request may become one.
  svg: (path) => new Promise((resolve, reject) => {
    const asked = new XMLHttpRequest();
    asked.open("GET", `/api/${path}`);
    asked.setRequestHeader("Authorization", `Bearer ${kept.get("key")}`);
    asked.responseType = "document";
    asked.onload = () => asked.status === 200 && asked.responseXML
      ? resolve(document.importNode(asked.responseXML.documentElement, true))
      : reject(new Refusal(asked.status, { code: "picture", message: "there is no chart of this version" }));
    asked.onerror = () => reject(offline());
    asked.send();
  }),
  // A link can't send the key, so a download is fetched first.
  save: async (path, name) => {
    const blob = await (await request(`/api/${path}`)).blob();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    // Some browsers read the data only after this turn.
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  },
};

// -- text ---------------------------------------------------------------------

const STRANGE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const MOST = 20000;

// Text of a run is text. Characters that would reorder or hide it are shown by their number.
export function text(value) {
  const whole = typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
  const shown = whole.slice(0, MOST).replace(STRANGE, (one) => `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
  return whole.length > MOST ? `${shown}… (${(whole.length - MOST).toLocaleString("en")} more characters)` : shown;
}

export const line = (value, most = 120) => {
  const found = text(typeof value === "string" ? value : JSON.stringify(value)).replace(/\s+/g, " ").trim();
  return found.length > most ? `${found.slice(0, most)}…` : found;
};

export function seconds(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  // The clock of another machine may be ahead.
  if (value < 1) return `${Math.round(Math.max(0, value) * 1000)} ms`;
  // Rounded before it is divided, so that no part becomes 60.
  const whole = Math.round(value);
  if (whole < 60) return `${value < 9.95 ? value.toFixed(1) : whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(value / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(value / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export const between = (from, to) => (Date.parse(to || new Date().toISOString()) - Date.parse(from)) / 1000;

export function ago(moment) {
  const passed = between(moment);
  if (passed < 60) return passed < 5 ? "just now" : `${Math.round(passed)} s ago`;
  if (passed < 3600) return `${Math.round(passed / 60)} min ago`;
  return passed < 172800 ? `${Math.round(passed / 3600)} h ago` : `${Math.round(passed / 86400)} d ago`;
}

export const when = (moment) => html`<time datetime=${moment} title=${new Date(moment).toLocaleString()}>${ago(moment)}</time>`;

// A moment of today needs no date.
export const clock = (moment) => {
  const at = new Date(moment);
  return at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString()
    : at.toLocaleString([], { month: "short", day: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit" });
};

export const short = (id) => id.slice(0, 8);

const STATUS = {
  pending_action: ["◆", "in progress"],
  running: ["▶", "running"],
  completed: ["✓", "completed"],
  failed: ["✕", "failed"],
  cancelled: ["⊘", "cancelled"],
};

export const chip = (status) => {
  const [shape, word] = STATUS[status] || ["?", status];
  return html`<span class="chip is-${status}"><span aria-hidden="true">${shape}</span> ${word}</span>`;
};

// The hint of the service is about a tool of agents. A person has the list.
const hintOf = (error) => error.code === "unknown_run" ? html`<a href="/runs">All runs</a>` : text(error.hint ?? "");

export const problem = (error) => html`<div class="notice is-failed" role="alert"><strong>${text(error.message)}</strong>
  ${error.hint ? html`<p>${hintOf(error)}</p>` : nothing}</div>`;

export function say(words) {
  document.getElementById("said").textContent = words;
}

// -- addresses ----------------------------------------------------------------

const VIEWS = [
  [/^\/$/, "inbox", []],
  [/^\/runs$/, "runs", []],
  [/^\/runs\/([^/]+)(?:\/(timeline|journal|history|state|children|source))?$/, "run", ["run", "tab"]],
  [/^\/workflows$/, "workflow", []],
  [/^\/workflows\/([^/]+)$/, "workflow", ["workflow"]],
];
const main = document.getElementById("main");
let view = null;
let about = { read_only: false };
export const isReadOnly = () => about.read_only;

export const query = () => new URLSearchParams(location.search);

// Change the address: `replace` for what is only a detail of the same place.
export function go(path, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  return show();
}

export function withQuery(changes) {
  const found = query();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "" || value === undefined) found.delete(name);
    else found.set(name, value);
  }
  const rest = found.toString();
  return location.pathname + (rest ? `?${rest}` : "");
}

// The view of an address and what the address names; undefined if it is no place.
function placeOf(path) {
  for (const [pattern, name, parts] of VIEWS) {
    const match = path.match(pattern);
    try {
      if (match) return [name, Object.fromEntries(parts.map((part, number) => [part, match[number + 1] && decodeURIComponent(match[number + 1])]))];
    } catch { /* not the encoding of a name */ }
  }
  return undefined;
}

function nowhere() {
  view?.close?.();
  view = null;
  main.replaceChildren();
  delete main._$litPart$;
  titled("Not found · wfc");
  render(html`<h1>Nothing here</h1><p class="empty">This page has no place <code>${line(location.pathname)}</code>.<br><a href="/">To the inbox</a></p>`, main);
}

// The script of a place could not be had. A browser may keep that failure, so only a new document asks again.
function unloaded() {
  view = { key: "unloaded" };
  titled("Not loaded · wfc");
  main.replaceChildren();
  delete main._$litPart$;
  const again = html`<p><button @click=${() => location.reload()}>Try again</button></p>`;
  render(html`<h1>Not loaded</h1>${problem(offline())}${again}`, main);
}

async function show() {
  const found = placeOf(location.pathname);
  top();
  if (!found) {
    nowhere();
    return;
  }
  const [name, given] = found;
  const key = `${name} ${given.run || given.workflow || ""}`;
  if (view?.key === key) {
    view.moved?.(given);
    return;
  }
  view?.close?.();
  view = { key };
  let module;
  try {
    module = await import(`./${name}.js`);
  } catch {
    if (view.key === key) unloaded();
    return;
  }
  if (view.key !== key) return;
  main.replaceChildren();
  delete main._$litPart$;
  view = Object.assign(module.open(main, given), { key });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='/']");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || link.target) return;
  event.preventDefault();
  const other = new URL(link.href).pathname !== location.pathname;
  go(link.getAttribute("href"));
  if (other && !link.closest("nav.tabs")) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
});
addEventListener("popstate", show);

// -- the heading --------------------------------------------------------------

let counts = null;
let title = "wfc";
let live = { state: "connecting" };

let counting = null;
let again = false;

// Count anew. What changes while a question is on its way leads to another one.
export function recount() {
  if (counting) {
    again = true;
    return counting;
  }
  counting = api.get("counts").then((found) => { counts = found; top(); return found; }, () => counts).finally(() => {
    counting = null;
    if (again) {
      again = false;
      recount();
    }
  });
  return counting;
}

export const counted = async () => counts || counting || recount();

function top() {
  const here = location.pathname;
  const waiting = counts?.waiting || 0;
  const place = (path, name, more = nothing) => html`<a href=${path} aria-current=${
    (path === "/" ? here === "/" : here.startsWith(path)) ? "page" : nothing}>${name}${more}</a>`;
  document.title = (waiting ? `(${waiting}) ` : "") + title;
  render(html`
    <a class="brand" href="/" aria-label="wfc, inbox">wfc</a>
    <nav aria-label="Places">
      ${place("/", "Inbox", waiting ? html` <span class="count" aria-label="${waiting} waiting">${waiting}</span>` : nothing)}
      ${place("/runs", "Runs")} ${place("/workflows", "Workflows")}
    </nav>
    <span class="spring"></span>
    ${about.read_only ? html`<span class="tag">read-only</span>` : html`
      <label class="name" title="Recorded with your answers. Nobody checks it.">Answering as
        <input aria-label="Your name, recorded with your answers; nobody checks it" placeholder="your name"
          maxlength="80" autocomplete="name" .value=${kept.get("name")} @change=${(event) => kept.set("name", event.target.value.trim())}></label>`}
    <span class="live is-${live.state}" role="img" aria-label=${liveWords()} title=${liveWords()}></span>${live.state === "lost" ? html`<span class="lost" aria-hidden="true">${liveWords()}</span>` : nothing}
    <button class="quiet" @click=${help} aria-label="Keys of the keyboard">?</button>
  `, document.getElementById("top"));
}

const liveWords = () => ({
  live: "live",
  connecting: "connecting",
  lost: `not live since ${live.since ? new Date(live.since).toLocaleTimeString() : "now"}`,
}[live.state]);

export function titled(words) {
  title = words;
  top();
}

// -- the key ------------------------------------------------------------------

function locked() {
  view?.close?.();
  view = { key: "locked" };
  delete main._$litPart$;
  main.replaceChildren();
  render(html`<h1>This page needs a new link</h1>
    <p class="empty">The server that gave this browser its key has ended, or the link was used before.<br>
    Run <code>wfc ui</code> and open the link that it prints.</p>`, main);
}

// The new link was opened in another tab, whose key is also this tab's.
addEventListener("storage", (event) => {
  if (view?.key === "locked" && event.key === "wfc.key" && event.newValue) location.reload();
});

async function unlock() {
  const found = location.hash.match(/^#key=(.+)$/);
  if (!found) return;
  history.replaceState(null, "", location.pathname + location.search);
  try {
    kept.set("key", (await api.post("session", { key: found[1] })).key);
  } catch (error) {
    if (error.status !== 401) throw error;
    // An old link in a browser that has a key already does no harm.
  }
}

// -- keys of the keyboard -----------------------------------------------------

const KEYS = [
  ["g i", "Inbox"], ["g r", "Runs"], ["g w", "Workflows"], ["/", "Search runs"], ["j, k", "Next row, previous row"],
  ["Enter", "Open the row"], ["←, →", "Step through the events of a run"], ["+, −, 0", "Zoom, on the chart"], ["?", "This list"],
];
let before = "";

function help() {
  const dialog = document.getElementById("help");
  render(html`<h2 id="help-title">Keys</h2><dl>${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
    <button @click=${() => dialog.close()}>Close</button>`, dialog);
  dialog.showModal();
}

addEventListener("keydown", (event) => {
  if (event.target.closest?.("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  const place = { "g i": "/", "g r": "/runs", "g w": "/workflows" }[`${before} ${event.key}`];
  before = event.key;
  if (place) go(place);
  else if (event.key === "?") help();
  else if (event.key === "/") {
    event.preventDefault();
    const field = document.getElementById("search");
    if (field) field.focus();
    else go("/runs").then(() => setTimeout(() => document.getElementById("search")?.focus(), 100));
  } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    // What scrolls sideways keeps these keys.
    if (!event.target.closest?.(".chart-box, .scroll")) view?.step?.(event.key === "ArrowLeft" ? -1 : 1);
  } else if (event.key === "j" || event.key === "k") {
    const rows = [...document.querySelectorAll("[data-row] a")];
    const at = rows.indexOf(document.activeElement);
    rows[Math.max(0, Math.min(rows.length - 1, at + (event.key === "j" ? 1 : -1)))]?.focus();
  }
});

// -- start --------------------------------------------------------------------

async function start() {
  await unlock();
  // Not beside the others: its cursor must be from before anything was loaded.
  about = await api.get("about").catch(() => about);
  await show();
  // What the place shows is asked for first.
  recount();
  // Live updates come after what the place shows has been painted. They begin at the cursor, so nothing is missed.
  await view?.ready;
  await new Promise((done) => (globalThis.requestIdleCallback || setTimeout)(done, { timeout: 1000 }));
  const { follow } = await import("./feed.js");
  follow(kept.get("key"), about.cursor || "", (news) => {
    if (news.live) {
      live = news.live;
      top();
      if (live.state === "live" && view?.key === "unloaded") location.reload();
      return;
    }
    if (news.changes.length || news.resync) recount();
    view?.changed?.(news);
  });
}

start().catch((error) => render(problem(error), main));
