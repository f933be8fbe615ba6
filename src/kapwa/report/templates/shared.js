"use strict";
/* What the scripts of every page share. No text becomes markup: everything is written with textContent. Nothing here
   reaches a network. */
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
const labelled = (text, control, className = "") => make("label", { className }, make("span", { textContent: text }), control);
const fill = (select, names, chosen) => {
  select.replaceChildren(...names.map(([value, name]) => make("option", { value, textContent: name })));
  const values = names.map(([value]) => String(value));
  select.value = values.includes(String(chosen)) ? chosen : values[0];
};
const bytes = text => Uint8Array.from(atob(text), char => char.charCodeAt(0));
const unpack = async text => {
  const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
};
const isolates = /[\u2066-\u2069]/g;

/* A spreadsheet must not run what a text begins with; ``plain``: a number of ours. */
const cellOf = (text, plain = false) => {
  const clean = text.replace(isolates, "").trim();
  const armed = !plain && /^[=+\-@\t\r]/.test(clean) ? "'" + clean : clean;
  return /[",\r\n]/.test(armed) ? `"${armed.replaceAll('"', '""')}"` : armed;
};
const downloadLink = (name, lines) => {
  const link = make("a", { className: "download", href: "#", textContent: "Download CSV" });
  link.addEventListener("click", event => {
    event.preventDefault();
    const text = "\ufeff" + lines().map(line => line.join(",")).join("\r\n") + "\r\n";
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  });
  return link;
};
document.documentElement.classList.add("js");

