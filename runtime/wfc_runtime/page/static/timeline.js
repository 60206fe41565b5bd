// One bar per visit of a step. Long stretches in which nothing began or ended are folded to a fixed width.

import { between, html, nothing, seconds, text } from "./page.js";
import { svg } from "./vendor/lit-html.js";

const WIDTH = 1000;
const FOLD = 44;
const WHO = { person: "a person", agent: "the agent", server: "a server", time: "time", children: "child runs" };

// As short as fits over a folded stretch.
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
const brief = (value) => {
  const [size, unit] = UNITS.find(([least]) => value >= least * 0.995) || [1, "s"];
  return `${Math.round(value / size)} ${unit}`;
};

// A scale from moments to x, with the stretches that it folds.
export function scaleOf(bars, now) {
  const points = [...new Set(bars.flatMap((bar) => [Date.parse(bar.began), bar.ended ? Date.parse(bar.ended) : now]))].sort((a, b) => a - b);
  const gaps = points.slice(1).map((point, number) => point - points[number]);
  const ordered = [...gaps].sort((a, b) => a - b);
  // One of the shorter gaps: two evenings beside one short step are still the long ones.
  const usual = ordered.length ? ordered[Math.floor((ordered.length - 1) / 4)] : 0;
  const isLong = (gap) => ordered.length > 1 && gap > Math.max(60000, usual * 12);
  const folded = gaps.filter(isLong).length;
  // However many there are, most of the width is for what is not folded.
  const fold = Math.min(FOLD, (WIDTH * 0.4) / Math.max(1, folded));
  const plain = gaps.filter((gap) => !isLong(gap)).reduce((sum, gap) => sum + gap, 0);
  const unit = plain ? (WIDTH - folded * fold) / plain : 0;
  const places = new Map();
  const folds = [];
  let x = 0;
  points.forEach((point, number) => {
    places.set(point, x);
    const gap = gaps[number];
    if (gap === undefined) return;
    const width = isLong(gap) ? fold : plain ? gap * unit : WIDTH / Math.max(1, gaps.length);
    if (isLong(gap)) folds.push({ x, width: fold, label: seconds(gap / 1000), brief: brief(gap / 1000) });
    x += width;
  });
  return { at: (moment) => places.get(moment) ?? 0, folds, end: x || WIDTH };
}

// A visit as it was after an event: what ended it later had not happened.
export function asOf(visit, at) {
  if (!visit.to || visit.to <= at) return visit;
  const { ended, to, seconds: took, outcome, by, ...open } = visit;
  return open;
}

// When the last thing happened that the visits know of, up to an event.
export const lastMoment = (visits, at) => Math.max(0, ...(visits || []).flatMap((one) => [Date.parse(one.began), one.to && one.to <= at ? Date.parse(one.ended) : 0]));

// The visits to show: the last ones (`last`, 0 for all), or those from one visit to another. Without `to`, to the newest.
export function within(visits, { last, from, to }) {
  if (from === undefined) return last ? visits.slice(-last) : visits;
  const first = visits.findIndex((one) => one.step_id === from);
  const end = visits.findIndex((one) => one.step_id === to);
  return visits.slice(Math.max(0, first), end < 0 ? visits.length : Math.max(first, end) + 1);
}

const CHOICES = [["10", "last 10 visits"], ["50", "last 50 visits"], ["0", "all that are loaded"], ["range", "from one visit to another"]];

function rangeTools(visits, range, choose) {
  const isRange = range.from !== undefined;
  const change = (event) => choose(event.target.value === "range" ? { from: visits[0].step_id } : { last: Number(event.target.value) });
  const end = (name, label, newest = nothing) => html`<label>${label} <select @change=${(event) => choose({ ...range, [name]: event.target.value || undefined })}>${newest}${visits.map((one) => html`
    <option value=${one.step_id} ?selected=${one.step_id === range[name]}>${text(one.step_id)}, ${new Date(one.began).toLocaleTimeString()}</option>`)}</select></label>`;
  return html`<label>Show <select @change=${change}>${CHOICES.map(([value, name]) => html`
    <option value=${value} ?selected=${value === (isRange ? "range" : String(range.last))}>${name}</option>`)}</select></label>${isRange ? html` ${end("from", "From")} ${end("to", "To", html`<option value="" ?selected=${range.to === undefined}>the newest</option>`)}` : nothing}`;
}

