// One run: where it is and how it got there, what it waits for or how it ended, and everything that happened.

import {
  ago, api, between, chip, clock, go, html, isReadOnly, line, nothing, problem, query, render, say, seconds, short, text, titled, when, withQuery,
} from "./page.js";
import { Chart, sizeButtons } from "./chart.js";
import { answerForm, consequences, formOf } from "./form.js";
import { journal, joined } from "./journal.js";
import { asOf, foldWords, lastMoment, timeline, within } from "./timeline.js";

const TABS = ["timeline", "journal", "history", "state", "children", "source"];
const ENDED = ["completed", "failed", "cancelled"];

// As many as are shown, so that a change takes away nothing that was loaded; at most what a request may ask for.
const asMany = (usual, shown) => Math.min(500, Math.max(usual, shown?.length || 0));

const actionsOf = (run) => run?.actions || (run?.action ? [run.action] : []);

// The number of an event in the address; 0 for now, and for what is no number of an event.
const eventOf = (given) => /^[1-9]\d{0,8}$/.test(given || "") ? Number(given) : 0;

export function open(root, given) {
  const view = new RunView(root, given);
  return {
    ready: view.begin(),
    changed: (news) => view.changed(news),
    step: (by) => view.total > 1 && view.slide(Math.max(1, (view.at || view.total) + by)),
    moved: (found) => view.moved(found),
    close: () => { view.isGone = true; },
  };
}

class RunView {
  constructor(root, { run, tab }) {
    Object.assign(this, { root, id: run, tab: tab || "timeline", isGone: false, found: null, picture: null, path: null, failure: null });
    Object.assign(this, { visits: null, range: { last: 50 }, events: null, onlyFailures: false, state: null, before: null, family: null, journal: null, childStatus: "", source: null, asking: "", said: null, failures: null, opened: new Set() });
    this.at = eventOf(query().get("at"));
    this.step = query().get("step") || "";
    // One element for the chart, which templates only put in its place.
    this.box = document.createElement("div");
    Object.assign(this.box, { id: "chart", className: "chart-box", tabIndex: 0, role: "group", ariaLabel: "Chart of the workflow. Its steps are a list." });
    this.chart = new Chart(this.box, (state) => this.select(state));
  }

  get url() { return `runs/${encodeURIComponent(this.id)}`; }
  get base() { return `/runs/${encodeURIComponent(this.id)}`; }
  get run() { return this.found?.run; }
  get total() { return this.run?.progress.events || 0; }
  show() { if (!this.isGone) render(this.template(), this.root); }

  // The chart may take longer; live updates need not wait for it.
  async begin() {
    this.show();
    this.loadTab();
    await this.load();
    this.draw();
  }

  async load() {
    const mine = this.loads = (this.loads || 0) + 1;
    try {
      const found = await api.get(this.url);
      if (mine !== this.loads) return;
      this.found = found;
      this.failure = null;
      titled(`${this.run.task || this.run.workflow} ${short(this.id)} · wfc`);
      if (this.run.status === "failed") this.loadFailures();
      // An address from another run, or from before this one was retried.
      if (this.at > this.total) this.slide(0);
    } catch (error) {
      this.failure = error;
    }
    this.show();
  }

  // The chart never delays the history, nor the history the chart.
  async draw() {
    try {
      const [picture, svg] = await Promise.all([api.get(`${this.url}/picture`), api.svg(`${this.url}/picture.svg`)]);
      this.picture = picture;
      this.show();
      this.chart.put(svg, picture.chart);
      await this.follow();
      this.chart.toCurrent();
    } catch (error) {
      this.noChart = error;
      this.show();
    }
  }

  // What failed before and was tried again, oldest first. The last failure is that of the run.
  async loadFailures() {
    try {
      const { events } = await api.get(`${this.url}/history?limit=20&kinds=failures`);
      this.failures = events.flatMap((event) => (event.notes || []).filter((note) => note.code).map((note) => ({ at: event.at, ...note }))).reverse();
    } catch { /* the history has them as well */ }
    this.show();
  }

