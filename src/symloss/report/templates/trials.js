// The trials of a cell, shown beside it when a reader points at it, taps it or reaches it with the arrow keys.
"use strict";

(() => {
  const { cells, noises, title, score, signed } = symloss.results;
  const { element } = symloss;
  const tip = document.getElementById("trials");
  const tables = [...document.querySelectorAll("table.scores")];
  let current = null;
  let leaving = 0;

  const svg = (tag, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };

  // One dot per trial; the tall line is our mean, and the diamond is the paper's.
  function strip(i) {
    const paper = cells.paper_mean[i];
    const values = [...cells.trials[i], ...(paper === null ? [] : [paper])];
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const x = (value) => (high > low ? 12 + ((value - low) / (high - low)) * 256 : 140);
    const drawing = svg("svg", { viewBox: "0 0 280 46", "aria-hidden": "true" });
    drawing.append(svg("line", { x1: 6, x2: 274, y1: 20, y2: 20, class: "axis" }));
    for (const value of cells.trials[i]) drawing.append(svg("circle", { cx: x(value), cy: 20, r: 4.5 }));
    const mean = x(cells.mean[i]);
    drawing.append(svg("line", { x1: mean, x2: mean, y1: 6, y2: 34, class: "mean" }));
    if (paper !== null) drawing.append(svg("path", { d: `M${x(paper)} 11l6 9-6 9-6-9z`, class: "paper" }));
    for (const [at, anchor, value] of [[6, "start", low], [274, "end", high]]) {
      const text = svg("text", { x: at, y: 44, "text-anchor": anchor });
      text.textContent = value.toFixed(1);
      drawing.append(text);
    }
    return drawing;
  }

  function content(i) {
    const bold = (is) => (is ? ", boldface" : "");
    const facts = [["ours", score(cells.mean[i], cells.se[i]) + bold(cells.bold[i])]];
    if (cells.paper_mean[i] !== null) {
      facts.push(["paper", score(cells.paper_mean[i], cells.paper_se[i]) + bold(cells.paper_bold[i])]);
      const z = cells.z[i] === null ? "" : `, z ${signed(cells.z[i])}`;
      facts.push(["difference", signed(cells.difference[i]) + z]);
    }
    const of = [title("dataset", cells.dataset[i]), title("risk", cells.risk[i]), noises[cells.noise[i]]];
    const numbers = cells.trials[i].map((value) => value.toFixed(2));
    const marks = `● trial  | our mean${cells.paper_mean[i] === null ? "" : "  ◇ paper's mean"}`;
    return [
      element("p", { class: "of" }, element("strong", {}, title("loss", cells.loss[i])), ` ${of.join(" · ")}`),
      element("p", { class: "of" }, `${title("run", cells.run[i])}, ${title("scores", cells.scores[i])}`),
      element("p", { class: "facts" }, ...facts.map(([name, text]) => element("span", {}, `${name} `, element("b", {}, text)))),
      strip(i),
      element("p", { class: "marks", "aria-hidden": "true" }, marks),
      element("p", { class: "scores" }, `${numbers.length} ${numbers.length === 1 ? "trial" : "trials"}: ${numbers.join(" ")}`),
    ];
  }

  function show(td) {
    clearTimeout(leaving);
    if (current === td) return;
    hide();
    current = td;
    tip.replaceChildren(...content(Number(td.dataset.cell)));
    tip.hidden = false;
    td.setAttribute("aria-describedby", "trials");
    const box = td.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    const above = box.bottom + tip.offsetHeight + 8 > innerHeight && box.top > tip.offsetHeight + 8;
    const left = Math.max(8, Math.min(box.left + box.width / 2 - tip.offsetWidth / 2, width - tip.offsetWidth - 8));
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above ? box.top - tip.offsetHeight - 4 : box.bottom + 4) + scrollY}px`;
  }

  function hide() {
    clearTimeout(leaving);
    current?.removeAttribute("aria-describedby");
    current = null;
    tip.hidden = true;
  }

  // Go back to the cell that has the focus, if there is one.
  const leave = () => {
    clearTimeout(leaving);
    leaving = setTimeout(() => {
      const focused = document.activeElement?.closest("td[data-cell]");
      if (focused) show(focused); else hide();
    }, 200);
  };

  const visible = (table) => [...table.tBodies[0].rows].filter((row) => !row.hidden)
    .map((row) => [...row.cells].filter((cell) => cell.dataset.cell && !cell.hidden)).filter((row) => row.length);

  // A table is one stop of the Tab key; the arrow keys move within it.
  function stops() {
    for (const table of tables) {
      for (const td of table.querySelectorAll("td[tabindex='0']")) td.tabIndex = -1;
      const first = visible(table)[0]?.[0];
      if (first) first.tabIndex = 0;
    }
  }

  function target(td, key) {
    const rows = visible(td.closest("table"));
    const row = rows.findIndex((cells) => cells.includes(td));
    const column = rows[row].indexOf(td);
    const same = (cells) => cells?.find((cell) => cell.cellIndex === td.cellIndex) ?? cells?.at(column);
    return {
      ArrowLeft: rows[row][column - 1], ArrowRight: rows[row][column + 1],
      ArrowUp: same(rows[row - 1]), ArrowDown: same(rows[row + 1]),
      Home: rows[row][0], End: rows[row].at(-1),
    }[key];
  }

  for (const table of tables) {
    table.setAttribute("role", "grid");
    table.setAttribute("aria-label", table.parentElement.getAttribute("aria-label"));
    for (const td of table.querySelectorAll("td[data-cell]")) td.tabIndex = -1;
    table.addEventListener("pointerover", ({ target, pointerType }) => {
      const td = target.closest("td[data-cell]");
      if (td && pointerType === "mouse") show(td);
    });
    table.addEventListener("pointerleave", leave);
    table.addEventListener("focusin", ({ target }) => {
      if (!target.matches("td[data-cell]")) return;
      for (const td of table.querySelectorAll("td[tabindex='0']")) td.tabIndex = -1;
      target.tabIndex = 0;
      show(target);
    });
    table.addEventListener("focusout", hide);
    table.addEventListener("keydown", (event) => {
      const td = event.target.closest("td[data-cell]");
      if (!td || event.ctrlKey || event.metaKey || event.altKey) return;
      const next = target(td, event.key);
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
  }
  tip.addEventListener("pointerenter", () => clearTimeout(leaving));
  tip.addEventListener("pointerleave", leave);
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape") hide(); });
  document.addEventListener("pointerdown", ({ target }) => {
    if (!target.closest("td[data-cell], #trials")) hide();
  });
  symloss.results.listen(() => { hide(); stops(); });
  stops();
})();
