// Filters: they choose cells, hide the rest of the tables, and stay in the address.
"use strict";

(() => {
  const { names, cells, keys, chosen, admits, shown, title, listen, changed } = symloss.results;
  const form = document.querySelector(".filters");
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const runs = all("details.run");

  const standard = (key) => (key === "scores" ? [0] : []);

  function reset() {
    for (const key of keys) chosen[key] = new Set(standard(key));
  }

  // #tables&dataset=susy&dataset=adult: an anchor, then the names of what is chosen.
  function read() {
    reset();
    const given = new URLSearchParams(location.hash.slice(1));
    for (const key of keys) {
      const known = given.getAll(key).map((name) => names[key].indexOf(name)).filter((i) => i >= 0);
      if (known.length) chosen[key] = new Set(key === "scores" ? known.slice(-1) : known); // one way at a time
    }
  }

  function write() {
    const narrowed = keys.filter((key) => String([...chosen[key]]) !== String(standard(key)));
    symloss.keepInAddress(keys, narrowed.flatMap((key) => [...chosen[key]].map((i) => [key, names[key][i]])));
  }

  function showControls() {
    for (const filter of all(".filter", form)) {
      const { key } = filter.dataset;
      for (const input of all("input", filter)) input.checked = chosen[key].has(Number(input.value));
      const some = [...chosen[key]].sort((a, b) => a - b).map((i) => title(key, i));
      filter.querySelector(".filter-chosen").textContent =
        some.length > 2 ? `${some.length} chosen` : some.join(", ") || "all";
      filter.classList.toggle("narrowed", String([...chosen[key]]) !== String(standard(key)));
    }
  }

  function showTables() {
    for (const run of runs) {
      run.hidden = !admits("run", Number(run.dataset.run));
      for (const scoring of all("[data-scores]", run)) scoring.hidden = !admits("scores", Number(scoring.dataset.scores));
      for (const block of all(".score-table", run)) showTable(block);
      const left = all("[data-scores]:not([hidden]) .score-table:not([hidden])", run);
      run.hidden ||= !left.length;
    }
    const visible = runs.filter((run) => !run.hidden);
    if (visible.length === 1) visible[0].open = true;
  }

  function showTable(block) {
    const [head, ...rows] = block.querySelector("table").rows;
    const columns = [...head.cells].map((th) => !th.dataset.loss || admits("loss", Number(th.dataset.loss)));
    let rowsLeft = 0;
    for (const row of [head, ...rows]) {
      [...row.cells].forEach((cell, i) => { cell.hidden = !columns[i]; });
      row.hidden = row !== head && !admits("dataset", Number(row.dataset.dataset));
      rowsLeft += row !== head && !row.hidden;
    }
    const columnsLeft = columns.filter(Boolean).length - 1;
    block.hidden = !rowsLeft || !columnsLeft || !admits("risk", Number(block.dataset.risk));
  }

  function showCount() {
    const count = shown(cells).length;
    const of = [...cells.scores.keys()].filter((i) => admits("scores", cells.scores[i])).length;
    form.querySelector(".shown").textContent =
      `${count.toLocaleString("en")} of ${of.toLocaleString("en")} cells shown`;
    document.querySelector(".none").hidden = count > 0;
  }

  function show() {
    showControls();
    showTables();
    showCount();
  }

  form.addEventListener("change", ({ target }) => {
    const key = target.name;
    chosen[key] = new Set(all(`input[name="${key}"]:checked`, form).map((input) => Number(input.value)));
    write();
    changed();
  });
  function start() {
    reset();
    write();
    changed();
  }
  form.addEventListener("reset", (event) => { event.preventDefault(); start(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.querySelector(".none button").addEventListener("click", () => {
    start();
    form.querySelector("summary")?.focus();
  });

  const close = () => all(".filter[open]", form).forEach((filter) => { filter.open = false; });
  document.addEventListener("pointerdown", ({ target }) => { if (!target.closest(".filter[open]")) close(); });
  form.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !relatedTarget.closest(".filter[open]")) close();
  });
  form.addEventListener("keydown", (event) => {
    const open = event.target.closest(".filter[open]");
    if (event.key !== "Escape" || !open) return;
    close();
    open.querySelector("summary").focus();
  });

  addEventListener("hashchange", () => {
    // A link within the page keeps the filters.
    if (!location.hash.includes("=")) return write();
    read();
    return changed();
  });

  // The whole report is printed, also what is folded up.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details.run:not([open]), details.parts:not([open])");
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of folded) details.open = false; });

  symloss.settingsOf("results", keys);
  listen(show);
  form.hidden = false;
  if (!form.querySelector(".filter")) form.querySelector("button").hidden = true;
  for (const hint of all(".with-script")) hint.hidden = false;
  runs.slice(1).forEach((run) => { run.open = false; });
  read();
  show();
})();
