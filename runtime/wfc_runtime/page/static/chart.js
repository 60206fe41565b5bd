// The chart of a run: the picture that the server has drawn, with the path of the run marked in it.

import { html } from "./page.js";

const SVG = "http://www.w3.org/2000/svg";

// The buttons for the size of a chart. `chart` is asked for when one is pressed: it may not be there yet.
export function sizeButtons(chart) {
  const by = (factor) => () => chart()?.zoom(chart().scale * factor);
  return html`<div class="buttons" role="group" aria-label="Size of the chart"><button @click=${() => chart()?.fit()}>Fit</button>
    <button @click=${() => chart()?.zoom(1)}>100 %</button><button @click=${by(1 / 1.25)} aria-label="Smaller">−</button><button @click=${by(1.25)} aria-label="Larger">+</button></div>`;
}

export class Chart {
  constructor(box, select) {
    this.box = box;
    this.select = select;
    this.scale = 1;
    this.svg = null;
    box.addEventListener("keydown", (event) => this.key(event));
  }

  put(svg, chart) {
    this.svg = svg;
    this.chart = chart;
    this.width = Number(svg.getAttribute("width"));
    this.height = Number(svg.getAttribute("height"));
    svg.classList.add("chart");
    for (const node of svg.querySelectorAll(".node[role]")) {
      if (node.dataset.chart !== chart) continue;
      node.addEventListener("click", () => this.select(node.dataset.state));
      node.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          this.select(node.dataset.state);
        }
      });
    }
    this.box.replaceChildren(svg);
    // Small enough to see where it goes, large enough to read.
    this.zoom(Math.max(0.8, Math.min(1, this.fitting())));
  }

  nodes() {
    return this.svg ? [...this.svg.querySelectorAll(".node")].filter((node) => node.dataset.chart === this.chart) : [];
  }

  // Mark where the run is, was, and how it got there.
  // `failed` names the state in which the run ended.
  mark(path, selected, failed = "") {
    if (!this.svg) return;
    this.svg.classList.toggle("is-marked", Boolean(path));
    const taken = new Set((path?.taken || []).map(([from, to]) => `${from} ${to}`));
    const current = new Set(path?.current || []);
    let first = true;
    for (const node of this.nodes()) {
      const { state } = node.dataset;
      const visits = path?.visited?.[state] || 0;
      const isEnd = !node.hasAttribute("role");
      const isReached = isEnd && [...taken].some((one) => one.endsWith(` ${state}`) || (state === "" && one.startsWith(" ")));
      node.classList.toggle("was", visits > 0 || isReached);
      node.classList.toggle("now", current.has(state));
      node.classList.toggle("failed", state === failed && !isEnd);
      node.classList.toggle("chosen", state === selected && !isEnd);
      if (current.has(state)) node.setAttribute("aria-current", "step");
      else node.removeAttribute("aria-current");
      if (!isEnd) {
        // One stop for the tab key: the current step, else the first.
        node.setAttribute("tabindex", current.has(state) || (first && !current.size) ? "0" : "-1");
        first = false;
        this.count(node, visits);
      }
    }
    for (const wire of this.svg.querySelectorAll(".wire")) {
      const isTaken = wire.dataset.chart === this.chart && taken.has(`${wire.dataset.from} ${wire.dataset.to}`);
      wire.classList.toggle("taken", isTaken);
    }
  }

  count(node, visits) {
    let badge = node.querySelector(".visits");
    if (visits < 2) {
      badge?.remove();
      return;
    }
    if (!badge) {
      const place = node.querySelector("rect, polygon").getBBox();
      badge = document.createElementNS(SVG, "text");
      badge.setAttribute("class", "visits");
      badge.setAttribute("x", String(place.x + 4));
      badge.setAttribute("y", String(place.y - 4));
      node.append(badge);
    }
    badge.textContent = `×${visits}`;
  }

  // -- size -------------------------------------------------------------------

  zoom(scale) {
    if (!this.svg) return;
    this.scale = Math.min(3, Math.max(0.15, scale));
    this.svg.setAttribute("width", String(Math.round(this.width * this.scale)));
    this.svg.setAttribute("height", String(Math.round(this.height * this.scale)));
  }

  fitting() { return (this.box.clientWidth - 8) / this.width; }

  fit() { this.zoom(Math.min(1, this.fitting())); }

  key(event) {
    const scale = { "+": this.scale * 1.25, "=": this.scale * 1.25, "-": this.scale / 1.25, 0: 1 }[event.key];
    if (scale) {
      event.preventDefault();
      this.zoom(scale);
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const nodes = this.nodes().filter((node) => node.hasAttribute("role"));
    const at = nodes.indexOf(document.activeElement);
    if (step && at >= 0) {
      event.preventDefault();
      nodes[at + step]?.focus();
    }
  }

  // On opening only: a page that scrolls by itself can't be read.
  toCurrent() {
    const node = this.svg?.querySelector(".node.now, .node.failed");
    if (!node) return;
    const place = node.getBoundingClientRect();
    const box = this.box.getBoundingClientRect();
    this.box.scrollTop += place.top - box.top - box.height / 2 + place.height / 2;
    this.box.scrollLeft += place.left - box.left - box.width / 2 + place.width / 2;
  }
}
