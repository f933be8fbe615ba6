/* Tables sorted by a click on a head, systems chosen by name, two systems side by side. */
(() => {
  const MINUS = "\u2212";
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

  /* Rows of systems, in every table that has them. */
  const board = document.querySelector("table.board");
  const systems = [...document.querySelectorAll("table.board, .systems table")].flatMap(table => [...table.tBodies[0].rows]);
  if (board && board.tBodies[0].rows.length > 10) {
    const box = make("input", { type: "search", autocomplete: "off", spellcheck: false });
    const status = make("p", { className: "found" });
    status.setAttribute("role", "status");
    const kinds = new Set(["Guessing", "Best trick", "Ceiling"]);
    box.addEventListener("input", () => {
      const wanted = box.value.trim().toLocaleLowerCase();
      let shown = 0;
      for (const row of systems) {
        const name = words(row.cells[0]);
        row.hidden = !kinds.has(name) && !name.toLocaleLowerCase().includes(wanted);
        shown += !row.hidden && row.closest("table") === board && !kinds.has(name);
      }
      status.textContent = wanted ? `${shown} ${shown === 1 ? "system" : "systems"}; ranks are those among all.` : "";
    });
    board.parentElement.before(make("div", { className: "tools" }, labelled("Show systems whose name contains", box, "grow"), status));
  }

  const chosen = document.querySelector(".chosen");
  if (chosen) {
    unpack(chosen.nextElementSibling.textContent).then(tasks => beside(chosen, tasks)).catch(() => {
      chosen.textContent = "This browser cannot unpack the scores; a newer one can.";
    });
  }

  function beside(root, tasks) {
    const names = [...new Set(tasks.flatMap(task => task.systems))];
    const order = [...board.tBodies[0].rows].map(row => words(row.cells[0])).filter(name => names.includes(name));
    const first = make("select");
    const second = make("select");
    const tables = make("div");
    fill(first, order.map(name => [name, name]), order[0]);
    fill(second, order.map(name => [name, name]), order[1]);
    for (const select of [first, second]) select.addEventListener("change", show);
    root.replaceChildren(make("div", { className: "tools" }, labelled("System", first), labelled("and", second)), tables);
    show();

    function show() {
      const sides = tasks.map(task => side(task)).filter(Boolean);
      tables.replaceChildren(...(sides.length ? sides : [make("p", { textContent: "Choose two different systems of one task." })]));
    }

    function side(task) {
      const [a, b] = [first.value, second.value].map(name => task.systems.indexOf(name));
      if (a < 0 || b < 0 || a === b) return null;
      const test = task.pairs.find(pair => (pair[0] === a || pair[1] === a) && (pair[0] === b || pair[1] === b));
      const head = make("tr", {}, ...["Culture", first.value, second.value].map((text, k) =>
        make("th", { scope: "col", className: k ? "number" : "" }, make("bdi", { textContent: text }))));
      const rows = task.cultures.map((culture, k) => make("tr", {},
        make("th", { scope: "row" }, make("bdi", { textContent: culture })),
        make("td", { className: "number", textContent: task.scores[a][k] }),
        make("td", { className: "number", textContent: task.scores[b][k] })));
      const caption = make("caption", { textContent: `${task.task}: ${task.metric}` });
      const table = make("table", {}, caption, make("thead", {}, head), make("tbody", {}, ...rows));
      const scroll = make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: caption.textContent }, table);
      return make("div", {}, make("p", { textContent: verdict(test, a, task.digits) }), scroll);
    }

    function verdict(test, a, digits) {
      if (!test) return "These two share too few questions to be compared.";
      const [, , difference, low, high, clear] = test;
      const turned = test[0] !== a;
      const signed = value => (value > 0 ? "+" : "") + value.toFixed(digits).replace("-", MINUS);
      const ends = turned ? [-high, -low] : [low, high];
      const size = signed(turned ? -difference : difference);
      const between = low === null ? "no interval" : `95% interval ${signed(ends[0])} to ${signed(ends[1])}`;
      const outcome = clear ? "The two differ by more than noise, all pairs of systems allowed for" : "The two cannot be told apart, all pairs of systems allowed for";
      return `${outcome}: first minus second ${size} (${between}). Single cultures are not tested here; kapwa compare does that.`;
    }
  }
})();
