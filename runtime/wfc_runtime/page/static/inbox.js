// The inbox: everything that waits for a person, oldest first, with its form.

import { api, chip, html, isReadOnly, line, nothing, problem, recount, render, say, short, text, titled, when } from "./page.js";
import { answerForm, consequences, formOf } from "./form.js";

export function open(root) {
  let gates = null;
  let newest = [];
  let failure = null;
  let isGone = false;
  let asked = 0;
  let limit = 50;
  let total = 0;

  const show = () => !isGone && render(template(), root);

  async function load() {
    const mine = ++asked;
    try {
      const [waiting, runs] = await Promise.all([api.get(`waiting?limit=${limit}`), api.get("runs?status=all&limit=8")]);
      // An answer that a later question has overtaken is not shown.
      if (mine !== asked) return;
      const before = gates?.length;
      // An entry stays where it is until the next visit, answered here, elsewhere or not: if it went, another question
      // would come under the pointer, or under the keys of somebody who types.
      const fresh = new Map(waiting.waiting.map((one) => [keyOf(one), one]));
      const known = new Set((gates || []).map(keyOf));
      gates = [
        ...(gates || []).map((one) => fresh.get(keyOf(one)) || { ...one, isOver: true }),
        ...waiting.waiting.filter((one) => !known.has(keyOf(one))),
      ];
      total = waiting.total;
      newest = runs.runs;
      failure = null;
      if (gates.length > before) say("A run waits for you.");
    } catch (error) {
      failure = error;
    }
    show();
  }

  const template = () => html`<h1>Waiting for you</h1>
    ${failure ? problem(failure) : nothing}
    ${gates === null ? (failure ? nothing : html`<p class="empty">Loading…</p>`) : gates.length ? html`<ul class="gates">${gates.map(gate)}</ul>
      ${total > limit && limit < 500 ? html`<p><button @click=${() => { limit = Math.min(500, limit + 50); load(); }}>More of ${total.toLocaleString("en")}</button></p>` : nothing}` : html`
      <p class="empty"><span class="big" aria-hidden="true">✓</span>Nothing waits for you.</p>`}
    ${gates !== null && !gates.length && newest.length ? html`<h2>Newest runs</h2><ul class="plain-list">${newest.map((run) => html`
      <li data-row><a href="/runs/${run.workflow_id}">${run.workflow} <code>${short(run.workflow_id)}</code></a> ${chip(run.status)} ${when(run.started)}</li>`)}</ul>` : nothing}`;

  const gate = (one) => {
    const form = formOf(one.workflow_id, one.action, show, () => { recount(); load(); });
    const deadline = one.action.parameters.deadline;
    return html`<li class="card" data-row data-run=${one.workflow_id}>
      <div class="card-head"><a class="card-title" href="/runs/${one.workflow_id}">${one.root && one.root.workflow !== one.workflow ? html`${one.root.workflow} › ` : nothing}${one.workflow}${one.task ? html` › ${one.task}` : nothing}
        <code>${short(one.workflow_id)}</code></a><span class="spring"></span><span class="muted">asked ${when(one.since)}</span></div>
      <p class="step">${text(one.action.step_id)}${deadline ? html` · <strong>answer by ${new Date(deadline).toLocaleString()}</strong>` : nothing}${
        one.action.overdue_seconds ? html` · <strong>overdue</strong>` : nothing}</p>
      <p class="message">${text(one.action.parameters.message ?? "")}</p>
      ${one.isOver && !form.done ? html`<p class="notice is-past" role="status">This is not asked any more.</p>` : html`${isReadOnly() ? nothing : answerForm(form)}${consequences(form)}`}</li>`;
  };

  titled("Inbox · wfc");
  return {
    ready: load(),
    changed: (news) => { if (news.resync || news.changes.length) load(); },
    close: () => { isGone = true; },
  };
}

const keyOf = (one) => `${one.workflow_id} ${one.action.step_id}`;