  pathUrl() { return `${this.url}/path${this.at ? `?at=${this.at}` : ""}`; }

  // Each `load_` returns what to keep. What a later question has overtaken is not kept.
  async loadTab() {
    const mine = this.tabLoads = (this.tabLoads || 0) + 1;
    let found;
    try {
      found = { ...await this[`load_${this.tab}`](), tabFailure: null, moreFailure: null };
    } catch (error) {
      found = { tabFailure: error };
    }
    if (mine !== this.tabLoads) return;
    Object.assign(this, found);
    this.show();
    if (this.tab === "source") this.scrollToLine();
  }

  // The line of the failure or of the chosen step. Only a link to it moves the page itself.
  scrollToLine() {
    const box = toLine(this.root);
    if (this.toLine) box?.scrollIntoView({ block: "center" });
    this.toLine = false;
  }

  // More of what the tab shows, or a download. If it fails, what is there stays, and the reason stands below it.
  async further(load) {
    const mine = this.tabLoads;
    let found;
    try {
      found = { ...await load(), moreFailure: null };
    } catch (error) {
      found = { moreFailure: error };
    }
    if (mine !== this.tabLoads) return;
    Object.assign(this, found);
    this.show();
  }

  async load_timeline() {
    const found = await api.get(`${this.url}/visits?limit=${asMany(200, this.visits)}${this.at ? `&before=${this.at + 1}` : ""}`);
    return { visits: found.visits, visitsBefore: found.before };
  }

  async load_history() {
    const before = this.at ? this.at + 1 : 0;
    const found = await api.get(`${this.url}/history?limit=${asMany(100, this.events)}&before=${before}${this.onlyFailures ? "&kinds=failures" : ""}`);
    return { events: found.events, eventsBefore: found.before };
  }

  // After a change the same number of entries is asked for again: an issue that was read may be resolved by now.
  async load_journal() {
    return { journal: await api.get(`${this.url}/journal?limit=${Math.max(200, this.journal?.limit || 0)}`) };
  }

  async load_state() {
    const at = this.at;
    const [state, before] = await Promise.all([
      api.get(`${this.url}/state${at ? `?at=${at}` : ""}`),
      at > 1 ? api.get(`${this.url}/state?at=${at - 1}`) : { state: {} },
    ]);
    return { state, before };
  }

  async load_children() {
    return { family: await api.get(`${this.url}/family?limit=${asMany(100, this.family?.children)}${this.childStatus ? `&status=${this.childStatus}` : ""}`) };
  }

  async load_source() { return { source: await api.get(`${this.url}/source`) }; }

  // -- what happens -------------------------------------------------------------

  async moved({ tab }) {
    const at = eventOf(query().get("at"));
    const isOther = at !== this.at || (tab || "timeline") !== this.tab;
    const wasAt = this.at;
    Object.assign(this, { tab: tab || "timeline", at, step: query().get("step") || "" });
    this.show();
    this.mark();
    if (at !== wasAt) this.follow();
    if (isOther) await this.loadTab();
  }

  async follow() {
    const mine = this.asked = (this.asked || 0) + 1;
    try {
      const path = await api.get(this.pathUrl());
      // An answer that a later question has overtaken is not shown.
      if (mine !== this.asked) return;
      this.path = path;
      this.mark();
    } catch { /* the next change tries again */ }
    this.show();
  }

  mark() {
    const name = !this.at && this.run?.status === "failed" ? this.run.error.step_id.split("@")[0] : "";
    const failed = name && Object.entries(this.picture?.names || {}).find(([, one]) => one === name)?.[0];
    this.chart.mark(this.path, this.step, failed || "");
  }

  get isAsked() { return actionsOf(this.run).some((action) => action.type === "prompt"); }

  async changed(news) {
    const mine = news.resync || news.claims || news.changes.some((one) => one.run === this.id || one.root === this.id);
    if (!mine) return;
    const before = this.run?.status;
    const asked = actionsOf(this.run).map((action) => action.step_id);
    await this.refresh();
    if (actionsOf(this.run).some((action) => action.type === "prompt" && !asked.includes(action.step_id))) say("The run waits for you.");
    if (this.run?.status !== before && ENDED.includes(this.run?.status)) say(`The run is ${this.run.status}.`);
  }

