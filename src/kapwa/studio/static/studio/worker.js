// Keeps the page that works without a network, and nothing else: no answers, nobody's data.
const FOLDER = new URL(".", self.location.href).pathname; // another one once any file in it holds something else
const SHELL = new URL(self.registration.scope).pathname;
const KEPT = `kapwa-phone ${SHELL} `;
const NOW = KEPT + FOLDER;
const FILES = ["studio.css", "icon.svg", "phone.js", "store.js", "form.js", "vendor/idb-8.0.3.js"].map((name) => FOLDER + name);
const PATIENCE = 4000; // milliseconds that a slow network gets before the kept page is shown

// The page from the network, which is kept if its files are ours: those of another version are brought by its own script.
async function pageFromNetwork(request) {
  const answer = await fetch(request);
  if (answer.status !== 200 || answer.redirected) return answer;
  const text = await answer.clone().text();
  if (text.includes(FOLDER)) await (await caches.open(NOW)).put(SHELL, answer.clone());
  return answer;
}

async function page(request) {
  const kept = await (await caches.open(NOW)).match(SHELL);
  const fresh = pageFromNetwork(request);
  if (!kept) return fresh;
  fresh.catch(() => {});
  const late = new Promise((done) => setTimeout(done, PATIENCE, kept));
  return Promise.race([fresh.catch(() => kept), late]).then((answer) => (answer.status >= 500 ? kept : answer));
}

async function file(request) {
  const kept = await (await caches.open(NOW)).match(new URL(request.url).pathname);
  return kept || fetch(request);
}

// All or nothing: a version whose page or files did not come leaves the one before in charge.
async function install() {
  const kept = await caches.open(NOW);
  await kept.addAll(FILES);
  await pageFromNetwork(new Request(SHELL));
  if (!(await kept.match(SHELL))) throw new Error("The page is of another version.");
  await self.skipWaiting();
}

async function activate() {
  const older = (await caches.keys()).filter((name) => name.startsWith(KEPT) && name !== NOW);
  await Promise.all(older.map((name) => caches.delete(name)));
  await self.clients.claim();
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("fetch", (event) => {
  const address = new URL(event.request.url);
  if (address.origin !== self.location.origin || event.request.method !== "GET") return;
  if (address.pathname === SHELL) event.respondWith(page(event.request));
  else if (FILES.includes(address.pathname)) event.respondWith(file(event.request));
});
