/* Choosing a corpus, searching and sorting tables, values of pairs, texts side by side. Without this script the page
   shows the same, corpus under corpus. */
(() => {
  const read = id => JSON.parse(document.getElementById(id).textContent);

  /* One corpus at a time. */
  for (const panes of document.querySelectorAll(".panes")) {
    const every = [...panes.querySelectorAll(":scope > .pane")];
    const tools = make("div", { className: "tools" });
    const select = make("select");
    fill(select, every.map((pane, k) => [k, pane.querySelector("summary").textContent]), 0);
    const show = () => every.forEach((pane, k) => { pane.open = k === Number(select.value); });
    if (every.length > 1) tools.append(labelled(panes.dataset.label, select, "grow"));
    select.addEventListener("change", () => { show(); panes.dispatchEvent(new Event("shown")); });
    if (every.length) show();
    if (panes.classList.contains("searchable")) tools.append(...search(panes, every));
    panes.prepend(tools);
  }

  function search(panes, every) {
    const box = make("input", { type: "search", autocomplete: "off", spellcheck: false });
    const found = make("p", { className: "found" });
    found.setAttribute("role", "status");
    const look = () => {
      const wanted = box.value.trim().toLocaleLowerCase();
      for (const pane of every.filter(one => one.open)) {
        let shown = 0;
        const rows = [...pane.querySelectorAll("tbody tr")];
        for (const row of rows) {
          row.hidden = Boolean(wanted) && !row.textContent.toLocaleLowerCase().includes(wanted);
          shown += !row.hidden;
        }
        found.textContent = wanted ? `${shown} of ${rows.length} rows` : "";
      }
    };
    box.addEventListener("input", look);
    panes.addEventListener("shown", look);
    return [labelled(panes.dataset.search, box, "grow"), found];
  }

  /* Long tables: sorted by any column, downloaded as CSV. */
  const number = text => {
    const found = text.replaceAll(",", "").match(/[−-]?\d+(\.\d+)?/);
    return found ? Number(found[0].replace("−", "-")) : NaN;
  };
  const named = row => row.cells[0].firstChild?.textContent ?? "";
  const collator = new Intl.Collator();

  function sort(table, column, head) {
    const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : column > 0;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map(row => [column ? number(row.cells[column].textContent) : named(row), row]);
    rows.sort(([a], [b]) => {
      if (!column) return collator.compare(a, b) * (down ? -1 : 1);
      if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
      return (a - b) * (down ? -1 : 1);
    });
    body.append(...rows.map(([, row]) => row));
  }

  function csvLines(table) {
    const value = cell => {
      const text = cell.textContent.replaceAll("−", "-").trim();
      return cellOf(text, /^-?\d+(\.\d+)?$/.test(text));
    };
    const small = [...table.tBodies[0].rows].some(row => row.cells[0].querySelector("small"));
    const lines = [[...table.tHead.rows[0].cells].map(cell => cellOf(cell.textContent))];
    if (small) lines[0].splice(1, 0, "");
    for (const row of table.tBodies[0].rows) {
      const line = [cellOf(named(row))];
      if (small) line.push(cellOf(row.cells[0].querySelector("small")?.textContent ?? ""));
      lines.push([...line, ...[...row.cells].slice(1).map(value)]);
    }
    return lines;
  }

  for (const table of document.querySelectorAll("table.lean")) {
    if (!table.classList.contains("wordy")) {
      [...table.tHead.rows[0].cells].forEach((head, column) => {
        const button = make("button", { type: "button", textContent: head.textContent });
        button.addEventListener("click", () => sort(table, column, head));
        head.replaceChildren(button);
      });
    }
    const link = downloadLink(table.dataset.file, () => csvLines(table));
    table.closest(".scroll").after(make("p", { className: "under" }, make("span"), link));
  }

  /* Values of pairs. */
  const pairs = read("pairs-data");

  function pairValue(corpus, measure, one, other) {
    const told = pairs[corpus]?.[measure];
    if (!told || one === other) return null;
    told.bytes ??= bytes(told.data);
    told.at ??= new Map(pairs[corpus].names.map((name, k) => [name, k]));
    const [i, j] = [told.at.get(one), told.at.get(other)].sort((a, b) => a - b);
    if (i === undefined || j === undefined) return null;
    const count = pairs[corpus].names.length;
    const byte = told.bytes[i * count - (i * (i + 1)) / 2 + j - i - 1];
    return byte === 255 ? null : told.low + (told.high - told.low) * byte / 254;
  }

  const measures = { bleu: "BLEU", wed: "word edit distance" };
  for (const figure of document.querySelectorAll(".heat")) {
    const { corpus, measure } = figure.dataset;
    const svg = figure.querySelector("svg");
    const told = make("span", { className: "pointed" });
    told.setAttribute("role", "status");
    figure.querySelector(".key").append(told);
    if (!pairs[corpus]?.[measure]) continue;
    let names = null;
    const here = document.createElementNS(svg.namespaceURI, "rect");
    here.setAttribute("class", "here");
    here.setAttribute("width", "1");
    here.setAttribute("height", "1");
    const leave = () => { here.remove(); told.textContent = ""; };
    const point = event => {
      names ??= [...svg.querySelectorAll("defs text")].map(text => text.textContent.replace(isolates, ""));
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const column = Math.floor(place.x - Number(svg.dataset.left));
      const row = Math.floor(place.y - Number(svg.dataset.top));
      if (!names[row] || !names[column] || row === column) return leave();
      const [one, other] = [names[row], names[column]];
      const value = lookUp(corpus, measure, row, column, names);
      here.setAttribute("x", column + Number(svg.dataset.left));
      here.setAttribute("y", row + Number(svg.dataset.top));
      svg.append(here);
      told.textContent = `\u2068${one}\u2069 and \u2068${other}\u2069: ${value === null ? "not compared" : value.toFixed(2)}`;
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", leave);
  }

  /* Names in a picture may be cut short: the whole ones are found by how they begin. */
  function lookUp(corpus, measure, row, column, shown) {
    const whole = name => {
      if (!name.endsWith("…")) return name;
      return pairs[corpus].names.find(one => one.startsWith(name.slice(0, -1))) ?? name;
    };
    return pairValue(corpus, measure, whole(shown[row]), whole(shown[column]));
  }

  /* Texts side by side. */
  const explorer = document.querySelector(".explorer");
  if (explorer) explore(explorer, read("texts-data").corpora);

  async function index(corpus) {
    if (typeof corpus.texts === "string") corpus.texts = await unpack(corpus.texts);
    if (!corpus.found) {
      corpus.found = new Map();
      for (const [concept, identity, sample, text] of corpus.texts) {
        const key = `${concept},${identity}`;
        if (!corpus.found.has(key)) corpus.found.set(key, new Map());
        corpus.found.get(key).set(sample, text);
      }
    }
  }

  function explore(root, corpora) {
    if (!corpora.length) return;
    const one = root.dataset.one;
    const choice = { corpus: make("select"), concept: make("select") };
    const sides = [0, 1].map(() => ({ identity: make("select"), sample: make("select") }));
    const status = make("p", { className: "pair" });
    status.setAttribute("role", "status");
    const shown = make("div", { className: "sides" });
    fill(choice.corpus, corpora.map((corpus, k) => [k, corpus.name]), 0);
    const current = () => corpora[Number(choice.corpus.value)];

    const samples = side => {
      const found = current().found.get(`${choice.concept.value},${side.identity.value}`) ?? new Map();
      fill(side.sample, [...found.keys()].map(sample => [sample, String(sample + 1)]), side.sample.value);
      side.sample.disabled = found.size < 2;
    };
    const people = (before = sides.map(side => side.identity.value)) => {
      const corpus = current();
      const known = corpus.identities.map((name, k) => [k, name])
        .filter(([k]) => corpus.found.has(`${choice.concept.value},${k}`));
      sides.forEach((side, k) => {
        const found = known.some(([value]) => String(value) === before[k]);
        fill(side.identity, known, found ? before[k] : known[k ? known.length - 1 : 0]?.[0]);
        samples(side);
      });
    };
    const begin = async () => {
      const corpus = current();
      try {
        await index(corpus);
      } catch {
        status.textContent = "This browser cannot unpack the texts; a newer one can.";
        return;
      }
      /* What was chosen stays chosen where the other corpus has it too. */
      const kept = select => select.selectedOptions[0]?.textContent;
      const at = (names, name) => { const k = names.indexOf(name); return k < 0 ? "" : String(k); };
      const before = sides.map(side => at(corpus.identities, kept(side.identity)));
      fill(choice.concept, corpus.concepts.map((name, k) => [k, name]), at(corpus.concepts, kept(choice.concept)));
      people(before);
      draw();
    };
    const draw = () => {
      const corpus = current();
      const texts = sides.map(side =>
        corpus.found.get(`${choice.concept.value},${side.identity.value}`)?.get(Number(side.sample.value)) ?? "");
      const names = sides.map(side => corpus.identities[Number(side.identity.value)]);
      const marked = compare(...texts);
      shown.replaceChildren(...marked.map((pieces, k) => {
        const text = make("div", { className: "text", dir: "auto", lang: corpus.language });
        text.append(...pieces.map(([words, differs]) => differs ? make("mark", { textContent: words }) : words));
        const sample = sides[k].sample.options.length > 1 ? `, sample ${Number(sides[k].sample.value) + 1}` : "";
        const head = make("h3", {}, make("bdi", { textContent: names[k] }), sample);
        return make("article", { className: "side" }, head, text);
      }));
      status.textContent = tell(corpus, names, marked);
    };
    const tell = (corpus, names, marked) => {
      const counts = marked.map(pieces => {
        const words = pieces.map(([text, differs]) => [text.split(/\s+/u).filter(Boolean).length, differs]);
        return [words.reduce((sum, [n, d]) => sum + (d ? n : 0), 0), words.reduce((sum, [n]) => sum + n, 0)];
      });
      const parts = [`Marked: ${counts[0][0]} of ${counts[0][1]} words, ${counts[1][0]} of ${counts[1][1]} words.`];
      const known = Object.entries(measures)
        .map(([measure, name]) => [name, pairValue(String(corpus.number), measure, ...names)])
        .filter(([, value]) => value !== null)
        .map(([name, value]) => `${name} ${value.toFixed(2)}`);
      if (known.length) parts.push(`Over all concepts these two have ${known.join(" and ")}.`);
      return parts.join(" ");
    };

    choice.corpus.addEventListener("change", begin);
    choice.concept.addEventListener("change", () => { people(); draw(); });
    for (const side of sides) {
      side.identity.addEventListener("change", () => { samples(side); draw(); });
      side.sample.addEventListener("change", draw);
    }
    const top = make("div", { className: "tools" });
    if (corpora.length > 1) top.append(labelled("Corpus", choice.corpus, "grow"));
    top.append(labelled("Concept", choice.concept, "grow"));
    const pickers = make("div", { className: "pickers" });
    pickers.append(...sides.map((side, k) => {
      const title = `${k ? "Second" : "First"} ${one}`;
      side.sample.setAttribute("aria-label", `Sample of the ${title.toLowerCase()}`);
      return make("div", { className: "tools" }, labelled(title, side.identity), labelled("Sample", side.sample));
    }));
    root.replaceChildren(top, pickers, status, shown);
    begin();
  }

  /* Words of two texts, and which of them the other lacks: the longest common subsequence. */
  const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
  function words(text) {
    const parts = unspaced.test(text) && typeof Intl.Segmenter === "function"
      ? [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)].map(part => part.segment)
      : text.match(/[\p{L}\p{M}\p{N}]+(?:['’\-\u200c\u200d][\p{L}\p{M}\p{N}]+)*|\s+|[^\p{L}\p{M}\p{N}\s]/gu) ?? [];
    /* Space belongs to the word before it: it is never compared. */
    const found = [["", ""]];
    for (const part of parts) {
      if (part.trim()) found.push([part, ""]);
      else found.at(-1)[1] += part;
    }
    return found;
  }

  function compare(first, second) {
    const [a, b] = [words(first), words(second)];
    const [x, y] = [a, b].map(list => list.map(([word]) => word.toLocaleLowerCase()));
    const common = matches(x, y);
    return [pieces(a, common.map(([i]) => i)), pieces(b, common.map(([, j]) => j))];
  }

  function pieces(list, kept) {
    const same = new Set(kept);
    const found = [["", false]];
    list.forEach(([word, space], k) => {
      const differs = !same.has(k);
      const next = k + 1 < list.length && !same.has(k + 1);
      if (found.at(-1)[1] !== differs) found.push(["", differs]);
      found.at(-1)[0] += word;
      if (differs && !next) found.push([space, false]);
      else found.at(-1)[0] += space;
    });
    return found.filter(([text]) => text);
  }

  function matches(x, y) {
    let start = 0;
    while (start < x.length && start < y.length && x[start] === y[start]) start++;
    let ends = 0;
    while (ends < x.length - start && ends < y.length - start && x.at(-1 - ends) === y.at(-1 - ends)) ends++;
    const [n, m] = [x.length - start - ends, y.length - start - ends];
    const found = Array.from({ length: start }, (_, k) => [k, k]);
    const wide = m + 1;
    const best = new Uint16Array((n + 1) * wide);
    for (let i = n - 1; i >= 0; i--) {
      for (let j = m - 1; j >= 0; j--) {
        best[i * wide + j] = x[start + i] === y[start + j]
          ? best[(i + 1) * wide + j + 1] + 1
          : Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1]);
      }
    }
    for (let i = 0, j = 0; i < n && j < m;) {
      if (x[start + i] === y[start + j]) found.push([start + i++, start + j++]);
      else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1]) i++;
      else j++;
    }
    for (let k = ends; k > 0; k--) found.push([x.length - k, y.length - k]);
    return found;
  }
})();
