// What a phone keeps, in a database of one person in one project: on a shared phone nobody sees or sends another's.
import { openDB } from "./vendor/idb-8.0.3.js";

// Who is here, by the cookie that lasts as long as the visit; "" when nobody is.
export function here() {
  const found = document.cookie.split("; ").find((part) => part.startsWith("kapwa_here="));
  return found ? decodeURIComponent(found.slice("kapwa_here=".length)) : "";
}

// Takes the tasks of whoever was here off the device; what they filled in stays until they come in again,
// and goes with whoever withdrew (`gone`).
export async function forget(gone) {
  if (here() || !indexedDB.databases) return;
  for (const { name } of await indexedDB.databases()) {
    if (!name.startsWith("kapwa ")) continue;
    const database = await openDB(name);
    await database.clear("batches");
    if (gone && name.endsWith(` ${gone}`)) for (const table of ["records", "facts"]) await database.clear(table);
    database.close();
  }
}

// What a person keeps on this device, a store for each project they take part in.
export async function everywhere(person) {
  const names = (await indexedDB.databases()).map(({ name }) => name.split(" "));
  const mine = names.filter(([first, , whose]) => first === "kapwa" && whose === person);
  return Promise.all(mine.map(([, project]) => open(project, person)));
}

export async function open(project, person) {
  const database = await openDB(`kapwa ${project} ${person}`, 1, {
    upgrade(made) {
      made.createObjectStore("records", { keyPath: "uuid" }).createIndex("task", ["desk", "subject", "seen"], { unique: true });
      made.createObjectStore("batches", { keyPath: "desk" });
      made.createObjectStore("facts");
    },
  });
  return {
    project,
    person,
    close: () => database.close(),
    records: async () => (await database.getAll("records")).sort((one, other) => (one.device_time < other.device_time ? -1 : 1)),
    batches: () => database.getAll("batches"),
    fact: (name) => database.get("facts", name),
    setFact: (name, value) => database.put("facts", value, name),
    // What was typed on pages and is not sent; each under the key of its form.
    drafts: async () => (await database.getAll("facts")).filter((fact) => fact && fact.entries),
    putDraft: (draft) => database.put("facts", draft, draft.key),
    dropDraft: (key) => database.delete("facts", key),
    putBatch: (batch) => database.put("batches", batch),
    dropBatch: (desk) => database.delete("batches", desk),
    put: (record) => database.put("records", record),
    drop: (uuid) => database.delete("records", uuid),
    // An answer is safe before the next task is shown; one that another tab has given already is not given twice.
    async keep(record) {
      const change = database.transaction(["records", "batches"], "readwrite", { durability: "strict" });
      const batch = await change.objectStore("batches").get(record.desk);
      if (batch) {
        batch.tasks = batch.tasks.filter((task) => task.subject !== record.subject || task.seen !== record.seen);
        await change.objectStore("batches").put(batch);
      }
      const before = await change.objectStore("records").index("task").count([record.desk, record.subject, record.seen]);
      if (!before) await change.objectStore("records").add(record);
      await change.done;
      return !before;
    },
  };
}
