// The form of a task, with the looks of the page that the server makes; see work_field.html.

// An element with attributes and children; null attributes are left out.
export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

// The attributes of a text in a language; none for a text of the interface.
export function written(batch, language) {
  return language ? { lang: language, dir: batch.directions[language] || "auto" } : {};
}

export function shown(batch, task) {
  const parts = task.shown.map((one) =>
    make("section", {}, ...(one.label ? [make("h3", {}, one.label)] : []),
      make("p", { class: "item text", ...written(batch, one.language) }, one.text)));
  return make("div", { class: "task" }, ...parts);
}

function choices(batch, field) {
  return make("fieldset", { id: `set_${field.name}`, class: field.options[0].language ? null : "brief" }, make("legend", {}, field.label), ...field.options.map((option) =>
    make("label", { class: "tick" },
      make("input", { type: "radio", name: field.name, value: option.value }), " ",
      make("span", written(batch, option.language), option.text))));
}

// Says how much room a field has while somebody types, and keeps what is too long from being sent; `words`: the text.
export function limit(field, words) {
  const most = Number(field.dataset.longest) || field.maxLength;
  if (!(most > 0)) return;
  const line = make("p", { class: "hint", id: `${field.id}-room`, hidden: true });
  field.setAttribute("aria-describedby", [field.getAttribute("aria-describedby"), line.id].filter(Boolean).join(" "));
  field.after(line);
  field.addEventListener("input", () => {
    const length = [...field.value.normalize("NFC").trim()].length;
    line.hidden = length < 0.8 * most;
    line.className = length > most ? "wrong" : "hint";
    line.textContent = words.replace("{n}", length).replace("{most}", most);
    field.setCustomValidity(length > most ? line.textContent : "");
  });
}

function typed(batch, field) {
  const common = { id: `field_${field.name}`, name: field.name, "data-longest": field.longest, ...written(batch, field.language || "und") };
  const box = field.kind === "long" ? make("textarea", { ...common, rows: 2 }) : make("input", { ...common, autocomplete: "off" });
  return make("div", { id: `set_${field.name}` }, make("label", { for: common.id }, field.label), box);
}

// The form; `done(values)` is called with what was filled in when nothing is missing.
export function form(batch, task, texts, done) {
  const ends = task.buttons.map((one, place) =>
    make("button", { name: "button", value: one.value, class: place ? "quiet" : null, ...written(batch, one.language) }, one.text));
  const made = make("form", { class: "work", novalidate: true },
    ...task.fields.map((field) => (field.options.length ? choices(batch, field) : typed(batch, field))),
    make("div", { class: "buttons" }, ...ends));
  made.querySelectorAll("[data-longest]").forEach((field) => limit(field, texts.room));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!made.reportValidity()) return null;
    made.querySelectorAll(".wrong").forEach((one) => one.remove());
    const button = event.submitter ? event.submitter.value : ends[0].value;
    const filled = new FormData(made);
    const values = { button };
    for (const field of task.fields) {
      const given = (filled.get(field.name) || "").trim();
      const counts = !field.only_with.length || field.only_with.includes(button);
      if (counts && field.required && !given) return missing(made, field, texts);
      if (counts && given) values[field.name] = given;
    }
    return done(values);
  });
  return made;
}

function missing(made, field, texts) {
  const set = made.querySelector(`#set_${CSS.escape(field.name)}`);
  set.append(make("p", { class: "wrong", role: "alert" }, texts.missing));
  set.querySelector("input, textarea").focus();
}
