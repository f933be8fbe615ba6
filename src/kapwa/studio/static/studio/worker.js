// Keeps the page that works without a network, and nothing else: no answers, nobody's data.
const KEPT = "kapwa-phone-1";
const SHELL = new URL(self.registration.scope).pathname;
const FILES = ["studio.css", "icon.svg", "phone.js", "store.js", "form.js", "vendor/idb-8.0.3.js"].map(
  (name) => new URL(name, self.location.href).pathname,
);
const PATIENCE = 4000; // milliseconds that a slow network gets before the kept page is shown

async function fromNetwork(request) {
  const answer = await fetch(request);
  if (answer.status === 200 && !answer.redirected) {
    const kept = await caches.open(KEPT);
    await kept.put(new URL(request.url).pathname, answer.clone());
  }
  return answer;
}

async function answerTo(request) {
  const kept = await caches.match(new URL(request.url).pathname);
  const fresh = fromNetwork(request);
  if (!kept) return fresh;
  fresh.catch(() => {});
  const late = new Promise((done) => setTimeout(done, PATIENCE, kept));
  return Promise.race([fresh.catch(() => kept), late]).then((answer) => (answer.status >= 500 ? kept : answer));
}

self.addEventListener("install", (event) => {
  const all = [SHELL, ...FILES].map((path) => fromNetwork(new Request(path, { cache: "no-cache" })));
  event.waitUntil(Promise.all(all).then(() => self.skipWaiting()));
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const address = new URL(event.request.url);
  const ours = address.origin === self.location.origin && [SHELL, ...FILES].includes(address.pathname);
  if (ours && event.request.method === "GET") event.respondWith(answerTo(event.request));
});
