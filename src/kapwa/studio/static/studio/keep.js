// Keeps what is typed on any page of a project on the device until the studio has it, with or without HTTPS; keep.html
// has its texts. A form with a number counts once however often it is sent, so it is sent until the studio answers.
import { limit } from "./form.js";
import { keys } from "./keys.js";
import { steps } from "./steps.js";
import { everywhere, here, open } from "./store.js";

const box = document.getElementById("keep");
const texts = Object.fromEntries([...document.getElementById("keep-texts").content.children].map((text) => [text.dataset.name, text]));
const { project, sync, enter } = box.dataset;
const person = here(); // whose page this is, also when somebody else comes in meanwhile
const PATIENCE = 15_000; // milliseconds until a request counts as unanswered
const EVERY = 5_000; // milliseconds between tries to send
const LATER = [408, 425, 429, 502, 503, 504]; // of a proxy before a studio that is away
const TOKEN = "csrfmiddlewaretoken";
const SERVERS = [TOKEN, "uuid", "base"]; // fields that say nothing of which form it is
const PAGE = location.pathname + location.search.replace(/[?&]kept=[^&]*/, "");

let store = null; // null where the browser keeps nothing
let away = !navigator.onLine; // whether the studio did not answer last
let busy = false;
let timer = 0;
const forms = new Map(); // what is typed, by key

// A form of this page and what is typed in it.
class Typed {
  constructor(form) {
    this.form = form;
    this.hidden = {}; // what a draft's hidden fields said
    this.key = this.identity();
    this.first = JSON.stringify(this.entries());
    this.draft = null;
    this.locked = [];
    this.line = document.createElement("div");
    this.line.className = "kept";
    this.line.hidden = true;
    this.line.setAttribute("role", "status");
    form.append(this.line);
    this.writing = null;
    for (const kind of ["input", "change"]) form.addEventListener(kind, () => this.keep());
    form.addEventListener("submit", (event) => this.submit(event));
    // A check that was to come after the last letter: a form on its way has nothing to check, nor a token to ask with.
    form.addEventListener("htmx:beforeRequest", (event) => { if (this.locked.length) event.preventDefault(); });
  }

  identity() {
    const controls = [...this.form.elements].filter((field) => field.name && !SERVERS.includes(field.name));
    const about = controls.map((field) => (field.type === "hidden" ? [field.name, field.value] : field.name));
    return JSON.stringify([PAGE, this.form.getAttribute("action"), about]);
  }

  entries(button) {
    const all = [...new FormData(this.form)].filter(([name, value]) => name !== TOKEN && typeof value === "string");
    if (button && button.name) all.push([button.name, button.value]);
    return all.map(([name, value]) => [name, this.hidden[name] ?? value]);
  }

  say(name, words = "", more = []) {
    if (name === this.said && !words) return; // else it would be read aloud at each letter
    this.said = name;
    tell(this.line, name, words, more);
  }

  // Writes at each letter, one write after another, so that what is typed is safe before the next pause.
  keep() {
    if (this.draft && this.draft.state === "waiting") return null;
    this.again = true;
    this.line.dataset.writing = ""; // what the line says is not true of the last letter yet: it is shown pale
    this.writing ??= this.write().finally(() => { this.writing = null; });
    return this.writing;
  }

  async write() {
    while (this.again) {
      this.again = false;
      const entries = this.entries();
      const same = JSON.stringify(entries) === this.first;
      this.draft = same ? null : { key: this.key, page: PAGE, title: title(), state: "typed", entries };
      await this.put();
    }
    delete this.line.dataset.writing;
  }

  async put() {
    try {
      await (this.draft ? store.putDraft(this.draft) : store.dropDraft(this.key));
      this.say(this.draft && this.draft.state !== "waiting" ? "here" : "");
      return true;
    } catch { // a full device, or a browser that keeps nothing
      this.say("full");
      return false;
    }
  }

  // Puts a draft's texts back; those for which the form has no place any more are shown, to be copied.
  restore(draft) {
    this.draft = draft;
    if (draft.state === "refused") return this.copy(draft.message);
    const values = new Map();
    for (const [name, value] of draft.entries) values.set(name, [...(values.get(name) || []), value]);
    if (values.has("base")) [this.hidden.base] = values.get("base"); // the text that was changed, as it was then
    for (const field of this.form.elements) {
      if (!field.name || ["hidden", "submit", "file"].includes(field.type)) continue;
      const given = values.get(field.name) || [];
      if (["radio", "checkbox"].includes(field.type)) field.checked = given.includes(field.value);
      else if (given.length) field.value = given.shift();
      if (field.value !== field.defaultValue && field.closest("details")) field.closest("details").open = true;
    }
    if (draft.state === "waiting") return this.lock();
    return this.say("here", "", [this.forgetting("anew")]);
  }

  copy(message) {
    this.say("refused", message, [...copies(this.draft, JSON.parse(this.first)), this.forgetting("drop")]);
  }

  forgetting(name) {
    return pressed(name, async () => {
      await store.dropDraft(this.key);
      location.reload();
    });
  }

