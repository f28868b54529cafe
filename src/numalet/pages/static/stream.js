// One event stream for all tabs of a browser. Chromium opens six connections to a server over
// HTTP/1.1, and a stream keeps one of them: six tabs with a stream each leave none for any page.
//
// A visible tab that holds a Web Lock reads the stream, and tells the others by a BroadcastChannel.
// The browser gives the lock to another visible tab when its holder is hidden, closed or crashes.
// A SharedWorker would not learn of a tab that crashes, and Chromium for Android has none.
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 5000;
const SILENCE_MS = 30000; // The server sends something every second, so such a stream is dead.
const ANSWER_MS = 5000;

// `receive` gets {revision} from the server, and {failed: why} when there is no stream: "session", "busy"
// or "away".
export function follow(address, receive) {
  const name = `numalet ${location.origin}${address}`;
  const tabs = new BroadcastChannel(name);
  let leaving = new AbortController();
  tabs.addEventListener("message", (event) => receive(event.data));

  function tell(news) {
    tabs.postMessage(news);
    receive(news);
  }

  function enter() {
    leaving.abort();
    if (document.hidden) return;
    leaving = new AbortController();
    const { signal } = leaving;
    // The request is refused where the tab is hidden before it gets the lock.
    navigator.locks.request(name, { signal }, () => read(address, tell, signal)).catch((error) => {
      if (error.name !== "AbortError") throw error;
    });
  }

  document.addEventListener("visibilitychange", enter);
  enter();
}

async function read(address, tell, signal) {
  let waitMs = FIRST_WAIT_MS;
  while (!signal.aborted) {
    const received = await streamed(address, tell, signal);
    if (signal.aborted) return;
    if (received) waitMs = FIRST_WAIT_MS;
    const failed = await reason(received);
    if (failed) tell({ failed });
    await paused(waitMs, signal);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
}

// Ends with the stream, or when the tab leaves; whether anything was received.
function streamed(address, tell, signal) {
  return new Promise((ended) => {
    const source = new EventSource(address);
    let received = false;
    let silence = 0;
    const end = () => {
      clearTimeout(silence);
      source.close();
      signal.removeEventListener("abort", end);
      ended(received);
    };
    const wait = () => {
      clearTimeout(silence);
      silence = setTimeout(end, SILENCE_MS);
    };
    signal.addEventListener("abort", end);
    source.addEventListener("error", end);
    source.addEventListener("message", (event) => {
      received = true;
      wait();
      tell(JSON.parse(event.data));
    });
    wait();
  });
}

// An event source does not say why it failed; the page itself does.
async function reason(received) {
  try {
    const answer = await asked(location.href);
    if (answer.status === 401) return "session";
    return received ? "" : "busy"; // What was received is received again at once.
  } catch {
    return "away";
  }
}

// Whether there is an answer, soon, and which.
export function asked(address) {
  return fetch(address, { method: "HEAD", credentials: "same-origin", signal: AbortSignal.timeout(ANSWER_MS) });
}

function paused(ms, signal) {
  return new Promise((done) => {
    setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
