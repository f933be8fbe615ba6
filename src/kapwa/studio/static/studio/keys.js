// Keys of the task on a page: numbers choose, Enter finishes, letters press what shows them; never while somebody types.
const TYPES = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";
const LETTERS = ["Enter", "X", "C", "V", "B"]; // of the buttons of a task
const OFF = "kapwa keys off";

function off() {
  try {
    return localStorage.getItem(OFF) === "yes";
  } catch { // a browser that keeps nothing
    return false;
  }
}

function show(place, key) {
  const shown = document.createElement("kbd");
  shown.textContent = key;
  shown.setAttribute("aria-hidden", "true");
  place.setAttribute("aria-keyshortcuts", key);
  place.append(" ", shown);
}

// The questions that are answered by a choice.
function sets(form) {
  return [...form.querySelectorAll("fieldset")].filter((set) => set.querySelector("input[type=radio]"));
}

function unanswered(form) {
  return sets(form).find((set) => !set.querySelector(":checked"));
}

// The choices that numbers mean now: those of the first question without an answer, else of the one that has the focus.
function asked(form) {
  return unanswered(form) || document.activeElement.closest("fieldset") || sets(form)[0];
}

// Saves with the last answer, where nothing but choices is needed; not while arrows go through the choices.
function finishing(form) {
  form.querySelector("p.hint[hidden]").hidden = false;
  let before = unanswered(form);
  form.addEventListener("change", (event) => {
    const last = before && !(before = unanswered(form));
    if (last && !event.target.matches(":focus-visible")) form.querySelector("button").click();
  });
}

function mark(form) {
  const now = asked(form);
  for (const set of form.querySelectorAll("fieldset")) set.classList.toggle("asked", set === now && !off());
}

function choose(form, place) {
  const choice = asked(form)?.querySelectorAll("input[type=radio]")[place];
  choice?.click();
  choice?.focus();
  return Boolean(choice);
}

// The letter on the key, or where its script has others, the one that stands on it in Latin script.
function letter(event) {
  return /^[a-z]$/i.test(event.key) ? event.key.toUpperCase() : event.code.replace(/^Key/, "");
}

function act(form, event) {
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code);
  if (digit && form) return choose(form, digit[1] - 1);
  const key = event.key === "Enter" ? "Enter" : letter(event);
  if (key === "Enter" && event.target.closest("a, button, summary")) return false;
  const button = [...document.querySelectorAll("main [aria-keyshortcuts]")].find((one) => one.getAttribute("aria-keyshortcuts") === key && one.checkVisibility());
  button?.click();
  return Boolean(button);
}

function turning(form, words) {
  const button = document.createElement("button");
  const name = () => { button.textContent = (off() ? words.keys_on : words.keys_off).textContent; };
  button.type = "button";
  button.className = "quiet small keys";
  button.addEventListener("click", () => {
    try {
      localStorage.setItem(OFF, off() ? "no" : "yes");
    } catch { return; }
    document.documentElement.classList.toggle("silent", off());
    name();
    mark(form);
  });
  name();
  form.append(button);
}

export function keys(words) {
  const form = document.querySelector("form[data-keys]");
  const pressed = document.querySelectorAll("main [data-key]");
  if (!form && !pressed.length) return;
  document.documentElement.classList.toggle("silent", off());
  for (const place of pressed) show(place, place.dataset.key);
  if (form) {
    for (const set of form.querySelectorAll("fieldset")) [...set.querySelectorAll("label:has(input[type=radio])")].slice(0, 9).forEach((label, place) => show(label, String(place + 1)));
    form.querySelectorAll("button:enabled").forEach((button, place) => LETTERS[place] && show(button, LETTERS[place]));
    form.addEventListener("change", () => mark(form));
    if ("finishes" in form.dataset) finishing(form);
    mark(form);
  }
  turning(form || pressed[0].closest("form") || document.querySelector("main"), words);
  document.addEventListener("keydown", (event) => {
    if (off() || event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing || event.target.closest(TYPES)) return;
    if (act(form, event)) event.preventDefault();
  });
}