  async refresh() {
    await this.load();
    if (!this.at) await Promise.all([this.follow(), this.loadTab()]);
    else if (this.tab === "children") await this.loadTab();
  }

  select(state) { go(withQuery({ step: this.step === state ? null : state }), true); }
  slide(at) { go(withQuery({ at: at >= this.total || at < 1 ? null : at }), true); }

  async act(name, body = {}) {
    this.said = null;
    try {
      if (name === "again") {
        const made = await api.post(`workflows/${encodeURIComponent(this.run.workflow)}/start`, body);
        go(`/runs/${made.workflow_id}`);
        return;
      }
      if (name === "export") await api.save(`${this.url}/export`, `${this.id}.json`);
      else await api.post(`${this.url}/${name}`, body);
      this.said = { good: true, words: { cancel: "Cancelled.", migrate: "It goes on with the current version.", retry: "It goes on from the step that failed.", export: "Exported." }[name] };
      this.asking = "";
      // Live updates may be late, or lost.
      await this.refresh();
    } catch (error) {
      this.said = { good: false, words: error.words || error.message };
    }
    this.show();
  }

  // -- templates ------------------------------------------------------------------

  template() {
    if (this.failure && !this.found) return html`<h1>Run <code>${line(short(this.id))}</code></h1>${problem(this.failure)}`;
    if (!this.found) return html`<h1>Run <code>${short(this.id)}</code></h1><p class="empty">Loading…</p>`;
    return html`${this.heading()}
      ${this.failure ? problem(this.failure) : nothing}
      ${this.at ? html`<p class="notice is-past">As of event ${this.at} of ${this.total}. <a href=${withQuery({ at: null })}>Back to now</a></p>` : nothing}
      <div class="columns">
        <section class="panel now" aria-label="Now">${this.now()}</section>
        <section class="panel" aria-label="Chart">${this.chartPanel()}</section>
      </div>
      <nav class="tabs" aria-label="Views of the run">${TABS.map((tab) => this.tabLink(tab))}</nav>
      <section class="panel" aria-label=${this.tab}>${this.tabFailure ? problem(this.tabFailure) : this[`tab_${this.tab}`]()}${this.moreFailure ? problem(this.moreFailure) : nothing}</section>`;
  }

  tabLink(tab) {
    const kids = Object.values(this.found.family.counts).reduce((sum, one) => sum + one, 0);
    if (tab === "children" && !kids) return nothing;
    const found = new URLSearchParams(location.search).toString();
    return html`<a href="${this.base}/${tab}${found ? `?${found}` : ""}" aria-current=${this.tab === tab ? "page" : nothing}>${tab}${
      tab === "children" ? html` <span class="number">${kids}</span>` : tab === "history" ? html` <span class="number">${this.total}</span>` : nothing}</a>`;
  }

