// Live updates and local times. The page works without this: a reload shows the state.

const staleAfter = 30_000; // milliseconds
let looked = document.querySelector("#looked time")?.dateTime ?? "";
let heard = Date.now(); // when the last look was heard of, by this clock

const span = (s) => s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min` : s < 86400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} d`;

// Times are shown in the browser's zone. Below a day, a beginning is shown as how long ago it was.
function localize(root) {
  for (const t of root.querySelectorAll("time")) {
    const at = new Date(t.dateTime), text = at.toLocaleTimeString();
    const says = t.className === "ago" ? `${span(Math.max(0, Math.round((Date.now() - at) / 1000)))} ago` : text;
    if (t.textContent !== says) t.textContent = says;
    t.title = at.toLocaleString();
  }
  for (const t of root.querySelectorAll("[data-time]")) {
    t.textContent = new Date(t.dataset.time * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
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

let fetching = false, again = false;
async function refresh() {
  if (fetching) { again = true; return; }
  fetching = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    const now = new DOMParser().parseFromString(await answer.text(), "text/html");
    localize(now);
    for (const id of ["top", "main"]) patch(document.getElementById(id), document.adoptNode(now.getElementById(id)));
  } catch { /* the stream says when the leader is back */ } finally {
    fetching = false;
    if (again) { again = false; refresh(); }
  }
}

function hear(news) {
  if (news.looked !== looked) { looked = news.looked; heard = Date.now(); }
}

let stream;
function watch() {
  stream = new EventSource("/api/v1/events");
  let number;
  stream.addEventListener("change", (e) => {
    const news = JSON.parse(e.data);
    hear(news);
    if (number !== news.number) refresh();
    number = news.number;
  });
  stream.addEventListener("look", (e) => hear(JSON.parse(e.data)));
}

// A page that is hidden closes its stream, so that it costs the leader nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { stream?.close(); stream = undefined; } else if (!stream) { watch(); }
});

setInterval(() => {
  const t = document.querySelector("#looked time");
  if (t && looked) t.dateTime = looked;
  document.body.classList.toggle("stale", Date.now() - heard > staleAfter);
  localize(document);
}, 1000);

localize(document);
if (!document.hidden) watch();
