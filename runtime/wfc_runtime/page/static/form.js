// A form for what a step asks, made from its schema. Drafts survive updates and reloads; closing is no answer.

import { api, html, kept, nothing, say, text } from "./page.js";

const open = new Map();

// The state of a form by run and visit: what was typed, what was said about it. `changed` shows it again; `refresh` asks
// for what the run waits for now, which need not wait for live updates.
export function formOf(run, action, changed, refresh) {
  const key = `${run} ${action.step_id}`;
  if (!open.has(key)) open.set(key, { key, values: {}, json: "", problem: "", busy: false, done: "", isSecret: false });
  const form = open.get(key);
  form.run = run;
  form.action = action;
  form.changed = changed;
  form.refresh = refresh;
  form.isSecret = Boolean(action.result_schema?.writeOnly);
  if (!form.loaded) {
    form.loaded = true;
    try { Object.assign(form, JSON.parse(kept.get(`draft ${key}`) || "{}")); } catch { /* an old draft */ }
  }
  return form;
}

function keep(form) {
  if (form.isSecret) return;
  const { properties } = form.action.result_schema || {};
  const values = Object.fromEntries(Object.entries(form.values).filter(([name]) => !properties?.[name]?.writeOnly));
  kept.set(`draft ${form.key}`, JSON.stringify({ values, json: form.json }));
}

async function submit(form, result) {
  form.busy = true;
  form.problem = "";
  form.changed();
  try {
    await api.post(`runs/${encodeURIComponent(form.run)}/answer`, { step_id: form.action.step_id, shown: form.action.shown, result });
    form.done = "Answered.";
    kept.set(`draft ${form.key}`, "");
    say("Answered. The run goes on.");
  } catch (error) {
    form.problem = error.words || error.message;
    form.lost = ["not_shown", "answered", "not_pending", "finished"].includes(error.code);
  }
  form.busy = false;
  form.changed();
  if (form.done) form.refresh();
}

// -- fields -------------------------------------------------------------------

function fieldsOf(schema) {
  if (schema?.type !== "object" || !schema.properties) return null;
  const fields = Object.entries(schema.properties);
  return fields.length && fields.every(([, one]) => kindOf(one)) ? fields : null;
}

function kindOf(schema) {
  if (schema.enum?.every((one) => typeof one === "string")) return "choice";
  return { string: "text", boolean: "yes", integer: "number", number: "number" }[schema.type] || "";
}

// What the author says about a field: the text of a question, and the labels of its options.
function about(form, name) {
  const { questions, options } = form.action.parameters || {};
  const asked = questions?.find((one) => one.id === name) || (name === "selected" && options ? { choices: options } : {});
  const choices = new Map((asked.choices || []).filter((one) => one && typeof one === "object").map((one) => [one.value, one]));
  return { label: asked.text, choice: (value) => choices.get(value) || {} };
}

const LABELS = { confirmed: "Yes", input: "Your answer", selected: "Choose one", acknowledged: "Seen" };

function valueOf(kind, typed) {
  if (kind !== "number") return typed;
  return typed === "" || typed === undefined ? undefined : Number(typed);
}

// What a field that nobody has touched stands for. An empty text is a usual result of an agent's step, and no answer of
// a person.
function untouched(form, schema) {
  const kind = kindOf(schema);
  if (kind === "yes") return false;
  return kind === "text" && form.action.type !== "prompt" && !schema.minLength ? "" : undefined;
}

function collected(form, fields) {
  const found = {};
  for (const [name, schema] of fields) {
    const value = valueOf(kindOf(schema), form.values[name] ?? schema.default ?? untouched(form, schema));
    // An empty answer to a question that may be left out is none.
    const isLeft = value === "" && form.action.parameters?.questions && !form.action.result_schema.required?.includes(name);
    if (value !== undefined && !isLeft) found[name] = value;
  }
  return found;
}

function field(form, name, schema, required) {
  const id = `f-${form.key}-${name}`.replace(/[^\w-]/g, "_");
  const set = (value) => { form.values[name] = value; form.problem = ""; keep(form); form.changed(); };
  const said = about(form, name);
  const label = said.label || LABELS[name] || name;
  const given = form.values[name] ?? schema.default;
  const limits = [
    // A required text has at least one character, which the button says already.
    schema.minLength > 1 ? `at least ${schema.minLength} characters` : "",
    schema.maxLength ? `at most ${schema.maxLength} characters` : "",
    schema.pattern ? `must match ${schema.pattern}` : "",
    schema.minimum !== undefined ? `from ${schema.minimum}` : "",
    schema.maximum !== undefined ? `to ${schema.maximum}` : "",
  ].filter(Boolean).join(", ");
  const tip = [schema.description, limits].filter(Boolean).join(". ");
  const hint = tip ? html`<small id="${id}-hint">${text(tip)}</small>` : nothing;
  switch (kindOf(schema)) {
    case "choice":
      return html`<fieldset><legend>${text(label)}</legend>${schema.enum.map((one) => html`
        <label class="option"><input type="radio" name=${id} .checked=${given === one} @change=${() => set(one)}> ${text(said.choice(one).label ?? one)}${
          said.choice(one).description ? html` <small>${text(said.choice(one).description)}</small>` : nothing}</label>`)}${hint}</fieldset>`;
    case "yes":
      return html`<label class="option"><input type="checkbox" .checked=${Boolean(given)} @change=${(event) => set(event.target.checked)}> ${text(label)}</label>${hint}`;
    case "number":
      return html`<label for=${id}>${text(label)}</label>${hint}<input id=${id} type="number" step=${schema.type === "integer" ? "1" : "any"}
        aria-describedby=${tip ? `${id}-hint` : nothing} ?required=${required} .value=${String(given ?? "")} @input=${(event) => set(event.target.value)}>`;
    default:
      if (form.isSecret || schema.writeOnly) {
        // In a form, which browsers expect around a password. Enter must not answer.
        return html`<form @submit=${(event) => event.preventDefault()}><label for=${id}>${text(label)} (hidden)</label>${hint}<input id=${id} type="password" autocomplete="off"
          aria-describedby=${tip ? `${id}-hint` : nothing} .value=${form.values[name] ?? ""} @input=${(event) => set(event.target.value)}></form>`;
      }
      return html`<label for=${id}>${text(label)}</label>${hint}<textarea id=${id} rows="2" maxlength=${schema.maxLength ?? nothing}
        aria-describedby=${tip ? `${id}-hint` : nothing} .value=${given ?? ""} @input=${(event) => set(event.target.value)}></textarea>`;
  }
}