  heading() {
    const { run } = this;
    const { family } = this.found;
    const isOver = ENDED.includes(run.status);
    return html`<div class="run-head"><div>
        <p class="crumbs">${family.root && family.root.workflow_id !== family.parent.workflow_id ? html`<a href="/runs/${family.root.workflow_id}">${family.root.workflow}</a> › ` : nothing}${
          family.parent ? html`<a href="/runs/${family.parent.workflow_id}">${family.parent.task || family.parent.workflow}</a> › ${text(family.step_id)} › ` : nothing}<a href="/workflows/${run.workflow}">${run.workflow}</a></p>
        <h1>${run.task || run.workflow} <code>${short(this.id)}</code> ${this.isAsked ? html`<span class="chip is-running"><span aria-hidden="true">◆</span> waits for you</span>` : chip(run.status)}</h1>
        ${this.picture?.description ? html`<p class="about">${line(this.picture.description, 400)}</p>` : nothing}
        <p class="muted">${this.picture ? html`version ${this.picture.version} <code title=${family.digest}>${family.digest.slice(0, 8)}</code> · ` : nothing}started ${when(run.progress.started)}${family.started_by ? html` by <strong>${line(family.started_by, 60)}</strong>` : nothing} · ${
          isOver ? html`took ${seconds(between(run.progress.started, run.progress.updated))}` : html`last moved ${when(run.progress.updated)}`}${
          family.item !== undefined ? html` · item <code>${line(family.item, 60)}</code>` : nothing}</p></div>
      <div class="buttons" role="group" aria-label="Actions">${isReadOnly() ? nothing : html`
        ${isOver ? nothing : html`<button @click=${() => this.ask("cancel")}>Cancel…</button>`}
        ${!isOver && this.found.current && this.found.current !== family.digest ? html`<button @click=${() => this.migrate()}>Migrate…</button>` : nothing}
        ${run.status === "failed" ? html`<button @click=${() => this.ask("retry")}>Retry…</button>` : nothing}
        ${isOver && !family.parent ? html`<button @click=${() => this.again()}>Start again…</button>` : nothing}`}
        ${family.parent ? nothing : html`<button title="Download the whole run as a file of JSON. Secrets are masked." @click=${() => this.act("export")}>Export</button>`}</div>
      </div>${this.question()}`;
  }

  ask(what) {
    this.asking = this.asking === what ? "" : what;
    this.said = null;
    this.show();
  }

  async migrate() {
    this.migration = null;
    this.ask("migrate");
    try { this.migration = await api.get(`${this.url}/migration`); } catch (error) { this.said = { good: false, words: error.words || error.message }; }
    this.show();
  }

  // What the current version changes, and whether the run can continue with it.
  differences() {
    const found = this.migration;
    if (!found) return nothing;
    if (found.is_current) return html`<p>The run already goes by the current version, ${text(found.to.version)}.</p>`;
    const list = (words, names) => names.length ? html`<dt>${words}</dt><dd>${names.map((name, at) => html`${at ? ", " : ""}<code>${text(name)}</code>`)}</dd>` : nothing;
    const isSame = !found.added.length && !found.removed.length && !found.changed.length;
    return html`<p>From version ${text(found.from.version)} <code>${found.from.digest.slice(0, 8)}</code> to ${text(found.to.version)} <code>${found.to.digest.slice(0, 8)}</code>.</p>
      ${isSame ? html`<p class="muted">No step of this run differs.</p>` : html`<dl class="facts">${list("New steps", found.added)}${list("Steps that are gone", found.removed)}${list("Steps that changed", found.changed)}</dl>`}
      ${found.blocked_by.length ? html`<p class="notice is-failed">The run waits in ${found.blocked_by.map((name) => html`<code>${text(name)}</code> `)}, which the current version does not have, or has as a different kind of step. It can't be migrated.</p>` : nothing}`;
  }

  async again() {
    this.inputs = null;
    this.ask("again");
    try {
      const [all, current] = await Promise.all([api.get(`${this.url}/history?before=2&limit=1`), api.get(`workflows/${encodeURIComponent(this.run.workflow)}`)]);
      const given = all.events[0]?.inputs ?? {};
      const isSecret = ([name]) => current.inputs.properties?.[name]?.writeOnly;
      this.secrets = Object.entries(current.inputs.properties || {}).filter(isSecret).map(([name]) => name);
      this.inputs = JSON.stringify(Object.fromEntries(Object.entries(given).filter((one) => !isSecret(one))), null, 2);
    } catch (error) {
      this.asking = "";
      this.said = { good: false, words: error.words || error.message };
    }
    this.show();
  }

