// The journal of a run: its phases and tasks, and what was decided, reached and run into, oldest first.

import { clock, html, nothing, seconds, text } from "./page.js";

const KINDS = { decisions: "decision", milestones: "milestone", issues: "issue", blockers: "blocker" };
const DETAILS = ["reasoning", "trade_offs", "options_considered", "type", "category", "resolution"];

const place = (entry) => entry.entry.slice(entry.entry.lastIndexOf(":") + 1).split(".").map(Number);
const inOrder = (one, other) => {
  const [a, b] = [place(one), place(other)];
  return a[0] - b[0] || (a[1] || 0) - (b[1] || 0);
};
const taskName = (line) => line.task.split("/")[1] || "the run";
const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

// Two pages as one: each entry and each task is on one of them.
export function joined(first, next) {
  const merged = { ...next };
  for (const name of [...Object.keys(KINDS), "tasks"]) merged[name] = [...first[name], ...next[name]];
  return merged;
}

export function journal(found, { at, base, more }) {
  if (!found) return html`<p class="empty">Loading…</p>`;
  const entries = Object.entries(KINDS).flatMap(([section, kind]) => found[section].map((entry) => ({ kind, ...entry })))
    .filter((entry) => !at || place(entry)[0] <= at).sort(inOrder);
  const isEmpty = !(entries.length || found.tasks.length || found.phase_summary.length || found.summaries.length);
  return html`${found.summaries.map(summary)}
    ${found.blockers.map((one) => html`<p class="notice is-failed">Waits for a person: ${text(one.description)}</p>`)}
    ${found.phase_summary.length ? phases(found.phase_summary) : nothing}
    ${found.tasks.length ? tasks(found.tasks) : nothing}
    ${entries.length ? html`<h3>Entries</h3><ol class="events journal">${entries.map((entry) => line(entry, base))}</ol>` : nothing}
    ${isEmpty ? html`<p class="empty">Nothing has been logged.</p>` : nothing}
    ${found.after ? html`<p><button @click=${more}>Later entries</button></p>` : nothing}`;
}

function summary(one) {
  const list = (name) => (one[name] || []).length ? html`<h4>${name}</h4><ul>${one[name].map((item) => html`<li>${text(item)}</li>`)}</ul>` : nothing;
  return html`<div class="summary"><p><strong>Summary</strong> <span class="tag">${text(one.status)}</span></p><p class="message">${text(one.summary || "")}</p>${list("achievements")}${list("limitations")}</div>`;
}

function phases(found) {
  return html`<h3>Phases</h3><div class="scroll"><table><thead><tr><th scope="col">#</th><th scope="col">Phase</th><th scope="col">Status</th><th scope="col">Tasks</th><th scope="col">Changes</th></tr></thead><tbody>${found.map((one) => html`
    <tr><td>${one.number}</td><td>${text(one.name)}${one.summary ? html`<br><span class="muted">${text(one.summary)}</span>` : nothing}</td><td>${text(one.status)}</td><td>${one.tasks}</td><td>${
      one.files_changed === undefined ? nothing : html`${count(one.files_changed, "file")}, ${one.proof === "server" ? "proved by git" : "claimed"}`}${
      one.outside_scope ? html`<br><strong class="bad">${one.outside_total} outside the scopes</strong>: ${text(one.outside_scope.join(", "))}` : nothing}</td></tr>`)}</tbody></table></div>`;
}

function tasks(found) {
  return html`<h3>Tasks</h3><div class="scroll"><table><thead><tr><th scope="col">Task</th><th scope="col">Agent</th><th scope="col">Status</th><th scope="col" class="right">Took</th><th scope="col">Files</th><th scope="col">Outcome</th></tr></thead><tbody>${found.map((one) => html`
    <tr><td>${taskName(one) === one.name ? text(one.name) : html`${text(taskName(one))} ${text(one.name)}`}</td><td>${text(one.agent || one.by)}</td><td>${text(one.status)}</td>
      <td class="right">${one.seconds === undefined ? nothing : seconds(one.seconds)}</td>
      <td>${one.files ? html`<details><summary>${one.files.length}${one.proof === "server" ? " proved" : ""}</summary>${text(one.files.join(", "))}</details>` : nothing}${
        one.outside_scope ? html`<strong class="bad">${one.outside_scope.length} outside</strong>` : nothing}</td>
      <td>${text(one.outcome || "")}</td></tr>`)}</tbody></table></div>`;
}

function line(entry, base) {
  const title = entry.kind === "decision" ? html`${text(entry.question)} → <strong>${text(entry.chosen)}</strong>`
    : entry.kind === "milestone" ? html`${text(entry.message)}${entry.progress === undefined ? nothing : ` (${entry.progress} %)`}` : text(entry.description);
  const details = DETAILS.filter((name) => entry[name] !== undefined && entry[name] !== "");
  return html`<li class=${entry.kind === "blocker" ? "is-bad" : ""}><details><summary><span class="tag">${entry.kind}</span>
    <time datetime=${entry.at} title=${new Date(entry.at).toLocaleString()}>${clock(entry.at)}</time>
    <span class="what">${title}</span><span class="muted">${text(taskName(entry))}, ${text(entry.agent || entry.by)}</span></summary>
    <p><a href="${base}/journal?at=${place(entry)[0]}">The run as of this entry</a></p>
    <dl class="facts">${details.map((name) => html`<dt>${name.replace(/_/g, " ")}</dt><dd>${text(Array.isArray(entry[name]) ? entry[name].join("; ") : entry[name])}</dd>`)}</dl></details></li>`;
}
