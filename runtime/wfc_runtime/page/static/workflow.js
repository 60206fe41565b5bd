// The workflows of the project, and one of them: its chart, inputs, source, plan and last runs.

import { api, chip, html, nothing, problem, render, short, text, titled, when } from "./page.js";
import { Chart, sizeButtons } from "./chart.js";
import { source, toLine } from "./run.js";

const typeOf = (schema) => schema.enum ? schema.enum.join(" | ") : schema.anyOf ? schema.anyOf.map(typeOf).join(" | ") : schema.type || "any";

export function open(root, { workflow }) {
  const state = { all: null, one: null, source: null, line: 0, chart: null, failure: null, isGone: false };
  const show = () => !state.isGone && render(template(), root);

  async function load() {
    try {
      if (workflow) state.one = await api.get(`workflows/${encodeURIComponent(workflow)}`);
      else state.all = (await api.get("workflows")).workflows;
    } catch (error) {
      state.failure = error;
    }
    show();
    if (!state.one) return;
    try {
      const svg = await api.svg(`workflows/${encodeURIComponent(workflow)}/picture.svg`);
      state.chart = new Chart(root.querySelector("#chart"), select);
      state.chart.put(svg, "main");
    } catch (error) {
      state.noChart = error;
    }
    try {
      state.source = await api.get(`workflows/${encodeURIComponent(workflow)}/source`);
    } catch (error) {
      state.noSource = error;
    }
    show();
  }

  // The line of YAML of a step of the chart.
  function select(step) {
    state.line = state.source?.lines[workflow]?.[step] || 0;
    state.chart.mark(null, step);
    show();
    toLine(root);
  }

  const template = () => state.failure ? html`<h1>${workflow || "Workflows"}</h1>${problem(state.failure)}` : workflow ? one() : list();

  const list = () => html`<h1>Workflows</h1>${state.all === null ? html`<p class="empty">Loading…</p>` : state.all.length ? html`<ul class="tiles">${state.all.map((found) => html`
      <li class="card" data-row><a class="card-title" href="/workflows/${found.workflow}">${found.workflow} <small>${found.version}</small></a><p>${text(found.description)}</p></li>`)}</ul>`
    : html`<p class="empty">No compiled workflows. Run <code>wfc compile</code>.</p>`}`;

  const one = () => {
    const found = state.one;
    if (!found) return html`<h1>${workflow}</h1><p class="empty">Loading…</p>`;
    const { plan } = found;
    return html`<p class="crumbs"><a href="/workflows">Workflows</a></p><h1>${found.workflow} <small>${found.version}</small> <code title=${found.digest}>${found.digest.slice(0, 8)}</code></h1>
      <p class="message">${text(found.description)}</p>
      <div class="columns"><section class="panel now" aria-label="Facts"><h2>Inputs</h2>${inputs(found.inputs)}
        <h2>Plan</h2><p>${plan.actions ? html`At least ${plan.actions.least ?? "?"} and at most ${plan.actions.most ?? "any number of"} actions.` : nothing}</p>
        ${found.versions.length ? html`<h2>Versions in use</h2><ul class="plain-list">${found.versions.map((one) => html`<li><code title=${one.digest}>${one.digest.slice(0, 8)}</code> ${one.digest === found.digest ? html`<span class="tag">current</span> ` : nothing}${one.runs} ${one.runs === 1 ? "run" : "runs"} in progress</li>`)}</ul>` : nothing}
        <h2>Last runs</h2>${found.runs.length ? html`<ul class="plain-list">${found.runs.map((run) => html`<li data-row><a href="/runs/${run.workflow_id}"><code>${short(run.workflow_id)}</code></a> ${chip(run.status)} ${when(run.started)}</li>`)}</ul>
          <p><a href="/runs?workflow=${found.workflow}">All runs of it</a></p>` : html`<p class="muted">None yet.</p>`}</section>
        <section class="panel" aria-label="Chart"><div class="chart-tools">${sizeButtons(() => state.chart)}</div><div id="chart" class="chart-box" tabindex="0" role="group" aria-label="Chart of the workflow"></div>${state.noChart ? problem(state.noChart) : nothing}</section></div>
      <section class="panel" aria-label="Source"><h2>Source</h2>${state.noSource ? problem(state.noSource) : state.source ? source(state.source, state.line) : html`<p class="empty">Loading…</p>`}</section>`;
  };

  const inputs = (schema) => {
    const required = new Set(schema.required || []);
    const fields = Object.entries(schema.properties || {});
    return fields.length ? html`<dl class="facts">${fields.map(([name, one]) => html`<dt><code>${text(name)}</code> ${required.has(name) ? html`<span class="tag">required</span>` : nothing}</dt>
      <dd>${text(typeOf(one))}${one.writeOnly ? " (secret)" : ""}${one.default !== undefined ? html`, default <code class="clip">${text(JSON.stringify(one.default))}</code>` : nothing}${one.description ? html`<br><span class="muted">${text(one.description)}</span>` : nothing}</dd>`)}</dl>`
      : html`<p class="muted">None.</p>`;
  };

  titled(`${workflow || "Workflows"} · wfc`);
  show();
  load();
  return { close: () => { state.isGone = true; } };
}
