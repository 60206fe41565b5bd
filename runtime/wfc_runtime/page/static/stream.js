// A stream of changes, read with fetch: an EventSource can't send the key in a header.

const QUIET = 40000;

export async function listen(state, tell, isWanted) {
  let pause = 300;
  while (isWanted()) {
    const stop = new AbortController();
    let quiet = 0;
    const watch = () => { clearTimeout(quiet); quiet = setTimeout(() => stop.abort(), QUIET); };
    try {
      watch();
      const reply = await fetch(`/api/changes${state.cursor ? `?after=${encodeURIComponent(state.cursor)}` : ""}`, {
        headers: { Authorization: `Bearer ${state.key}` }, signal: stop.signal,
      });
      if (reply.status === 401) {
        tell({ live: { state: "lost", since: Date.now() } });
        return;
      }
      if (!reply.ok) throw new Error(String(reply.status));
      tell({ live: { state: "live" } });
      pause = 300;
      await read(reply.body.pipeThrough(new TextDecoderStream()).getReader(), state, tell, watch, isWanted, stop);
    } catch { /* The next attempt says whether it is back. */ }
    clearTimeout(quiet);
    if (!isWanted()) return;
    if (!state.lost) tell({ live: { state: "lost", since: state.lost = Date.now() } });
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 1.6, 4000);
  }
}

async function read(reader, state, tell, watch, isWanted, stop) {
  let rest = "";
  state.lost = 0;
  while (isWanted()) {
    const { value, done } = await reader.read();
    if (done) return;
    watch();
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").find((one) => one.startsWith("data: "));
      if (!data) continue;
      const news = JSON.parse(data.slice(6));
      // A page that was away has missed what it did not hear.
      if (state.cursor && news.cursor) tell(news);
      if (news.cursor) state.cursor = news.cursor;
    }
  }
  stop.abort();
}