  lock() {
    this.locked = [...this.form.elements].filter((field) => !field.disabled);
    for (const field of this.locked) field.disabled = true;
  }

  unlock() {
    for (const field of this.locked) field.disabled = false;
    this.locked = [];
  }

  async submit(event) {
    if (this.form.querySelector("input[type=file]")?.files.length) return; // a file is not kept
    event.preventDefault();
    if (this.locked.length) return;
    const action = new URL(this.form.getAttribute("action") || "", location.href).href;
    const entries = this.entries(event.submitter);
    this.lock();
    await this.writing;
    this.draft = { key: this.key, page: PAGE, title: title(), action, state: "waiting", entries };
    this.stored = await this.put();
    this.fresh = true;
    await flush();
  }

  unsent() {
    this.say(here() === person ? (this.stored === false ? "full" : "unsent") : "signed_out", "", signing());
  }

  // The studio said no: it can be changed and sent again, as another where its number is taken. What is wrong with a
  // field stands beside it, and what is asked for besides, such as a reason, is added to the form.
  async refused(message, shown) {
    this.unlock();
    if (this.draft.state === "refused") this.hidden.uuid = number();
    this.say("refused", message);
    for (const old of this.form.querySelectorAll(".wrong[id]")) old.remove();
    const wrong = [...shown.querySelectorAll("main .wrong[id]")].map((line) => this.beside(line)).filter(Boolean);
    const asked = shown.querySelector("main #why .why");
    if (asked && !this.form.querySelector(".why textarea[name=reason]")) {
      this.line.before(asked);
      wrong.push(asked.querySelector("textarea"));
    }
    wrong[0]?.focus();
  }

  // Puts a line beside the field that it is about; returns the field.
  beside(line) {
    const name = line.id.slice(6);
    const found = this.form.elements[name] || this.form.elements[`field_${name}`];
    const field = found?.length && !found.options ? found[0] : found;
    if (!field) return null;
    const place = field.closest("fieldset") || field;
    if (place === field) field.after(line); else place.append(line);
    field.setAttribute("aria-describedby", [field.getAttribute("aria-describedby"), line.id].filter(Boolean).join(" "));
    return field;
  }
}

// A new number for a form; the browser's own way to make one needs HTTPS.
function number() {
  const digits = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-a$4-$5");
}

function title() {
  return document.querySelector("h1").textContent.trim();
}

function tell(place, name, words, more = []) {
  place.replaceChildren();
  place.hidden = !name;
  if (!name) return;
  const line = document.createElement("p");
  line.className = name === "here" || name === "sent" ? "hint" : "warn";
  line.append(...texts[name].cloneNode(true).childNodes, words ? ` ${words}` : "");
  place.append(line, ...more);
}

function pressed(name, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet small";
  button.textContent = texts[name].textContent;
  button.addEventListener("click", act);
  return button;
}

function linked(address, text) {
  const link = document.createElement("a");
  link.href = address;
  link.textContent = text;
  return link;
}

function signing() {
  return here() === person ? [] : [linked(`${enter}?next=${encodeURIComponent(PAGE)}`, texts.sign_in.textContent)];
}

function copies(draft, known = []) {
  const before = new Set(known.map(([, value]) => value));
  const typed = draft.entries.filter(([name, value]) => value && !SERVERS.includes(name) && !before.has(value));
  return typed.map(([, value]) => {
    const text = document.createElement("pre");
    text.className = "text";
    text.dir = "auto";
    text.textContent = value;
    return text;
  });
}

// "again": it was sent before, perhaps, with the same content, and the answer was lost.
async function post(draft, token) {
  const body = new URLSearchParams([...draft.entries, [TOKEN, token]]);
  const typed = forms.get(draft.key);
  const headers = { "Kapwa-Kept": typed && typed.fresh ? "once" : "again" };
  if (typed) typed.fresh = false;
  const signal = AbortSignal.timeout?.(PATIENCE);
  return fetch(draft.action, { method: "POST", body, headers, cache: "no-store", redirect: "manual", signal });
}

// Sends a draft; true when it need not be sent again, false when the studio is away or somebody else is here.
async function deliver(draft) {
  if (here() !== person) return false;
  let answer = await post(draft, document.querySelector(`[name=${TOKEN}]`).value);
  if (answer.status === 403 && here() === person) { // perhaps they came in again in another window
    const who = await (await fetch(sync, { cache: "no-store" })).json();
    if (who.person === person) answer = await post(draft, who.csrf);
  }
  away = LATER.includes(answer.status);
  if (away || here() !== person || answer.type === "opaqueredirect") return false;
  if (answer.status === 204) {
    await sent(draft, answer.headers.get("Kapwa-Onward"));
    return true;
  }
  const shown = new DOMParser().parseFromString(await answer.text(), "text/html");
  const said = [...shown.querySelectorAll("main [role=alert]")].map((line) => line.textContent.trim());
  Object.assign(draft, { state: answer.status === 409 ? "refused" : "typed", message: said.join(" ") });
  if (store) await store.putDraft(draft).catch(() => {});
  forms.get(draft.key)?.refused(draft.message || texts.failed.textContent, shown);
  return true;
}

