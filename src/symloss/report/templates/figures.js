// The figures of the cells that are chosen.
"use strict";

(() => {
  const { cells, curves, names, titles, noises, styles, admits, shown, title, score, signed, listen } = symloss.results;
  const { element, draw, escaped, color } = symloss;
  const byId = (id) => document.getElementById(id);
  const range = (values, margin) => [Math.min(...values) - margin, Math.min(100, Math.max(...values)) + margin];
  const faded = (hex) => `rgba(${[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).join(",")},0.14)`;
  const several = titles.run.length > 1;

  const placeOf = (of, i) => `${of.run[i]}/${of.family[i]}/${of.dataset[i]}`;

  // A figure shows one data set of a run: offer those that the filters admit.
  function choices(select, of, indices) {
    const before = select.value;
    const options = new Map(indices.map((i) => [placeOf(of, i), i]));
    const labels = [...options.values()].map((i) => (several ? `${title("run", of.run[i])}: ` : "") + title("dataset", of.dataset[i]));
    select.replaceChildren(...[...options].map(([value, i], k) => {
      const alone = labels.indexOf(labels[k]) === labels.lastIndexOf(labels[k]);
      return element("option", { value }, alone ? labels[k] : `${labels[k]} (${of.family[i]})`);
    }));
    if (options.has(before)) select.value = before;
  }
  const chosenOf = (select, of, indices) => indices.filter((i) => placeOf(of, i) === select.value);

  const lossesOf = (of, indices) => [...new Set(indices.map((i) => of.loss[i]))].sort((a, b) => a - b);

  function panels(kind, of, indices, drawOne) {
    names.risk.forEach((name, risk) => {
      const figure = byId(`${kind}-${name}`);
      const own = indices.filter((i) => of.risk[i] === risk);
      figure.hidden = !own.length;
      if (own.length) drawOne(figure, own, title("risk", risk));
    });
  }

  function drawNoise(figure, indices, ytitle) {
    const traces = [];
    for (const loss of lossesOf(cells, indices)) {
      const own = indices.filter((i) => cells.loss[i] === loss).sort((a, b) => cells.noise[a] - cells.noise[b]);
      const { color: hex, symbol } = styles[loss];
      const x = own.map((i) => noises[cells.noise[i]]);
      const hover = { hovertemplate: "%{text}<extra></extra>", text: own.map((i) => `${escaped(title("loss", loss))}<br>ours ${score(cells.mean[i], cells.se[i])}` + (cells.paper_mean[i] === null ? "" : `<br>paper ${score(cells.paper_mean[i], cells.paper_se[i])}`)) };
      traces.push({
        x, y: own.map((i) => cells.mean[i]), name: title("loss", loss), mode: "lines+markers", ...hover,
        line: { color: hex, width: 2 }, marker: { color: hex, symbol, size: 8 },
        error_y: { array: own.map((i) => cells.se[i] ?? 0), thickness: 1.2, width: 0, color: color(hex) },
      });
      if (own.some((i) => cells.paper_mean[i] !== null)) traces.push({
        x, y: own.map((i) => cells.paper_mean[i]), name: `${title("loss", loss)}, paper`, mode: "lines+markers", ...hover,
        line: { color: hex, width: 1.4, dash: "4px,4px" }, marker: { color: hex, symbol: `${symbol}-open`, size: 8 }, opacity: 0.75,
      });
    }
    const order = noises.filter((noise) => traces.some((trace) => trace.x.includes(noise)));
    draw(figure, { data: traces, layout: {
      xaxis: { title: "noise (π, π')", type: "category", categoryorder: "array", categoryarray: order },
      yaxis: { title: ytitle },
    } });
  }

  const place = (of, i) => ["run", "scores", "family", "dataset", "risk", "noise", "loss"].map((key) => of[key][i]).join();
  const cellOf = new Map(cells.run.map((_, i) => [place(cells, i), i]));

  function drawEpochs(figure, indices, ytitle) {
    const traces = [];
    for (const i of indices) {
      const loss = curves.loss[i];
      const hex = styles[loss].color;
      const [mean, se] = [curves.mean[i], curves.se[i]];
      const x = mean.map((_, epoch) => epoch + 1);
      if (se) {
        const edge = { x, mode: "lines", line: { width: 0 }, hoverinfo: "skip" };
        traces.push({ ...edge, y: mean.map((value, k) => value - se[k]) });
        traces.push({ ...edge, y: mean.map((value, k) => value + se[k]), fill: "tonexty", fillcolor: faded(hex) });
      }
      const text = escaped(title("loss", loss));
      traces.push({ x, y: mean, name: title("loss", loss), mode: "lines", line: { color: hex, width: 2 },
        hovertemplate: `${text}<br>epoch %{x}: %{y:.1f}<extra></extra>` });
      const paper = cells.paper_mean[cellOf.get(place(curves, i))] ?? null;
      if (paper !== null) traces.push({
        x: [mean.length], y: [paper], name: `${title("loss", loss)}, paper`, mode: "markers",
        marker: { color: hex, symbol: "x-thin", size: 8, line: { width: 2, color: color(hex) } }, cliponaxis: false,
        hovertemplate: `${text}<br>paper %{y:.1f}<extra></extra>`,
      });
    }
    draw(figure, { data: traces, layout: { xaxis: { title: "epoch" }, yaxis: { title: ytitle } } });
  }

  function drawScatter(figure, indices) {
    const published = indices.filter((i) => cells.paper_mean[i] !== null);
    const traces = lossesOf(cells, published).map((loss) => {
      const own = published.filter((i) => cells.loss[i] === loss);
      const { color: hex, symbol } = styles[loss];
      return {
        x: own.map((i) => cells.paper_mean[i]), y: own.map((i) => cells.mean[i]), name: title("loss", loss),
        mode: "markers", marker: { color: hex, symbol, size: 7, opacity: 0.75 }, hovertemplate: "%{text}<extra></extra>",
        text: own.map((i) => escaped(`${title("loss", loss)} · ${cellName(i)}`).replaceAll(" · ", "<br>")
          + `<br>ours ${score(cells.mean[i], cells.se[i])}, paper ${score(cells.paper_mean[i], cells.paper_se[i])}`),
      };
    });
    const both = published.flatMap((i) => [cells.mean[i], cells.paper_mean[i]]);
    const ends = both.length ? range(both, 1) : [0, 100];
    const line = { x: ends, y: ends, mode: "lines", line: { color: "#808080", width: 1 }, hoverinfo: "skip" };
    draw(figure, { data: [line, ...traces], layout: {
      xaxis: { title: "paper's mean", range: ends }, yaxis: { title: "our mean", range: ends },
    } });
    const differences = titles.run.flatMap((name, run) => {
      const own = published.filter((i) => cells.run[i] === run);
      const rms = Math.sqrt(own.reduce((sum, i) => sum + cells.difference[i] ** 2, 0) / own.length);
      return own.length ? [`${several ? `${name} ` : ""}${rms.toFixed(2)}`] : [];
    });
    figure.querySelector(".rms").textContent = published.length
      ? `${published.length.toLocaleString("en")} cells, rms difference in points: ${differences.join(", ")}.`
      : "The paper has none of the cells shown.";
    drawLargest(published);
  }

  const cellName = (i) => [...(several ? [title("run", cells.run[i])] : []), title("dataset", cells.dataset[i]),
    title("risk", cells.risk[i]), noises[cells.noise[i]]].join(" · ");

  function drawLargest(published) {
    const largest = published.toSorted((a, b) => Math.abs(cells.difference[b]) - Math.abs(cells.difference[a])).slice(0, 10);
    const head = ["loss", "result", "ours", "paper", "difference"].map((text) => element("th", { scope: "col" }, text));
    const rows = largest.map((i) => element(
      "tr", {}, element("th", { scope: "row" }, title("loss", cells.loss[i])), element("td", {}, cellName(i).replaceAll(", ", ",\u00a0")),
      ...[score(cells.mean[i], cells.se[i]), score(cells.paper_mean[i], cells.paper_se[i]), signed(cells.difference[i])]
        .map((text) => element("td", { class: "number" }, text)),
    ));
    document.querySelector(".largest .scroll").replaceChildren(
      element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)),
    );
  }

  // The losses, each with its color and mark.
  const MARKS = { square: "■", "triangle-up": "▲", circle: "●", diamond: "◆", "triangle-down": "▼", cross: "✚", star: "★",
    hexagon: "⬢", pentagon: "⬟", "triangle-left": "◀", "triangle-right": "▶", x: "✖", hourglass: "⧗", bowtie: "⧓" };
  function drawKey() {
    document.querySelector(".loss-key").replaceChildren(...styles.flatMap(({ color: hex, symbol }, loss) => {
      if (!admits("loss", loss)) return [];
      const mark = element("span", { "aria-hidden": "true" }, MARKS[symbol]);
      mark.style.color = color(hex);
      return [element("li", {}, mark, ` ${title("loss", loss)}`)];
    }));
  }

  function showNoise() {
    const indices = shown(cells);
    const select = byId("noise-of");
    choices(select, cells, indices);
    panels("noise", cells, chosenOf(select, cells, indices), drawNoise);
  }

  function showEpochs() {
    const select = byId("epochs-of");
    if (!select) return;
    const indices = shown(curves);
    choices(select, curves, indices);
    document.querySelector(".none-epochs").hidden = indices.length > 0;
    const own = chosenOf(select, curves, indices);
    const noise = byId("epochs-noise");
    const rates = [...new Set(own.map((i) => curves.noise[i]))].sort((a, b) => b - a); // the highest first
    const before = noise.value;
    noise.replaceChildren(...rates.map((rate) => element("option", { value: rate }, noises[rate])));
    if (rates.includes(Number(before)) && before !== "") noise.value = before;
    panels("epochs", curves, own.filter((i) => curves.noise[i] === Number(noise.value)), drawEpochs);
  }

  function show() {
    drawKey();
    showNoise();
    showEpochs();
    if (byId("scatter")) drawScatter(byId("scatter"), shown(cells));
  }

  document.querySelector(".figures").hidden = false;
  byId("noise-of").addEventListener("change", showNoise);
  for (const id of ["epochs-of", "epochs-noise"]) byId(id)?.addEventListener("change", showEpochs);
  document.addEventListener("symloss-theme", show);
  listen(show);
  show();
})();
