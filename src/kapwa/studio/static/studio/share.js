// Hands a text to the chat programs of the phone, where the browser can, and copies texts of the page.
const message = document.getElementById("message");
const share = document.getElementById("share");

if (share) {
  share.hidden = !navigator.share;
  share.addEventListener("click", () => navigator.share({ text: message.value }).catch(() => {}));
}

// Without HTTPS browsers have no clipboard for scripts, but copy what is selected.
async function copied(field) {
  field.focus();
  field.select();
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(field.value);
      return true;
    } catch { /* not allowed: as without HTTPS */ }
  }
  return document.execCommand("copy");
}

for (const button of document.querySelectorAll("[data-copy]")) {
  const field = document.getElementById(button.dataset.copy);
  button.hidden = false;
  field.addEventListener("focus", () => field.select());
  button.addEventListener("click", async () => {
    button.nextElementSibling.hidden = !(await copied(field));
  });
}