async function sent(draft, onward) {
  if (store) await store.dropDraft(draft.key).catch(() => {});
  const typed = forms.get(draft.key);
  if (!typed) return tell(box, "sent");
  const next = new URL(onward || draft.page, location.href);
  const place = next.hash || new URL(draft.action).hash || "#";
  next.hash = ""; // to go to a place on the same page would load nothing, so the next page goes there itself
  if (store) await store.setFact("sent", place).catch(() => {});
  const address = next.href.replace("#", "");
  // "Back" goes to where the form was opened from: on the form itself what was sent could be sent once more.
  return typed.form.dataset.once === undefined ? location.assign(address) : location.replace(address);
}

// All that waits to be sent, also of pages that were closed.
async function waiting() {
  const drafts = new Map((store ? await store.drafts() : []).map((draft) => [draft.key, draft]));
  for (const { key, draft } of forms.values()) if (draft && draft.state === "waiting") drafts.set(key, draft);
  return [...drafts.values()].filter((draft) => draft.state === "waiting");
}

async function flush() {
  if (busy) return;
  busy = true;
  clearTimeout(timer);
  try {
    for (const draft of await waiting()) if (!(await deliver(draft))) break;
  } catch {
    away = true;
  }
  busy = false;
  const left = await waiting();
  for (const draft of left) forms.get(draft.key)?.unsent();
  if (left.length) timer = setTimeout(flush, EVERY);
  await list();
}

// What was typed on other pages, and what has no form on this one any more.
async function list() {
  const drafts = (store ? await store.drafts() : []).filter((draft) => !forms.has(draft.key));
  const lines = drafts.map((draft) => {
    const line = document.createElement("li");
    if (draft.page !== PAGE) line.append(linked(draft.page, draft.title));
    else line.append(...copies(draft), pressed("drop", async () => { await store.dropDraft(draft.key); await list(); }));
    return line;
  });
  const cards = document.createElement("ul");
  cards.append(...lines);
  if (lines.length) tell(box, "elsewhere", "", [cards]);
  else if (box.querySelector("ul")) tell(box, "");
}

// Where something would be lost from sight, the browser's own page of errors is not shown.
async function answers() {
  if (!away && !(await waiting()).length && ![...forms.values()].some((typed) => typed.draft)) return true;
  away = !(await fetch(new URL("icon.svg", import.meta.url), { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout?.(PATIENCE) }).catch(() => null));
  if (away) tell(box, "away");
  return !away;
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const to = new URL(link.href);
  if (to.origin !== location.origin || link.target || (to.hash && to.pathname === location.pathname)) return;
  event.preventDefault();
  if (await answers()) location.assign(to);
});

// Who ends their visit on purpose leaves nothing that they typed on the device, whatever project it is of.
document.querySelector("form.leave")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  await flush();
  if (!(await answers())) return;
  const stores = store && indexedDB.databases ? await everywhere(person) : [store].filter(Boolean);
  const kept = await Promise.all(stores.map(async (place) => [place, await place.drafts()]));
  if (kept.some(([, drafts]) => drafts.length) && !window.confirm(texts.leaving.textContent.trim())) return;
  for (const [place, drafts] of kept) for (const { key } of drafts) await place.dropDraft(key);
  event.target.submit();
});

// What somebody agrees to all at once was on the screen: the rest is not sent.
function seen(form) {
  const cards = [...form.querySelectorAll("input[name=shown]")];
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) target.closest("li").querySelector("input[name=shown]").disabled = false;
    }
  });
  for (const shown of cards) {
    shown.disabled = true;
    watch.observe(shown.closest("li").querySelector(".tick")); // what is beneath the text
  }
}

async function begin() {
  keys(texts);
  steps();
  const wide = matchMedia("(min-width: 44rem)").matches;
  for (const fold of document.querySelectorAll("details.gloss")) fold.open ||= wide; // beside the text there is room
  for (const field of document.querySelectorAll("main [maxlength], main [data-longest]")) limit(field, texts.room.textContent);
  store = person ? await open(project, person).catch(() => null) : null;
  document.querySelectorAll("form[data-seen]").forEach(seen);
  for (const form of document.querySelectorAll("main form[method=post]")) {
    if (!form.elements.uuid) continue;
    const typed = new Typed(form);
    forms.set(typed.key, typed);
  }
  const drafts = store ? await store.drafts() : [];
  for (const draft of drafts) forms.get(draft.key)?.restore(draft);
  const place = store && (await store.fact("sent"));
  if (place) {
    await store.setFact("sent", "");
    tell(box, "sent");
    document.getElementById(place.slice(1))?.scrollIntoView();
  }
  document.documentElement.dataset.keeps = ""; // for tests: what is typed from now on is kept
  await flush();
}

addEventListener("online", flush);
addEventListener("offline", () => { away = true; });
document.addEventListener("visibilitychange", () => { if (!document.hidden) flush(); });
begin();