  question() {
    const said = this.said ? html`<p class="notice ${this.said.good ? "is-completed" : "is-failed"}" role="status">${text(this.said.words)}</p>` : nothing;
    const texts = {
      cancel: ["End this run and its children. What they were doing is stopped.", "Cancel the run"],
      migrate: ["Continue with the current version of the workflow. It is refused if the run waits in a step that this version does not have.", "Migrate"],
      retry: ["Continue from the step that failed, with the state as it is.", "Retry"],
      again: ["Start a new run with these inputs. Secrets are not kept, and are asked for again.", "Start"],
    }[this.asking];
    if (!texts) return said;
    const send = () => {
      const reason = this.root.querySelector("#reason")?.value || "";
      if (this.asking !== "again") return this.act(this.asking, { reason });
      try { return this.act("again", { inputs: this.typedInputs() }); } catch (error) {
        this.said = { good: false, words: error.message };
        return this.show();
      }
    };
    return html`<div class="card ask"><p>${texts[0]}</p>
      ${this.asking === "migrate" ? this.differences() : nothing}
      ${this.asking === "cancel" ? html`<label for="reason">Reason</label><input id="reason" maxlength="500">` : nothing}
      ${this.asking === "again" ? html`<label for="inputs">Inputs</label>${this.inputs === null ? html`<p class="muted">Loading…</p>` : html`<textarea id="inputs" class="code" rows="6" spellcheck="false" .value=${this.inputs ?? ""}></textarea>`}
        ${this.inputs === null ? nothing : this.secrets.map((name) => html`<form @submit=${(event) => event.preventDefault()}><label for="secret-${name}">${text(name)} (hidden)</label>
          <input id="secret-${name}" data-secret=${name} type="password" autocomplete="off"></form>`)}` : nothing}
      <div class="buttons"><button class="answer" ?disabled=${(this.asking === "again" && this.inputs === null) || this.asking === "migrate" && (!this.migration || this.migration.is_current || this.migration.blocked_by.length > 0)} @click=${send}>${texts[1]}</button><button @click=${() => this.ask("")}>Not now</button></div>${said}</div>`;
  }

  typedInputs() {
    const inputs = JSON.parse(this.root.querySelector("#inputs").value);
    for (const field of this.root.querySelectorAll("[data-secret]")) if (field.value) inputs[field.dataset.secret] = field.value;
    if (JSON.stringify(inputs).includes("***")) throw new Error("A masked value is not a value: replace every “***”.");
    return inputs;
  }

  chartPanel() {
    return html`<div class="chart-tools">${sizeButtons(() => this.chart)}
      ${this.total > 1 ? html`<label class="slider">Event <input type="range" min="1" max=${this.total} .value=${String(this.at || this.total)} aria-valuetext="event ${this.at || this.total} of ${this.total}"
        @input=${(event) => this.slide(Number(event.target.value))}><output>${this.at || this.total}</output></label>` : nothing}</div>
      ${this.box}
      ${this.noChart ? html`<p class="empty">${text(this.noChart.message)}</p>` : this.path && this.picture && !this.picture.chart ? html`<p class="empty">An agent does this task as a whole; it is in no step of the chart.</p>` : nothing}
      ${this.picture ? html`<details class="steps"><summary>Steps as a list</summary><ol>${Object.entries(this.picture.names).filter(([state]) => !this.picture.aliases[state]).map(([state, name]) => html`
        <li class=${this.path?.visited?.[state] ? "was" : ""}><button class="link" @click=${() => this.select(state)}>${text(name)}</button>${
          this.path?.current?.includes(state) ? html` <strong>is here</strong>` : this.path?.visited?.[state] ? html` <span class="muted">${this.path.visited[state]} ${this.path.visited[state] > 1 ? "visits" : "visit"}</span>` : nothing}</li>`)}</ol></details>` : nothing}`;
  }

  // What stands beside the chart is of now, also when the chart is not.
  later() { return this.at ? `, at event ${this.total}` : ""; }

  now() {
    const { run } = this;
    const actions = actionsOf(run);
    if (run.status === "completed") return html`<h2>Result${this.later()}</h2><pre class="value">${text(run.result)}</pre>`;
    if (run.status === "failed") return this.failed(run.error);
    if (run.status === "cancelled") return html`<h2>Cancelled${this.later()}</h2><p class="message">${text(run.reason)}</p>`;
    return html`<h2>${this.at ? `Now${this.later()}` : this.isAsked ? "Waits for you" : "Now"}</h2>${(run.running || []).map((one) => html`<div class="wait"><strong>${text(one.step_id)}</strong> <span class="tag">${one.type}</span>
      <p class="muted">A server has been doing this for ${seconds(one.seconds)}.</p></div>`)}${actions.map((action) => this.waits(action))}`;
  }

