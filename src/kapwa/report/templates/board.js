/* Tables sorted by a click on a head, systems chosen by name, two systems side by side. */
(() => {
  const MINUS = "\u2212";
  const KINDS = ["Culture", "Language", "Label"];
  const words = cell => (cell.querySelector("bdi") ?? cell).textContent.trim();
  const number = text => {
    const plain = text.replace(MINUS, "-").replace(/[%,()+]/g, "");
    return plain === "" ? NaN : Number(plain);
  };

  /* What is no number stands last in a column of numbers, whichever way these go. */
  const value = ({ text }, falling) => (Number.isNaN(number(text)) ? (falling ? -Infinity : Infinity) : number(text));
  const texts = (table, column) => [...table.tBodies[0].rows].map(row => ({ row, text: words(row.cells[column]) }));
  const numeric = rows => rows.filter(({ text }) => !Number.isNaN(number(text))).length * 2 > rows.length;

  for (const table of document.querySelectorAll(".scroll > table:not(.bare)")) {
    const heads = [...table.tHead.rows[0].cells];
    if (table.tBodies[0].rows.length < 3) continue;
    heads.forEach((head, column) => {
      if (head.tagName !== "TH" || !head.textContent.trim()) return;
      const button = make("button", { type: "button", className: "sort", title: "Sort" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        /* Numbers the largest first, words in the order of the alphabet; a second click turns them around. */
        const rows = texts(table, column);
        const numbers = numeric(rows);
        const before = head.getAttribute("aria-sort");
        const falling = before === null ? numbers : before === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const rising = numbers ? (a, b) => value(a, falling) - value(b, falling) : (a, b) => a.text.localeCompare(b.text);
        rows.sort((a, b) => (falling ? rising(b, a) : rising(a, b)));
        table.tBodies[0].append(...rows.map(({ row }) => row));
      });
    });
  }

  /* Filters: which systems, tasks and cultures stand in the board, the squares and the two side by side. */
  const board = document.querySelector("table.board");
  const chosen = document.querySelector(".chosen");
  const data = document.querySelector("#board-data");
  const isMark = row => row.cells[0].classList.contains("faint");
  if (data) {
    unpack(data.textContent).then(({ tasks, groups, audited }) => {
      const showPair = chosen ? beside(chosen, tasks) : () => {};
      filtered(tasks, groups, audited, showPair);
    }).catch(() => {
      if (chosen) chosen.textContent = "This browser cannot unpack the scores; a newer one can.";
    });
  }

  function filtered(tasks, groups, audited, showPair) {
    const rows = [...board.tBodies[0].rows];
    const squares = [...document.querySelectorAll(".systems table")];
    const parts = [...document.querySelectorAll("section.part")];
    const heads = [...board.tHead.rows[0].cells];
    /* What stands in a cell, and whether it is bold: of the main variant, and of each other in the board by variant. */
    const content = cell => ({ nodes: [...cell.childNodes], className: cell.className });
    const whole = new Map(rows.flatMap(row => [...row.cells]).map(cell => [cell, content(cell)]));
    const titles = heads.map(words);
    const byVariant = tasks.map((_, k) => {
      const table = document.querySelector(`details.by-variant[data-task="${k}"] table`);
      return table && { heads: [...table.tHead.rows[0].cells].map(words), rows: new Map([...table.tBodies[0].rows].map(row => [words(row.cells[0]), row])) };
    });
    const systems = rows.filter(row => !isMark(row)).map(row => words(row.cells[0]));
    const labels = kind => [...new Set(tasks.flatMap(task => [task, ...task.others]).flatMap(task => task.choices.filter(choice => choice[0] === kind).map(choice => choice[1])))];
    const tools = make("div", { className: "tools filters" });
    const status = make("p", { className: "found" });
    status.setAttribute("role", "status");
    const box = make("input", { type: "search", autocomplete: "off", spellcheck: false });
    box.addEventListener("input", look);
    const selects = {};
    const offer = (name, all, values) => {
      selects[name] = make("select");
      fill(selects[name], [["", all], ...values], "");
      selects[name].addEventListener("change", () => {
        /* A culture, a language or a label, not two of them. */
        if (KINDS.includes(name) && selects[name].value) {
          for (const other of KINDS.filter(kind => kind !== name)) selects[other].value = "";
        }
        look();
      });
      if (values.length > (name === "Label" ? 0 : 1)) tools.append(labelled(name, selects[name]));
    };
    offer("Group", "All", [...new Set(Object.values(groups))].map(name => [name, name]));
    offer("Task", "All", tasks.map(({ task }, k) => [k, task]));
    /* In which prompt or language each task is shown, with the ranks in it. */
    const versions = tasks.map(task => [task, ...task.others]);
    const asked = tasks.map((_, k) => make("select"));
    asked.forEach((select, k) => {
      fill(select, versions[k].map((one, at) => [at, one.variant]), 0);
      select.addEventListener("change", look);
    });
    const prompts = tasks.flatMap(({ task, others }, k) =>
      (others.length ? [labelled(`Prompt or language${tasks.length > 1 ? `: ${task}` : ""}`, asked[k])] : []));
    for (const kind of KINDS) offer(kind, "All", labels(kind).sort((a, b) => a.localeCompare(b)).map(name => [name, name]));
    const named = [...tools.children].map(label => label.firstChild.textContent.toLowerCase());
    const search = rows.length > 10 ? [labelled("Show systems whose name contains", box, "grow")] : [];
    const folded = make("details", {}, make("summary", { textContent: `Filter by ${named.join(", ")}` }), tools);
    board.parentElement.before(make("div", { className: "tools" }, ...search, ...prompts, status), ...(named.length ? [folded] : []));

    function look() {
      const wanted = box.value.trim().toLocaleLowerCase();
      const [group, task] = ["Group", "Task"].map(name => selects[name].value);
      const kept = tasks.map((_, k) => task === "" || k === Number(task));
      const choice = KINDS.map(kind => [kind, selects[kind].value]).find(pair => pair[1]) ?? null;
      const current = versions.map((each, k) => each[Number(asked[k].value)]);
      const placesIn = each => each.map(({ choices }) => (choice ? choices.findIndex(one => one[0] === choice[0] && one[1] === choice[1]) : null));
      const places = placesIn(current);
      const fits = name => name.toLocaleLowerCase().includes(wanted) && (!group || groups[name] === group)
        && (task === "" || tasks[task].systems.includes(name));
      for (const row of [...rows, ...squares.flatMap(table => [...table.tBodies[0].rows])]) {
        row.hidden = !isMark(row) && !fits(words(row.cells[0]));
      }
      /* What people's labels say is over all cultures. */
      const columns = [...kept, ...audited.map(k => kept[k] && choice === null)];
      for (const row of [board.tHead.rows[0], ...rows]) columns.forEach((shown, k) => { row.cells[k + 1].hidden = !shown; });
      current.forEach((one, k) => {
        for (const row of rows) show(row, row.cells[k + 1], one, places[k], byVariant[k]);
        const head = heads[k + 1].querySelector("bdi") ?? heads[k + 1];
        head.textContent = one.at ? byVariant[k].heads[one.at] : titles[k + 1];
      });
      parts.forEach((part, k) => { part.hidden = !kept[k]; });
      for (const table of squares) narrow(table, Math.max(0, parts.indexOf(table.closest("section.part"))), placesIn(tasks));
      showPair(kept, places, current);
      const active = wanted || group || task !== "" || choice;
      const of = choice ? `; scores and intervals of ${choice[1]} alone` : "";
      const other = current.filter(one => one.at).map(one => `${one.task}: ${one.variant}, with the ranks in it`);
      const fixed = `ranks and bold scores stay those among all systems${choice ? ", over all cultures" : ""}`;
      const said = active ? [`${systems.filter(fits).length} of ${systems.length} systems${of}; ${fixed}`] : [];
      status.textContent = [...other, ...said].map(one => `${one}.`).join(" ");
    }

    function show(row, cell, task, place, variants) {
      const name = words(row.cells[0]);
      const there = variants?.rows.get(name)?.cells[task.at];
      const { nodes, className } = !task.at ? whole.get(cell) : there ? content(there.cloneNode(true)) : { nodes: ["\u2013"], className: "number faint" };
      cell.className = className;
      if (place === null) return cell.replaceChildren(...nodes);
      const line = isMark(row) ? task.systems.length + task.marks.indexOf(name) : task.systems.indexOf(name);
      const [text, small] = task.cells[place]?.[line] ?? ["\u2013", ""];
      return cell.replaceChildren(make("bdi", { textContent: text }), make("span", { className: "small", textContent: small }));
    }

    /* Squares of other cultures are left out; a table of topics stays: its squares are means over all cultures. */
    function narrow(table, k, places) {
      const columns = [...table.tHead.rows[0].cells].map(cell => words(cell).replaceAll("\u200b", "")).slice(1);
      const { cultures, choices } = tasks[k];
      if (!columns.every(name => cultures.includes(name))) return;
      const left = places[k] === null ? cultures : (choices[places[k]]?.[2] ?? []).map(at => cultures[at]);
      for (const row of table.rows) columns.forEach((name, at) => { row.cells[at + 1].hidden = !left.includes(name); });
    }
  }

  function beside(root, tasks) {
    const names = [...new Set(tasks.flatMap(task => task.systems))];
    const order = [...board.tBodies[0].rows].map(row => words(row.cells[0])).filter(name => names.includes(name));
    let kept = tasks.map(() => true);
    let places = tasks.map(() => null);
    let current = tasks;
    const first = make("select");
    const second = make("select");
    const tables = make("div");
    fill(first, order.map(name => [name, name]), order[0]);
    fill(second, order.map(name => [name, name]), order[1]);
    for (const select of [first, second]) select.addEventListener("change", show);
    root.replaceChildren(make("div", { className: "tools" }, labelled("System", first), labelled("and", second)), tables);
    show();
    return (shown, chosenPlaces, inVariants) => {
      kept = shown;
      places = chosenPlaces;
      current = inVariants;
      show();
    };

    function show() {
      const sides = current.map((task, k) => kept[k] && side(task, places[k])).filter(Boolean);
      tables.replaceChildren(...(sides.length ? sides : [make("p", { textContent: "Choose two different systems of one task." })]));
    }

    function side(task, place) {
      const [a, b] = [first.value, second.value].map(name => task.systems.indexOf(name));
      if (a < 0 || b < 0 || a === b) return null;
      const test = task.pairs.find(pair => (pair[0] === a || pair[1] === a) && (pair[0] === b || pair[1] === b));
      const head = make("tr", {}, ...["Culture", first.value, second.value].map((text, k) =>
        make("th", { scope: "col", className: k ? "number" : "" }, make("bdi", { textContent: text }))));
      const cultures = place === null ? task.cultures.map((_, k) => k) : task.choices[place]?.[2] ?? [];
      const rows = cultures.map(k => make("tr", {},
        make("th", { scope: "row" }, make("bdi", { textContent: task.cultures[k] })),
        make("td", { className: "number", textContent: task.cells[k][a][0] }),
        make("td", { className: "number", textContent: task.cells[k][b][0] })));
      const caption = make("caption", { textContent: [`${task.task}: ${task.metric}`, ...(task.at ? [task.variant] : [])].join(", ") });
      const table = make("table", {}, caption, make("thead", {}, head), make("tbody", {}, ...rows));
      const scroll = make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: caption.textContent }, table);
      return make("div", {}, make("p", { textContent: verdict(test, a, task.digits) }), scroll);
    }

    function verdict(test, a, digits) {
      if (!test) return "These two share too few questions to be compared.";
      const [, , difference, low, high, clear, missing] = test;
      const turned = test[0] !== a;
      const signed = value => (value > 0 ? "+" : "") + value.toFixed(digits).replace("-", MINUS);
      const ends = turned ? [-high, -low] : [low, high];
      const size = signed(turned ? -difference : difference);
      const between = low === null ? "no interval" : `95% interval ${signed(ends[0])} to ${signed(ends[1])}`;
      const unit = digits === 1 ? " points" : "";
      const apart = clear ? "The two differ by more than noise" : "The two cannot be told apart";
      const outcome = missing ? `Which of the two is better is not decided, for ${missing} of answers are missing` : `${apart}, all pairs of systems allowed for`;
      return `${outcome}: first minus second ${size}${unit} (${between}). Single cultures are not tested here; kapwa compare does that.`;
    }
  }
})();
