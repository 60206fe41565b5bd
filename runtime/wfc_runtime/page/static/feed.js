// Live updates for this tab: from the worker that all tabs share, else from a stream of its own while it is visible.

const HIDDEN = 15000;
const policy = globalThis.trustedTypes?.createPolicy("wfc", {
  createScriptURL: (path) => {
    if (path !== "/static/worker.js") throw new TypeError(path);
    return path;
  },
});

// `cursor`: from before the page loaded anything, so that it misses no change.
export function follow(key, cursor, tell) {
  if (!globalThis.SharedWorker) return alone(key, cursor, tell);
  const path = "/static/worker.js";
  const worker = new SharedWorker(policy ? policy.createScriptURL(path) : path, { type: "module", name: "wfc" });
  worker.port.onmessage = ({ data }) => tell(data);
  worker.onerror = () => alone(key, cursor, tell);
  worker.port.postMessage({ key, cursor });
  addEventListener("pagehide", () => worker.port.postMessage({ gone: true }));
  addEventListener("pageshow", (event) => event.persisted && worker.port.postMessage({ key }));
  return undefined;
}

async function alone(key, cursor, tell) {
  const { listen } = await import("./stream.js");
  const state = { key, cursor, lost: 0 };
  const isVisible = () => document.visibilityState === "visible";
  const begin = () => isVisible() && listen(state, tell, isVisible);
  document.addEventListener("visibilitychange", begin);
  begin();
  // Six connections serve all tabs of a browser, so a hidden tab keeps none open. It asks for everything now and then.
  setInterval(() => isVisible() || tell({ resync: true, changes: [] }), HIDDEN);
}