  waits(action) {
    const { parameters } = action;
    const isPrompt = action.type === "prompt";
    const form = formOf(this.id, action, () => this.show(), () => this.refresh());
    const head = html`<strong>${text(action.step_id)}</strong> <span class="tag">${action.type}</span>${action.overdue_seconds ? html` <span class="tag is-late">overdue by ${seconds(action.overdue_seconds)}</span>` : nothing}`;
    if (isPrompt) {
      return html`<div class="wait is-person"><p>${head} asks you</p><p class="message">${text(parameters.message)}</p>
        ${parameters.deadline ? html`<p><strong>Answer by ${new Date(parameters.deadline).toLocaleString()}</strong></p>` : nothing}${isReadOnly() ? nothing : answerForm(form)}${consequences(form, true)}</div>`;
    }
    if (parameters.resume_at) return html`<div class="wait"><p>${head}</p><p class="muted">Goes on at ${new Date(parameters.resume_at).toLocaleTimeString()}.</p></div>`;
    if (parameters.children) {
      const kids = this.found.family.counts;
      return html`<div class="wait"><p>${head}</p><p class="muted">Waits for its children: ${Object.entries(kids).map(([status, n]) => html`${n} ${status === "pending_action" ? "in progress" : status} `)}
        <a href="${this.base}/children">Show them</a></p></div>`;
    }
    return html`<div class="wait"><p>${head}</p><p class="muted">${action.interrupted_since ? "A server was interrupted while doing this. " : ""}${
      this.picture?.served.includes(action.step_id.split("@")[0]) ? "A server does this; where none does such steps, the agent." : "The agent does this."}</p>
      <dl class="facts">${Object.entries(parameters).filter(([, value]) => value !== null).map(([name, value]) => html`<dt>${name}</dt><dd class="clip">${text(value)}</dd>`)}</dl>
      ${isReadOnly() ? nothing : html`<details><summary>Hand in a result for the agent</summary><p class="muted">The history will say that you did.</p>${answerForm(form)}</details>`}</div>`;
  }

  failed(error) {
    const [from, to] = error.at || [];
    return html`<h2>Failed${this.later()}</h2><p><strong>${text(error.step_id)}</strong> <span class="tag">${text(error.code)}</span></p><p class="message">${text(error.message)}</p>
      ${error.expression ? html`<pre class="value">${text(error.expression.slice(0, from))}<mark>${text(error.expression.slice(from, to))}</mark>${text(error.expression.slice(to))}</pre>` : nothing}
      ${error.values ? html`<h3>What it read</h3><dl class="facts">${Object.entries(error.values).map(([name, value]) => html`<dt><code>${text(name)}</code></dt><dd class="clip">${text(value)}</dd>`)}</dl>` : nothing}
      ${this.failures?.length ? html`<h3>What failed before it</h3><ul class="plain-list">${this.failures.map((note) => html`<li><strong>${text(note.step_id)}</strong> <span class="muted">${clock(note.at)}${note.retried === undefined ? "" : ", tried again"}</span> ${line(note.message, 300)}</li>`)}</ul>` : nothing}
      <p><a href="${this.base}/state">What was written before it</a></p>
      ${error.place ? html`<p><a href="${this.base}/source" @click=${() => { this.toLine = true; }}>${text(error.place.file)}, line ${error.place.line}</a></p>` : nothing}
      ${error.hint ? html`<p class="muted">${text(error.hint)}</p>` : nothing}`;
  }

  // -- tabs -------------------------------------------------------------------------

