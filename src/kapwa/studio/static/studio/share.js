// Hands the text to the chat programs of the phone, where the browser can; else people copy it from the page.
const message = document.getElementById("message");
const button = document.getElementById("share");

button.hidden = !navigator.share;
button.addEventListener("click", () => navigator.share({ text: message.value }).catch(() => {}));
message.addEventListener("focus", () => message.select());
