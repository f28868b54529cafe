// Keeps a page current. After each event the same address is asked for again, and what differs is
// put in its place: elements keep their identity, so focus, selection, scrolling, opened details
// and half-filled forms stay, and attributes that change can move by CSS.
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15000;
const TYPING_MS = 250;
const GROWING_MS = 3000;

const root = document.documentElement;
const events = document.body.dataset.events;
const status = document.getElementById("live");
const banner = document.getElementById("away");
let awaySince = null;
let waitMs = FIRST_WAIT_MS;
let isWanted = false; // An event came while the tab was hidden, or while a page was on its way.
let isAsking = false;
let stopped = false;

// A key by which an element is found again; what has none is matched by its place.
function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.id || node.getAttribute("data-key") : null;
}

function isSame(old, fresh) {
  return old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);
}

function isKept(element, name) {
  // What the reader did stays: opened details, and pods that are lit up.
  return name === "open" && element.nodeName === "DETAILS";
}

function moveAttributes(old, fresh) {
  for (const { name, value } of [...fresh.attributes]) {
    if (!isKept(old, name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!isKept(old, name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
}

// The choices of a list follow the node; the one that the reader made stays, there or not.
function moveChoices(old, fresh) {
  const chosen = old.selectedOptions[0];
  const known = new Map([...old.options].map((each) => [each.value, each]));
  const wanted = [...fresh.options].map((each) => known.get(each.value) || document.importNode(each, true));
  if (chosen && !wanted.includes(chosen)) wanted.push(chosen);
  if (wanted.length === old.length && wanted.every((each, at) => each === old.options[at])) return;
  old.replaceChildren(...wanted);
  if (chosen) old.value = chosen.value;
}

function move(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.nodeName === "SELECT") return moveChoices(old, fresh);
  if (["INPUT", "TEXTAREA"].includes(old.nodeName)) return;
  if (old.isEqualNode(fresh)) return;
  const isLit = old.classList.contains("lit");
  moveAttributes(old, fresh);
  if (isLit) old.classList.add("lit");
  moveChildren(old, fresh);
}

// Linear in the number of children: keyed ones by a map, others by their place. What has gone is
// removed first, so that what stays is in its place already, and only what moved is moved.
function moveChildren(old, fresh) {
  const stays = new Set();
  for (const child of fresh.childNodes) stays.add(keyOf(child));
  const keyed = new Map();
  for (const child of [...old.childNodes]) {
    const key = keyOf(child);
    if (key && !stays.has(key)) child.remove();
    else if (key) keyed.set(key, child);
  }
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const key = keyOf(wanted);
    const match = key ? keyed.get(key) : at;
    if (!match || !isSame(match, wanted)) {
      old.insertBefore(document.importNode(wanted, true), at);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else old.insertBefore(match, at);
    move(match, wanted);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function say(text) {
  root.classList.toggle("connected", text === "live");
  if (status && status.textContent !== text) status.textContent = text;
}

function ago(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

function showAge() {
  const changed = document.getElementById("changed");
  if (changed && !document.hidden) {
    const seconds = Math.max((Date.now() - Date.parse(changed.dateTime)) / 1000, 0);
    changed.textContent = `last change ${ago(seconds)} ago`;
  }
  const old = document.getElementById("out-of-date-age");
  if (old && !document.hidden) {
    const seconds = Math.max((Date.now() - Date.parse(old.dataset.since)) / 1000, 0);
    old.textContent = `, ${ago(seconds)} ago`;
  }
}

function away(words) {
  awaySince = awaySince || new Date();
  root.classList.add("stale");
  say("not live");
  banner.textContent = words || `The server of this page is away since ${awaySince.toLocaleTimeString()}; trying again. What is below may have changed.`;
  banner.hidden = false;
}

function back() {
  awaySince = null;
  waitMs = FIRST_WAIT_MS;
  root.classList.remove("stale");
  banner.hidden = true;
  say("live");
}

function needLink() {
  stopped = true;
  away("This session has ended. A new link is needed: run numalet dashboard.");
}

async function show(address) {
  const answer = await fetch(address, { credentials: "same-origin", headers: { Accept: "text/html" } });
  if (answer.status === 401) return needLink();
  if (answer.status === 429) return; // What is shown stays; the next change asks again.
  if (answer.status >= 500) throw new Error(String(answer.status));
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of ["standing", "main"]) {
    const [old, wanted] = [document.getElementById(id), fresh.getElementById(id)];
    if (old && wanted) move(old, wanted);
  }
  document.title = fresh.title;
  document.dispatchEvent(new Event("numalet:shown"));
  showAge();
}

async function refresh() {
  // The answer to a form has no address to ask again.
  if (document.querySelector("[data-still]")) return;
  if (document.hidden || isAsking || stopped) {
    isWanted = true;
    return;
  }
  isAsking = true;
  isWanted = false;
  try {
    await show(location.href);
    if (!stopped && awaySince) back();
  } catch {
    away();
  } finally {
    isAsking = false;
  }
  if (isWanted) refresh();
}

function connect() {
  const source = new EventSource(events);
  source.addEventListener("open", () => {
    if (awaySince) refresh();
    else say("live");
  });
  source.addEventListener("message", refresh);
  source.addEventListener("error", async () => {
    source.close();
    if (stopped) return;
    away();
    // An event source does not say why it failed; the page itself does.
    try {
      const answer = await fetch(location.href, { method: "HEAD", credentials: "same-origin" });
      if (answer.status === 401) return needLink();
    } catch {
      // It is away, which is said already.
    }
    setTimeout(connect, waitMs);
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  });
}

// The form of a table sends itself while it is filled in; without script it has a button.
let typing = 0;
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-at-once]");
  if (!form) return;
  clearTimeout(typing);
  typing = setTimeout(() => {
    const given = [...new FormData(form)].filter(([, value]) => value);
    const query = new URLSearchParams(given).toString();
    history.replaceState(null, "", query ? `?${query}` : location.pathname);
    refresh();
  }, TYPING_MS);
});

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && isWanted) refresh();
});

// A log grows without an event.
function follow() {
  if (document.querySelector("[data-grows]") && !document.hidden && !awaySince) refresh();
}

showAge();
setInterval(showAge, 1000);
setInterval(follow, GROWING_MS);
if (events) {
  say("connecting");
  connect();
}