export function timeline(visits, { step, names, select, now, range, choose, more, earlier }) {
  if (!visits) return html`<p class="empty">Loading…</p>`;
  const shown = within(visits, range);
  if (!shown.length) return html`<p class="empty">No step has taken time yet.</p>`;
  const scale = scaleOf(shown, now);
  return html`<div class="bar-tools"><span class="range">${rangeTools(visits, range, choose)}</span>
    <span class="keys"><i class="key is-agent"></i>agent <i class="key is-person"></i>person <i class="key is-time"></i>time <i class="key is-children"></i>children <i class="key is-server"></i>server</span></div>
    <div class="scroll"><table class="timeline"><thead><tr><th scope="col">Step</th><th scope="col" class="wide">When${axis(scale)}</th><th scope="col" class="right">Took</th><th scope="col">Ended by</th></tr></thead>
    <tbody>${shown.map((bar) => row(bar, scale, { step, names, select, now }))}</tbody></table></div>
    ${more ? html`<p><button @click=${earlier}>Earlier visits</button></p>` : nothing}`;
}

// In percent, since the bars below it are stretched and letters must not be.
function axis({ folds }) {
  if (!folds.length) return nothing;
  return html`<svg class="axis" aria-hidden="true">${folds.map((fold) => svg`<text x="${(fold.x + fold.width / 2) / 10}%" y="11" text-anchor="middle">${fold.brief}</text>`)}</svg>`;
}

function row(bar, scale, { step, select, now }) {
  const from = scale.at(Date.parse(bar.began));
  const to = bar.ended ? scale.at(Date.parse(bar.ended)) : scale.at(now);
  const took = bar.ended ? bar.seconds : between(bar.began, new Date(now).toISOString());
  const isLate = bar.overdue && Date.parse(bar.overdue) < now;
  const words = `${bar.step_id}: waited for ${WHO[bar.waits_for]}, ${seconds(took)}${bar.ended ? "" : ", not over"}`;
  return html`<tr class=${bar.state === step ? "chosen" : ""}>
    <th scope="row"><button class="link" @click=${() => select(bar.state)}>${text(bar.step_id)}</button> <small>${bar.type}</small></th>
    <td class="wide"><svg class="bar" viewBox="0 0 1000 16" preserveAspectRatio="none" role="img" aria-label=${words}>
      ${scale.folds.map((fold) => svg`<rect class="fold" x=${fold.x} y="0" width=${fold.width} height="16"><title>${fold.label}</title></rect>`)}
      <rect class="track is-${bar.waits_for} ${bar.outcome === "failed" || bar.outcome === "retried" ? "is-bad" : ""} ${bar.ended ? "" : "is-open"}"
        x=${from} y="3" width=${Math.max(3, to - from)} height="10" rx="2"/></svg></td>
    <td class="right">${seconds(took)}${bar.ended ? nothing : "…"}</td>
    <td>${bar.outcome === "failed" || bar.outcome === "retried" ? html`<strong class="bad">✕ ${bar.outcome}</strong> ` : bar.outcome === "cancelled" ? "cancelled" : nothing}
      ${isLate ? html`<span class="tag is-late">overdue</span> ` : nothing}${bar.by ? text(bar.by) : bar.ended ? nothing : html`<em>waits for ${WHO[bar.waits_for]}</em>`}</td></tr>`;
}

export const foldWords = (visits, now) => {
  const { folds } = scaleOf(visits, now);
  return folds.length ? `Idle stretches are folded: ${folds.map((fold) => fold.label).join(", ")}.` : "";
};
