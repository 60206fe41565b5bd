// One stream for all tabs of a browser: with one each, the seventh tab would wait for ever for a connection.

import { listen } from "./stream.js";

const ports = new Set();
const state = { key: "", cursor: "", lost: 0 };
let last = { live: { state: "connecting" } };
let generation = 0;

function tell(news) {
  if (news.live) last = news;
  for (const port of ports) port.postMessage(news);
}

self.onconnect = (event) => {
  const port = event.ports[0];
  port.onmessage = ({ data }) => {
    if (data.gone) {
      ports.delete(port);
      return;
    }
    ports.add(port);
    port.postMessage(last);
    if (!state.cursor) state.cursor = data.cursor || "";
    // This stream is ahead of what the page has loaded, or the page was asleep.
    else if (data.cursor !== state.cursor) port.postMessage({ resync: true, changes: [] });
    if (data.key !== state.key) {
      // A new key: the server was started again.
      state.key = data.key;
      const mine = ++generation;
      listen(state, tell, () => mine === generation);
    }
  };
};
