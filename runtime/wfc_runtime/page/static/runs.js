// All runs, newest first. Rows change in place; new ones wait behind a button, so that nothing jumps under the pointer.

import { api, between, chip, counted, go, html, nothing, problem, query, recount, render, seconds, short, text, titled, when, withQuery } from "./page.js";

const FILTERS = [["all", "All"], ["open", "In progress"], ["failed", "Failed"], ["completed", "Completed"], ["cancelled", "Cancelled"]];
const COUNTED = { open: ["pending_action", "running"], failed: ["failed"], completed: ["completed"], cancelled: ["cancelled"] };

export function open(root) {
  let rows = null;
  let more = false;
  let fresh = 0;
  let counts = null;
  let failure = null;
  let isGone = false;
  let asked = 0;
  // Runs that are not listed and that have been looked for.
  const seen = new Set();

  const show = () => !isGone && render(template(), root);
  const filters = () => ({ status: query().get("status") || "all", workflow: query().get("workflow") || "", q: query().get("q") || "" });

  const path = (before) => {
    const given = new URLSearchParams({ ...filters(), limit: "50" });
    if (before) given.set("before", before);
    return `runs?${given}`;
  };

  async function load() {
    const mine = ++asked;
    try {
      const found = await api.get(path());
      if (mine !== asked) return;
      rows = found.runs;
      more = Boolean(found.next);
      fresh = 0;
      seen.clear();
      failure = null;
      // The numbers beside the filters come later: counting takes longer than a page of the list.
      counted().then((all) => { counts = all; show(); });
    } catch (error) {
      failure = error;
      rows = rows || [];
    }
    show();
  }

  async function further() {
    const mine = asked;
    try {
      const found = await api.get(path(rows[rows.length - 1].workflow_id));
      if (mine !== asked) return;
      rows = [...rows, ...found.runs];
      more = Boolean(found.next);
      failure = null;
    } catch (error) {
      failure = error;
    }
    show();
  }

  // How many runs the list does not have yet. The feed alone can't tell: a run that it names may be older than all that
  // are listed, or be hidden by a filter.
  async function lookForNew() {
    const mine = asked;
    try {
      const { runs } = await api.get(path());
      if (mine !== asked) return;
      const known = new Set(rows.map((row) => row.workflow_id));
      const at = runs.findIndex((run) => known.has(run.workflow_id));
      fresh = at < 0 ? runs.length : at;
    } catch { /* the next run that changes asks again */ }
  }

  async function changed(news) {
    if (!rows || news.resync) return news.resync ? load() : undefined;
    const byRun = new Map(rows.map((row) => [row.workflow_id, row]));
    const others = seen.size;
    for (const change of news.changes) {
      const row = byRun.get(change.run);
      if (row) Object.assign(row, { status: change.status, pending: change.pending, updated: new Date().toISOString() });
      else if (change.run === change.root) seen.add(change.run);
    }
    show();
    if (seen.size > others) await lookForNew();
    if (news.changes.length) counts = await recount();
    return show();
  }

  const number = (status) => {
    if (!counts) return nothing;
    const of = filters().workflow ? counts.workflows[filters().workflow] || {} : counts.runs;
    const total = (COUNTED[status] || Object.keys(of)).reduce((sum, one) => sum + (of[one] || 0), 0);
    return html` <span class="number">${total.toLocaleString("en")}</span>`;
  };

  const template = () => html`<h1>Runs</h1>
    <div class="filters"><div role="group" aria-label="Status" class="segmented">${FILTERS.map(([status, name]) => html`
        <a href=${withQuery({ status: status === "all" ? null : status })} aria-current=${filters().status === status ? "true" : nothing}>${name}${number(status)}</a>`)}</div>
      <label>Workflow <select @change=${(event) => go(withQuery({ workflow: event.target.value }), true)}>
        <option value="" ?selected=${!filters().workflow}>all</option>${Object.keys(counts?.workflows || {}).sort().map((name) => html`
        <option value=${name} ?selected=${filters().workflow === name}>${name}</option>`)}</select></label>
      <label>Id <input id="search" type="search" placeholder="begins with…" spellcheck="false" .value=${filters().q}
        @input=${(event) => go(withQuery({ q: event.target.value.trim() }), true)}></label></div>
    ${failure && !rows?.length ? problem(failure) : nothing}
    ${fresh ? html`<p><button class="fresh" @click=${load}>${fresh}${fresh < 50 ? "" : " or more"} new</button></p>` : nothing}
    ${rows === null ? html`<p class="empty">Loading…</p>` : rows.length ? table() : failure ? nothing : html`<p class="empty">No runs${
      filters().q || filters().workflow || filters().status !== "all" ? html` like that. <a href="/runs">Show all</a>` : html` yet. An agent starts them, or <code>wfc run</code>.`}</p>`}
    ${failure && rows?.length ? problem(failure) : nothing}
    ${more ? html`<p><button @click=${further}>Older runs</button></p>` : nothing}`;

  const table = () => html`<div class="scroll"><table class="runs"><thead><tr><th scope="col">Run</th><th scope="col">Status</th><th scope="col">Waits in</th>
    <th scope="col">Started</th><th scope="col">Last moved</th><th scope="col" class="right">Took</th></tr></thead><tbody>${rows.map(row)}</tbody></table></div>`;

  const row = (run) => {
    const isOver = ["completed", "failed", "cancelled"].includes(run.status);
    return html`<tr data-row data-run=${run.workflow_id}>
      <td><a href="/runs/${run.workflow_id}"><strong>${run.workflow}</strong> <code>${short(run.workflow_id)}</code></a></td>
      <td>${chip(run.status)}${run.overdue_seconds ? html` <span class="tag is-late">overdue</span>` : nothing}</td>
      <td>${text((run.pending || []).join(", "))}</td><td>${when(run.started)}</td><td>${when(run.updated)}</td>
      <td class="right">${isOver ? seconds(between(run.started, run.updated)) : nothing}</td></tr>`;
  };

  titled("Runs · wfc");
  return { changed, ready: load(), moved: load, close: () => { isGone = true; } };
}
