// The page that works without a network: tasks taken along, answers kept on the phone, and sent when there is a network.
import { form, make, shown } from "./form.js";
import { forget, here, open } from "./store.js";

const place = (id) => document.getElementById(id);
const texts = Object.fromEntries([...place("texts").content.children].map((one) => [one.dataset.name, one.textContent]));
const { project, sync, work, worker } = document.querySelector("[data-project]").dataset;
const EVERY = 60_000; // milliseconds between tries to send
const AT_ONCE = 50; // records of one request
const LARGEST = 200_000; // letters of one request, more for a single record
const FEW = 10; // tasks: with fewer left, more are fetched
let store = null; // of the person who is here
let current = null; // what the form shows: { batch, task }
let fetched = new Set(); // desks whose tasks were fetched since the page was opened
let busy = false;
let known = ""; // what of its tasks the studio knows that the phone has

const say = (text, values = {}) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

function tell(message) {
  place("message").hidden = !message;
  place("message").textContent = message || "";
}

async function begin() {
  if (store) store.close();
  [store, current, fetched, known] = [null, null, new Set(), ""];
  const person = here();
  place("inside").hidden = !person;
  place("outside").hidden = Boolean(person);
  place("task").replaceChildren();
  if (!person) return forget();
  store = await open(project, person);
  await show();
  await flush();
}

// Whether the person whose store is open is still the one who is here; if not, the page begins anew for who is.
async function still() {
  if (store && here() === store.person) return true;
  await begin();
  return false;
}

async function show() {
  const records = await store.records();
  const refused = records.filter((one) => one.state === "refused");
  const last = await store.fact("last");
  place("unsent").textContent = say(texts.unsent, { n: records.length - refused.length });
  place("last").textContent = last ? say(texts.last, { time: `\u2068${new Date(last).toLocaleString(document.documentElement.lang)}\u2069` }) : texts.never;
  const batches = (await tasksLeft(records)).filter((batch) => batch.tasks.length);
  place("desks").replaceChildren(...batches.map((batch) => {
    const button = make("button", { class: "quiet", type: "button" }, say(texts.desk, { title: batch.title, n: batch.tasks.length }));
    button.addEventListener("click", () => next(batch.desk));
    return make("li", {}, button);
  }));
  place("none").hidden = batches.length > 0;
  const also = (await store.fact("also")) || ""; // sentences on work that waits in other languages
  place("also").hidden = batches.length > 0 || !also;
  place("also").firstElementChild.textContent = also;
  place("outbox").hidden = !refused.length;
  place("export").hidden = !records.length;
  place("refused").replaceChildren(...refused.map(refusal));
}

async function tasksLeft(records) {
  const filled = new Set(records.map((one) => JSON.stringify([one.desk, one.subject, one.seen])));
  const batches = await store.batches();
  for (const batch of batches) {
    batch.tasks = batch.tasks.filter((task) => !filled.has(JSON.stringify([batch.desk, task.subject, task.seen])));
  }
  return batches;
}

async function next(desk) {
  if (!(await still())) return;
  const batch = (await tasksLeft(await store.records())).find((one) => one.desk === desk);
  const task = batch && batch.tasks[0];
  current = task ? { batch, task } : null;
  const heading = make("h2", { tabindex: -1 }, batch ? batch.title : "");
  place("task").replaceChildren(heading, ...(task ? [shown(batch, task), form(batch, task, texts, keep)] : [make("p", { class: "lead" }, texts.thanks)]));
  heading.focus();
}

async function keep(values) {
  if (!current || !(await still())) return;
  const before = current;
  const { batch, task } = before;
  current = null; // a second press of the button is no second answer
  const record = {
    uuid: crypto.randomUUID(), person: store.person, desk: batch.desk, subject: task.subject, seen: task.seen, values,
    device_time: new Date().toISOString(), state: "waiting", message: "", title: batch.title,
    shown: task.shown,
  };
  let fresh = false;
  try {
    fresh = await store.keep(record);
  } catch { // such as a phone without room; the form stays as it is
    current = before;
    return tell(texts.unsaved);
  }
  await next(batch.desk);
  await show();
  if (!fresh) return tell(texts.already);
  flush();
  if (navigator.storage && navigator.storage.persist) navigator.storage.persist();
}