// -- what an answer leads to --------------------------------------------------

const canPreview = (schema) => {
  const fields = Object.values(schema?.properties || {});
  return fields.length === 1 && (fields[0].type === "boolean" || Boolean(fields[0].enum));
};

async function loadPreview(form) {
  form.preview = [];
  try {
    form.preview = (await api.get(`runs/${encodeURIComponent(form.run)}/preview?step_id=${encodeURIComponent(form.action.step_id)}`)).answers;
  } catch { /* the question is still there without it */ }
  form.changed();
}

const NAMES = new Map([[true, "Yes"], [false, "No"]]);

function consequence(form, { result, status, next, message }) {
  const [[name, value]] = Object.entries(result);
  const words = { completed: "the run ends", failed: `the run fails: ${message}`, refused: message }[status];
  return html`<li><strong>${text(NAMES.get(value) ?? about(form, name).choice(value).label ?? value)}</strong>: ${words ? text(words) : next.length ? html`goes on with ${next.map((one, at) => html`${at ? ", " : ""}<code>${text(one)}</code>`)}` : "other branches go on"}</li>`;
}

// What follows each answer. With `eager` it is shown at once; otherwise when somebody opens it.
export function consequences(form, eager = false) {
  if (form.done || !canPreview(form.action.result_schema)) return nothing;
  if (eager && !form.preview) loadPreview(form);
  const list = form.preview?.length ? html`<ul class="plain-list after">${form.preview.map((one) => consequence(form, one))}</ul>` : nothing;
  if (eager) return list;
  return html`<details @toggle=${(event) => { if (event.target.open && !form.preview) loadPreview(form); }}><summary>What happens next</summary>${list}</details>`;
}

// -- the form -----------------------------------------------------------------

export function answerForm(form) {
  const schema = form.action.result_schema;
  const names = Object.keys(schema?.properties || {});
  if (form.done) return html`<p class="notice is-completed" role="status">${form.done}</p>`;
  let inside;
  if (names.length === 1 && names[0] === "confirmed") {
    // Two equal buttons: neither answer is the default.
    const answer = (confirmed) => () => submit(form, { confirmed });
    inside = html`<div class="buttons"><button class="answer" ?disabled=${form.busy} @click=${answer(true)}>Yes</button>
      <button class="answer" ?disabled=${form.busy} @click=${answer(false)}>No</button></div>`;
  } else if (names.length === 1 && names[0] === "acknowledged") {
    inside = html`<div class="buttons"><button class="answer" ?disabled=${form.busy} @click=${() => submit(form, { acknowledged: true })}>Seen</button></div>`;
  } else {
    const fields = fieldsOf(schema);
    const required = new Set(schema?.required || []);
    inside = html`${fields ? fields.map(([name, one]) => field(form, name, one, required.has(name))) : json(form)}
      <div class="buttons"><button class="answer" ?disabled=${form.busy || !isReady(form, fields, required)}
        @click=${() => submit(form, fields ? collected(form, fields) : JSON.parse(form.json))}>Submit</button></div>`;
  }
  return html`<div class="form">${inside}
    ${form.problem ? html`<div class="notice is-failed" role="alert">${text(form.problem)}${
      form.lost ? html` <button @click=${() => { open.delete(form.key); form.refresh(); }}>Look again</button>` : nothing}</div>` : nothing}</div>`;
}

function isReady(form, fields, required) {
  if (!fields) {
    try { JSON.parse(form.json); return true; } catch { return false; }
  }
  const found = collected(form, fields);
  const isBlank = (name) => found[name] === "" && (form.action.type === "prompt" || form.action.result_schema.properties[name]?.minLength);
  return [...required].every((name) => found[name] !== undefined && !isBlank(name));
}

function json(form) {
  const id = `j-${form.key}`.replace(/[^\w-]/g, "_");
  let wrong = "";
  if (form.json) {
    try { JSON.parse(form.json); } catch (error) { wrong = error.message; }
  }
  return html`<label for=${id}>Result as JSON</label>
    <textarea id=${id} class="code" rows="5" spellcheck="false" aria-invalid=${wrong ? "true" : "false"} .value=${form.json}
      @input=${(event) => { form.json = event.target.value; form.problem = ""; keep(form); form.changed(); }}></textarea>
    ${wrong ? html`<small class="wrong">${wrong}</small>` : nothing}
    ${form.action.result_schema ? html`<details><summary>What it must look like</summary><pre>${text(form.action.result_schema)}</pre></details>` : nothing}`;
}