  tab_timeline() {
    const now = this.at ? lastMoment(this.visits, this.at) : ENDED.includes(this.run.status) ? Date.parse(this.run.progress.updated) : Date.now();
    const visits = this.at ? this.visits?.map((one) => asOf(one, this.at)) : this.visits;
    const words = visits ? foldWords(within(visits, this.range), now) : "";
    return html`${timeline(visits, {
      step: this.step, select: (state) => this.select(state), now, range: this.range, choose: (range) => { this.range = range; this.show(); },
      more: Boolean(this.visitsBefore), earlier: () => this.further(async () => {
        const found = await api.get(`${this.url}/visits?limit=200&before=${this.visitsBefore}`);
        return { visits: [...found.visits, ...this.visits], visitsBefore: found.before, range: { last: 0 } };
      }),
    })}${words ? html`<p class="muted">${words}</p>` : nothing}`;
  }

  tab_history() {
    const choose = (event) => { Object.assign(this, { onlyFailures: event.target.checked, events: null, eventsBefore: 0 }); this.show(); this.loadTab(); };
    return html`<label class="option"><input type="checkbox" .checked=${this.onlyFailures} @change=${choose}> Only failures</label>
      ${this.events === null ? html`<p class="empty">Loading…</p>` : this.events.length ? html`<ol class="events">${this.events.map((event) => this.event(event))}</ol>` : html`<p class="empty">${this.onlyFailures ? "Nothing has failed." : "Nothing has happened yet."}</p>`}
      ${this.eventsBefore ? html`<p><button @click=${() => this.older()}>Earlier events</button></p>` : nothing}`;
  }

  older() {
    return this.further(async () => {
      const found = await api.get(`${this.url}/history?limit=100&before=${this.eventsBefore}${this.onlyFailures ? "&kinds=failures" : ""}`);
      return { events: [...this.events, ...found.events], eventsBefore: found.before };
    });
  }

  event(event) {
    const { seq, at, event: kind, step_id: step, actor, ...rest } = event;
    const isBad = Boolean(event.error || event.notes?.some((note) => note.code) || kind === "refused" || kind === "interrupted");
    const name = step && step.split("@")[0];
    const isChosen = this.step && this.picture && this.picture.names[this.step] === name;
    const wrote = Object.keys(event.written || {});
    const words = { submitted: "answered", child_ended: `child ${event.index} ended`, clock: "time passed" }[kind] || kind.replace(/_/g, " ");
    return html`<li class="${isBad ? "is-bad" : ""} ${isChosen ? "chosen" : ""}"><details .open=${this.opened.has(seq)} @toggle=${(given) => this.toggled(seq, given.target.open)}><summary><span class="seq">${seq}</span>
      <time datetime=${at} title=${new Date(at).toLocaleString()}>${clock(at)}</time>
      <span class="what">${isBad ? html`<span aria-hidden="true">✕</span> ` : nothing}${step ? html`<strong>${text(step)}</strong> ` : nothing}${words}${event.status ? html`, run ${event.status}` : nothing}</span>
      <span class="muted">${actor ? html`${text(actor)} ` : nothing}${wrote.length ? html`wrote ${wrote.join(", ")}` : nothing}</span></summary><p><a href=${withQuery({ at: seq })}>The run as of this event</a></p>${this.opened.has(seq) ? html`<pre>${text(rest)}</pre>` : nothing}</details></li>`;
  }

  // Kept by event: rows move down when there is a new one, and what was open must not become another event's details.
  toggled(seq, isOpen) {
    if (this.opened.has(seq) === isOpen) return;
    if (isOpen) this.opened.add(seq);
    else this.opened.delete(seq);
    this.show();
  }

  tab_journal() {
    const more = () => this.further(async () => {
      const found = await api.get(`${this.url}/journal?limit=200&after=${this.journal.after}`);
      return { journal: { ...joined(this.journal, found), limit: Math.min(1000, this.journal.limit + 200) } };
    });
    return journal(this.journal, { at: this.at, base: this.base, more });
  }

