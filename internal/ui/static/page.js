// Live updates and local times. The page works without this: a reload shows the state.

const staleAfter = 30_000; // milliseconds
let looked = document.querySelector("#looked time")?.dateTime ?? "";
let heard = Date.now(); // when the last look was heard of, by this clock

const span = (s) => s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min` : s < 86400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;

const halfDay = 12 * 3600_000; // milliseconds; times that are farther away have their date

// Times are shown in the browser's zone. Below a day, a beginning is shown as how long ago it was.
function localize(root) {
  for (const t of root.querySelectorAll("time")) {
    const at = new Date(t.dateTime), near = Math.abs(Date.now() - at) < halfDay;
    const text = near ? at.toLocaleTimeString() : at.toLocaleString();
    const says = t.className === "ago" ? `${span(Math.max(0, Math.round((Date.now() - at) / 1000)))} ago` : text;
    if (t.textContent !== says) t.textContent = says;
    t.title = at.toLocaleString();
  }
  for (const t of root.querySelectorAll("[data-time]")) {
    const says = new Date(t.dataset.time * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) + (t.dataset.after ?? "");
    if (t.textContent !== says) t.textContent = says;
  }
}

// patch makes one element like another. Only what differs is touched, so that focus and scrolling stay.
function patch(old, now) {
  if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName) { old.replaceWith(now); return; }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== now.data) old.data = now.data;
    return;
  }
  for (const { name, value } of [...now.attributes]) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  const keyed = new Map();
  for (const c of old.children) if (c.dataset.k !== undefined) keyed.set(c.nodeName + c.dataset.k, c);
  let at = old.firstChild;
  for (const c of [...now.childNodes]) {
    const key = c.nodeType === Node.ELEMENT_NODE && c.dataset.k !== undefined ? c.nodeName + c.dataset.k : "";
    const same = key ? keyed.get(key) : at?.nodeType === Node.ELEMENT_NODE && at.dataset.k !== undefined ? undefined : at;
    if (!same) { old.insertBefore(c, at); continue; }
    keyed.delete(key);
    if (same !== at) old.insertBefore(same, at); else at = at.nextSibling;
    patch(same, c);
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}

// tell shows what keeps the page from being up to date; nothing hides it.
function tell(text) {
  const lost = document.getElementById("lost");
  lost.textContent = text;
  lost.hidden = !text;
}

const refreshAfter = 60_000, retryAfter = 5_000; // milliseconds
let fetching = false, again = false, refreshed = Date.now(), retry;
async function refresh() {
  if (fetching) { again = true; return; }
  fetching = true;
  clearTimeout(retry);
  let wait = 0;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    const now = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (answer.status === 503) wait = 1000 * (Number(answer.headers.get("Retry-After")) || 0) || retryAfter;
    if (now.getElementById("main")) {
      localize(now);
      for (const id of ["top", "main"]) patch(document.getElementById(id), document.adoptNode(now.getElementById(id)));
      tell("");
    } else {
      tell(`This page is refused now: ${now.body.textContent.trim()}`);
      wait ||= retryAfter;
    }
    refreshed = Date.now();
  } catch {
    tell("The autoscaler cannot be reached. What stands here is old; it is tried again.");
    wait = retryAfter;
  } finally {
    fetching = false;
    if (again) { again = false; refresh(); } else if (wait && !document.hidden) retry = setTimeout(refresh, wait);
  }
}

function hear(news) {
  if (news.looked !== looked) { looked = news.looked; heard = Date.now(); }
}

// A stream that breaks is opened again by the browser; one that is refused is not, so that it is tried again here, less
// and less often.
const firstPause = 1_000, longestPause = 30_000;
let stream, pause = firstPause, reopen;
function watch() {
  stream = new EventSource("/api/v1/events");
  let seen;
  stream.addEventListener("change", (e) => {
    const news = JSON.parse(e.data);
    hear(news);
    if (seen !== news.number) refresh();
    seen = news.number;
  });
  stream.addEventListener("look", (e) => {
    hear(JSON.parse(e.data));
    if (Date.now() - refreshed > refreshAfter) refresh(); // the charts go on while nothing is decided
  });
  stream.addEventListener("open", () => { pause = firstPause; });
  stream.addEventListener("error", () => {
    tell("The connection to the autoscaler is lost; it is tried again. Another process may lead by now: plimsoll ui finds it.");
    if (stream?.readyState !== EventSource.CLOSED) return;
    reopen = setTimeout(watch, pause);
    pause = Math.min(2 * pause, longestPause);
  });
}

function unwatch() {
  clearTimeout(reopen);
  clearTimeout(retry);
  stream?.close();
  stream = undefined;
}

// A page that is hidden is not kept up to date: it costs the leader nothing then.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) unwatch(); else if (!stream) watch();
});

setInterval(() => {
  const t = document.querySelector("#looked time");
  if (t && looked) t.dateTime = looked;
  document.body.classList.toggle("stale", Date.now() - heard > staleAfter);
  localize(document);
}, 1000);

localize(document);
if (!document.hidden) watch();
