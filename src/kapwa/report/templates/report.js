/* Every answer of a task: chosen by what was asked and how it was answered, searched, read side by side. */
(() => {
  const STEP = 10;
  const chosenBy = { culture: "Culture", language: "Language", variant: "Variant", category: "Category", topic: "Topic" };
  const asked = ["prompt", "prompt_gloss", "expected", "expected_gloss"];
  /* As people type: whatever the case, the width or the composition of the letters. */
  const folded = text => text.normalize("NFKC").toLocaleLowerCase();

  for (const root of document.querySelectorAll(".browser")) {
    unpack(root.nextElementSibling.textContent).then(told => browse(root, told)).catch(() => {
      root.textContent = "This browser cannot unpack the answers; a newer one can.";
    });
  }

  function read(told) {
    const names = Object.keys(chosenBy);
    return told.questions.map(row => {
      const question = { id: row[0], answers: row.at(-1).map(([model, outcome, sample, text, gloss, read, margin, thought]) =>
        ({ model, outcome, sample, text, gloss, read, margin, thought })), media: row.at(-2) };
      names.forEach((name, k) => { question[name] = row[1 + k]; });
      asked.forEach((name, k) => { question[name] = row[1 + names.length + k]; });
      return question;
    });
  }

  function browse(root, told) {
    const questions = read(told);
    const codes = Object.keys(told.outcomes);
    const words = Object.values(told.outcomes);
    const several = told.models.length > 1;
    const used = new Set(questions.flatMap(question => question.answers.map(answer => answer.outcome)));
    const selects = {};
    const select = (name, all, values) => {
      selects[name] = make("select");
      fill(selects[name], [["", all], ...values], "");
      selects[name].addEventListener("change", look);
      return labelled(chosenBy[name] ?? name, selects[name]);
    };
    const tools = make("div", { className: "tools" });
    for (const name of Object.keys(chosenBy)) {
      /* A category that says what the topic says, or the one language of each culture, needs no choice. */
      const same = Object.keys(selects).some(other => questions.every(question => question[name] === question[other]));
      if (told[name].length > 1 && !same) tools.append(select(name, "All", told[name].map((value, k) => [k, value || "–"]).sort(([, a], [, b]) => a.localeCompare(b))));
    }
    const outcomes = words.map((word, k) => [k, word]).filter(([k]) => used.has(k));
    const right = codes.indexOf("right");
    const models = told.models.map((name, k) => [k, name]);
    const two = told.models.length === 2;
    if (several) outcomes.push(["differ", "Models differ"]);
    if (several && used.has(right)) {
      const [first, second] = two ? told.models : ["the first model", "the second"];
      outcomes.push(["gained", `Right in ${first}, not in ${second}`], ["lost", `Right in ${second}, not in ${first}`]);
    }
    if (outcomes.length > 1) tools.append(select("Answer", "Any", outcomes));
    if (several) tools.append(select(two ? "Model" : "First model", "Any model", models));
    if (several && !two) tools.append(select("Second model", "Any other", models));
    const box = make("input", { type: "search", autocomplete: "off", spellcheck: false });
    let waiting = 0;
    box.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 150); });
    tools.append(labelled("Search in questions and answers", box, "grow"));

    const status = make("span");
    status.setAttribute("role", "status");
    const list = make("div");
    const more = make("button", { type: "button", className: "plain-button more" });
    const level = `h${Number(root.parentElement.querySelector("h2, h3").tagName[1]) + 1}`;
    let found = [];

    /* Whether one model is right where another is not; "" stands for any. */
    function flipped(question, better, worse) {
      const of = (model, wantsRight) => question.answers.some(answer =>
        (model === "" || answer.model === Number(model)) && (answer.outcome === right) === wantsRight);
      return of(better, true) && of(worse, false);
    }

    function fits(question, wanted) {
      for (const name of Object.keys(chosenBy)) {
        const value = selects[name]?.value ?? "";
        if (value !== "" && question[name] !== Number(value)) return false;
      }
      const model = (selects.Model ?? selects["First model"])?.value ?? "";
      const other = two ? "1" : selects["Second model"]?.value ?? "";
      const answers = question.answers.filter(answer => model === "" || answer.model === Number(model));
      const outcome = selects.Answer?.value ?? "";
      if (outcome === "differ") {
        if (new Set(question.answers.map(answer => answer.outcome)).size < 2) return false;
      } else if (outcome === "gained") {
        if (!flipped(question, two ? "0" : model, other)) return false;
      } else if (outcome === "lost") {
        if (!flipped(question, other, two ? "0" : model)) return false;
      } else if (outcome !== "" && !answers.some(answer => answer.outcome === Number(outcome))) return false;
      if (!answers.length) return false;
      if (!wanted) return true;
      question.folded ??= folded([question.id, ...asked.map(name => question[name]),
        ...question.answers.flatMap(answer => [answer.text, answer.gloss, answer.read])].join("\n"));
      return question.folded.includes(wanted);
    }

    function look() {
      const wanted = folded(box.value.trim());
      found = questions.filter(question => fits(question, wanted));
      list.replaceChildren();
      show();
    }

    function show() {
      const from = list.children.length;
      const added = found.slice(from, from + STEP).map(article);
      list.append(...added);
      const noun = found.length === 1 ? root.dataset.noun : root.dataset.nouns;
      const shown = list.children.length;
      const of = found.length < questions.length ? ` of ${questions.length.toLocaleString("en")}` : "";
      status.textContent = `${found.length.toLocaleString("en")}${of} ${noun}${shown < found.length ? `, ${shown} shown` : ""}`;
      more.hidden = shown >= found.length;
      more.textContent = `Show ${Math.min(STEP, found.length - shown)} more`;
      return added[0];
    }
    more.addEventListener("click", () => show()?.querySelector(level).focus());

    function text(name, className, words, language, gloss) {
      const element = make(name, { className, dir: "auto", lang: language }, words);
      if (gloss) element.append(make("span", { className: "gloss", dir: "auto", lang: "en", textContent: gloss }));
      return element;
    }

    function figure([type, alt, licence, content]) {
      const src = `data:${type};base64,${content}`;
      const shown = type.startsWith("image/") ? make("img", { src, alt }) : make("audio", { src, controls: true, ariaLabel: alt });
      const caption = licence ? [make("figcaption", { className: "gloss", textContent: `Licence: ${licence}` })] : [];
      return make("figure", { className: "media" }, shown, ...caption);
    }

    function article(question) {
      const language = told.language[question.language];
      const about = Object.keys(chosenBy).filter(name => selects[name]).map(name => told[name][question[name]]);
      const head = make(level, { className: "case-head", tabIndex: -1 });
      for (const name of about.filter(Boolean)) head.append(make("bdi", { textContent: name }), " · ");
      head.append(make("code", { textContent: question.id }));
      const facts = make("dl");
      if (question.expected) {
        facts.append(make("dt", { textContent: "Expected" }), text("dd", "expected", question.expected, language, question.expected_gloss));
      }
      for (const answer of question.answers) {
        /* Of what is neither right nor wrong, only a margin says something. */
        const outcome = [
          question.answers.some(other => other.sample > 0) && `answer ${answer.sample + 1}`,
          codes[answer.outcome] !== "scored" && words[answer.outcome].toLowerCase(),
          answer.margin && `margin ${answer.margin}`,
        ].filter(Boolean).join(", ");
        const who = make("span", { className: "who" }, make("bdi", { textContent: told.models[answer.model] }),
          make("span", { className: `small ${codes[answer.outcome]}`, textContent: outcome }));
        const said = text("dd", "", answer.text || "(nothing)", language, answer.gloss);
        if (answer.read) said.append(make("span", { className: "gloss", dir: "auto" }, "read as: ", make("bdi", { textContent: answer.read })));
        if (answer.thought) said.append(make("details", {}, make("summary", { textContent: "Thought before it" }),
          make("bdi", { className: "thought", dir: "auto", textContent: answer.thought })));
        facts.append(make("dt", {}, who), said);
      }
      return make("article", { className: "case" }, head, ...question.media.map(k => figure(told.media[k])),
        text("div", "prompt", question.prompt, language, question.prompt_gloss), facts);
    }

    function lines() {
      const rows = found.flatMap(question => question.answers.map(answer => [
        told.models[answer.model], question.id, ...Object.keys(chosenBy).map(name => told[name][question[name]]),
        String(answer.sample), codes[answer.outcome], ...asked.map(name => question[name]), answer.text, answer.gloss, answer.read,
      ]));
      const names = ["model", "item_id", ...Object.keys(chosenBy), "sample", "outcome", ...asked, "answer", "answer_gloss", "read_as"];
      return [names, ...rows.map(row => row.map(one => cellOf(one)))];
    }

    const under = make("p", { className: "under" }, status, downloadLink(root.dataset.file, lines));
    root.replaceChildren(tools, under, list, more);
    look();
  }
})();