  tab_state() {
    if (!this.state) return html`<p class="empty">Loading…</p>`;
    const names = Object.keys(this.state.sizes);
    if (!names.length) return html`<p class="empty">Nothing has been written yet.</p>`;
    const wrote = new Set(this.state.wrote || []);
    const save = (name) => () => this.further(() => api.save(`${this.url}/state/${encodeURIComponent(name)}${this.at ? `?at=${this.at}` : ""}`, `${name}.json`));
    return html`${this.at ? nothing : html`<p class="muted">As it is now. Move the slider, or choose an event of the history, to see it as it was and what the event wrote.</p>`}
      <div class="scroll"><table class="fields"><thead><tr><th scope="col">Field</th><th scope="col" class="right">Size</th><th scope="col">Value</th></tr></thead><tbody>${names.map((name) => html`
      <tr class=${wrote.has(name) ? "wrote" : ""}><th scope="row"><code>${text(name)}</code>${wrote.has(name) ? html` <span class="tag">written</span>` : nothing}</th>
        <td class="right">${this.state.sizes[name].toLocaleString("en")} B</td><td>${(this.state.unknown || []).includes(name) ? html`<em>can't be determined any more</em>` : this.state.large.includes(name) ? html`<button @click=${save(name)}>Download</button>` : html`
          ${wrote.has(name) && this.before.state[name] !== undefined ? html`<pre class="value gone"><span class="unseen">before: </span>${text(this.before.state[name])}</pre>` : nothing}<pre class="value">${text(this.state.state[name])}</pre>`}</td></tr>`)}</tbody></table></div>`;
  }

  tab_children() {
    if (!this.family) return html`<p class="empty">Loading…</p>`;
    const choose = (status) => () => { this.childStatus = this.childStatus === status ? "" : status; this.family.children.length = 0; this.loadTab(); };
    const more = () => this.further(async () => {
      const found = await api.get(`${this.url}/family?limit=100&after=${this.family.after}${this.childStatus ? `&status=${this.childStatus}` : ""}`);
      return { family: { ...found, children: [...this.family.children, ...found.children] } };
    });
    return html`<div class="buttons" role="group" aria-label="Status of children">${Object.entries(this.family.counts).map(([status, count]) => html`
        <button aria-pressed=${this.childStatus === status ? "true" : "false"} @click=${choose(status)}>${chip(status)} ${count}</button>`)}</div>
      <div class="scroll"><table><thead><tr><th scope="col">#</th><th scope="col">Item</th><th scope="col">Status</th><th scope="col">Waits in</th><th scope="col" class="right">Took</th></tr></thead><tbody>${this.family.children.map((child) => html`
        <tr data-row><td>${child.position}</td><td><a href="/runs/${child.workflow_id}">${child.item === undefined ? child.task || child.workflow : line(child.item, 80)}</a></td><td>${chip(child.status)}</td>
          <td>${text((child.pending || []).join(", "))}</td><td class="right">${ENDED.includes(child.status) ? seconds(between(child.started, child.updated)) : ago(child.started)}</td></tr>`)}</tbody></table></div>
      ${this.family.after ? html`<p><button @click=${more}>More</button></p>` : nothing}`;
  }

  tab_source() {
    if (!this.source) return html`<p class="empty">Loading…</p>`;
    const marked = this.run.error?.place?.line || this.picture?.lines?.[this.step] || 0;
    return source(this.source, marked);
  }
}

// Scroll the source to its marked line, without moving the page.
export function toLine(root) {
  const row = root.querySelector(".source tr.chosen");
  const box = row?.closest(".source");
  if (box) box.scrollTop = row.offsetTop - box.clientHeight / 2;
  return box;
}

// YAML with line numbers, or the generated module if the YAML is not what the run started with.
export function source(found, marked) {
  const why = found.changed ? "The file has changed since this version was compiled. This is the generated module, which the run goes by."
    : found.text === undefined ? "The file is gone. This is the generated module, which the run goes by." : "";
  const lines = text(found.text ?? found.module).split("\n");
  return html`<p><code>${text(found.file)}</code></p>${why ? html`<p class="notice is-past">${why}</p>` : nothing}
    <div class="scroll source" tabindex="0" role="group" aria-label="Source"><table><tbody>${lines.map((one, number) => html`<tr class=${number + 1 === marked && found.text !== undefined ? "chosen" : ""}><td class="number">${number + 1}</td><td><pre>${one}</pre></td></tr>`)}</tbody></table></div>`;
}
