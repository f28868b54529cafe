// Keeps a page current. When the node has another revision, the same address is asked for again, and
// what differs is put in its place. A page says that it is live only while it is.
import { move } from "./moving.js";
import { asked, follow } from "./stream.js";

const TYPING_MS = 250;
const GROWING_MS = 3000;
const STALE_MS = 3000;
const TICK_MS = 500;
const LONGEST_REFRESH_MS = 30000;
const SESSION_MS = 15 * 60 * 1000;
const AWAY = "Where it has ended, start the agent or numalet dashboard again. This page stays, and tries again by itself.";
const FAILURES = {
  session: () => "This session has ended, or the server was started again: run numalet dashboard and open its link. This page then goes on by itself.",
  broken: () => "The server can not make this page at the moment; its log says why. It is asked for again after the next change.",
  busy: () => "Too many browsers follow this node; this page tries again by itself.",
  away: (since) => `The server has not answered since ${clock(since)}. ${AWAY}`,
};

const root = document.documentElement;
const events = document.body.dataset.events;
const status = document.getElementById("live");
const banner = document.getElementById("away");
let revision = null; // The one that was asked for last.
let receivedAt = 0;
let seenAt = Date.now(); // Since when the tab is visible.
let askingSince = null;
let failure = null; // {why, since}, until a page was shown again.
let isWanted = false; // News came while a page was on its way.
let unfollowed = ""; // A link that could not be followed.

function clock(moment) {
  return `${new Date(moment).toISOString().slice(11, 19)} (UTC)`;
}

function ago(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

// The age of each moment that asks for it is said beside it.
function showAges() {
  for (const each of document.querySelectorAll("[data-age-of]")) {
    const text = `${ago(Math.max((Date.now() - Date.parse(each.dataset.ageOf)) / 1000, 0))} ago`;
    if (each.textContent !== text) each.textContent = text;
  }
}

// What the page says of itself, and the words about it.
function standing() {
  if (failure) return ["not live", `${FAILURES[failure.why](failure.since)}${unfollowed}`];
  const since = Math.max(seenAt, Math.min(receivedAt, askingSince || Infinity));
  if (Date.now() - since > STALE_MS) {
    return ["stale", `What is below is as it was at ${clock(since)}: the server is slow or has stopped. ${AWAY}`];
  }
  return [receivedAt === 0 ? "connecting" : "live", ""];
}

function say() {
  if (document.hidden || !status) return; // A dump is never live.
  const [text, words] = standing();
  root.classList.toggle("connected", text === "live");
  root.classList.toggle("stale", Boolean(words));
  if (status.textContent !== text) status.textContent = text;
  if (banner.textContent !== words) banner.textContent = words;
  banner.hidden = !words;
}

function dated(moment) {
  return `${new Date(moment).toISOString().slice(0, 10)} ${clock(moment)}`;
}

// Paper stays as it is: it says of when its data are, whether they were live, and when it was printed.
addEventListener("beforeprint", () => {
  const since = Math.min(receivedAt || performance.timeOrigin, askingSince || Infinity, failure?.since || Infinity);
  const words = status ? `As of ${dated(since)}, ${standing()[0]}` : "Not live: a dump or a description";
  document.getElementById("paper").textContent = `${words}. Printed ${dated(Date.now())}.`;
});

function fail(why) {
  failure = { why, since: failure?.since || new Date() };
  say();
}

async function show(address) {
  const answer = await fetch(address, {
    credentials: "same-origin",
    headers: { Accept: "text/html" },
    signal: AbortSignal.timeout(LONGEST_REFRESH_MS),
  });
  if (answer.status === 401) return "session";
  if (answer.status >= 500) return "broken";
  if (answer.status === 429) {
    revision = null; // What is shown stays, and is asked for again soon.
    return "";
  }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of ["standing", "main"]) {
    const [old, wanted] = [document.getElementById(id), fresh.getElementById(id)];
    if (old && wanted) move(old, wanted);
  }
  document.title = fresh.title;
  document.dispatchEvent(new Event("numalet:shown"));
  showAges();
  return "";
}

async function refresh() {
  if (document.hidden) revision = null; // It is asked for when the tab is looked at.
  isWanted = Boolean(askingSince);
  if (document.hidden || askingSince) return;
  let why = "";
  // The answer to a form has no address to ask again.
  if (!document.querySelector("[data-still]")) {
    askingSince = Date.now();
    why = await show(location.href).catch(() => "away");
    askingSince = null;
  }
  if (why) return fail(why);
  failure = null;
  unfollowed = "";
  say();
  if (isWanted) refresh();
}

function receive(news) {
  if (news.failed) return fail(news.failed);
  const isOther = news.revision !== revision || (failure && failure.why !== "broken");
  receivedAt = Date.now();
  if (document.hidden) return;
  revision = news.revision;
  if (isOther) refresh();
  else say();
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
  seenAt = Date.now();
});

// While the server is away, a link would put the browser's own error in the place of the page.
document.addEventListener("click", async (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!failure || !link || !isPlain || link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  const address = typeof link.href === "string" ? link.href : new URL(link.getAttribute("href"), location.href).href;
  try {
    await asked(address);
    location.assign(address);
  } catch {
    unfollowed = " This link can not be opened before.";
    say();
  }
});

// A log grows without an event.
function grow() {
  if (document.querySelector("[data-grows]") && !failure) refresh();
}

// On a narrow screen the drawing for it is asked for, unless the address has chosen one.
const narrow = document.querySelector("a[data-narrow]");
if (narrow && matchMedia("(max-width: 600px)").matches) {
  history.replaceState(null, "", narrow.href);
  refresh();
}
showAges();
setInterval(showAges, 1000);
setInterval(grow, GROWING_MS);
if (events) {
  say();
  setInterval(say, TICK_MS);
  follow(events, receive);
  // A page that is looked at later finds its session open.
  setInterval(() => document.hidden && asked(location.href).catch(() => {}), SESSION_MS);
}