function refusal(record) {
  const answer = Object.values(record.values);
  const again = make("button", { class: "quiet", type: "button" }, texts.again);
  const away = make("button", { class: "quiet", type: "button" }, texts.remove);
  again.addEventListener("click", async () => {
    await store.put({ ...record, state: "waiting" });
    await show();
    await flush();
  });
  away.addEventListener("click", async () => {
    if (!window.confirm(texts.sure)) return;
    await store.drop(record.uuid);
    await show();
  });
  return make("li", {}, make("p", { dir: "auto" }, record.shown.map((one) => one.text).join(" · ")),
    make("p", { class: "text", dir: "auto" }, answer.join(" · ")), make("p", { class: "wrong" }, record.message), again, " ", away);
}

async function exported() {
  if (!(await still())) return;
  const file = { kapwa: "outbox", project, records: await store.records() };
  const address = URL.createObjectURL(new Blob([JSON.stringify(file, null, 1)], { type: "application/json" }));
  make("a", { href: address, download: `${project}-outbox.json` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// One request as JSON; what is refused as a whole is an error with the server's words.
async function ask(address, options = {}) {
  const answer = await fetch(address, { cache: "no-store", redirect: "error", ...options });
  if (answer.status === 401) throw new Paused(texts.signed_out);
  const found = await answer.json().catch(() => ({ error: texts.failed, hint: "" }));
  if (!answer.ok) throw new Paused(`${found.error} ${found.hint}`.trim());
  return found;
}

class Paused extends Error {}

async function flush() {
  if (!store || busy || !(await still())) return;
  busy = true;
  try {
    await navigator.locks.request(`kapwa ${project}`, () => exchange(store));
  } catch (error) {
    tell(error instanceof Paused ? error.message : texts.offline);
  } finally {
    busy = false;
    if (store) await show();
  }
}

// The tasks that the phone has, by desk: others get what it has no more.
async function tasksHeld(own) {
  const held = (await own.batches()).map((batch) => [batch.desk, batch.tasks.map((task) => task.lease || task.subject)]);
  return Object.fromEntries(held);
}

async function exchange(own) {
  const who = await ask(sync);
  if (who.person !== own.person) throw new Paused(texts.signed_out); // the cookie has told it, or soon will
  const waiting = (await own.records()).filter((one) => one.state === "waiting");
  const held = await tasksHeld(own);
  while (waiting.length || known !== JSON.stringify(held)) {
    const records = [];
    const sent = [];
    for (let size = 0; waiting.length && records.length < AT_ONCE && size < LARGEST; size += JSON.stringify(sent.at(-1)).length) {
      const { uuid, person, desk, subject, seen, values, device_time } = waiting[0];
      sent.push({ uuid, person, desk, subject, seen, values, device_time });
      records.push(waiting.shift());
    }
    const headers = { "Content-Type": "application/json", "X-CSRFToken": who.csrf };
    const answer = await ask(sync, { method: "POST", headers, body: JSON.stringify({ records: sent, held }) });
    known = JSON.stringify(held);
    const results = new Map(answer.records.map((one) => [one.uuid, one]));
    for (const record of records) {
      const result = results.get(record.uuid);
      if (result && result.status === 200) await own.drop(record.uuid);
      else if (result && result.status !== 403) await own.put({ ...record, state: "refused", message: result.message });
    }
  }
  await refill(own, who.desks);
  await own.setFact("also", who.also);
  await own.setFact("last", Date.now());
  tell("");
}

async function refill(own, desks) {
  const kept = new Map((await own.batches()).map((batch) => [batch.desk, batch]));
  for (const desk of kept.keys()) if (!desks.some((one) => one.name === desk)) await own.dropBatch(desk);
  for (const { name, left } of desks) {
    const batch = kept.get(name);
    const few = !batch || batch.tasks.length < Math.min(FEW, left);
    if (fetched.has(name) && !few) continue;
    await own.putBatch(await ask(`${work}${encodeURIComponent(name)}/batch/`));
    fetched.add(name);
  }
}

if (!window.isSecureContext || !("serviceWorker" in navigator)) {
  place("insecure").hidden = false;
} else {
  navigator.serviceWorker.register(worker, { scope: location.pathname }).catch(() => tell(texts.failed));
  navigator.serviceWorker.ready.then(() => { place("ready").hidden = false; });
  place("send").addEventListener("click", flush);
  place("export").addEventListener("click", exported);
  window.addEventListener("online", flush);
  document.addEventListener("visibilitychange", () => { if (!document.hidden && store) flush(); });
  setInterval(flush, EVERY);
  begin().catch(() => tell(texts.failed)); // a browser that keeps nothing, such as in a private window
}
