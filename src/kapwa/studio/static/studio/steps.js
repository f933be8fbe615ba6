// The writing desk on phones: the key Enter and "Next" lead to the next text, so that it needs no press of its own.
const TEXTS = "textarea:not(details:not([open]) *)";

// What comes after a text: the next one; after the last response that people here would give, which of these is best.
function following(form, text) {
  const texts = [...form.querySelectorAll(TEXTS)];
  const next = texts[texts.indexOf(text) + 1];
  const ends = text.id.startsWith("relevant_") && !next?.id.startsWith("relevant_");
  return ends ? form.querySelector("[name=best]:checked, [name=best]") : next;
}

export function steps() {
  const form = document.querySelector("form.desk");
  if (!form || !matchMedia("(pointer: coarse)").matches) return;
  const lines = form.querySelectorAll("textarea:not(#context, #notes, #note)"); // these may have paragraphs
  for (const text of lines) text.enterKeyHint = "next";
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || ![...lines].includes(event.target)) return;
    const next = following(form, event.target);
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  for (const link of form.querySelectorAll(".onward a")) link.addEventListener("click", () => setTimeout(() => document.querySelector(`${link.hash} textarea`).focus({ preventScroll: true })));
}
