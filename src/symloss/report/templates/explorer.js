// The explorer's page: controls, the address that keeps their settings, plots and tables.
(() => {
  const { losses, shown, defaults, quantiles, convex } = symloss.data("explorer-data");
  const { element, draw, escaped } = symloss;
  const math = explorerMath;
  const section = document.getElementById("explorer");
  const find = (selector) => [...section.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const state = { ...defaults, shown: [...shown] };

  // --- controls and address -----------------------------------------------------------------------------------------
  const boxes = find("input[name=loss]");
  const numbers = Object.fromEntries(find("input[type=number]").map((input) => [input.dataset.for, input]));

  function set(name, text) {
    const { min, max } = byId(name);
    const value = text === "" ? NaN : Number(text);
    if (!Number.isFinite(value)) return;
    state[name] = Math.min(Math.max(value, Number(min)), Number(max));
    // The handle of π stops at that of π′.
    if (name === "pi") state.pi = Math.max(state.pi, state.pi_prime);
    if (name === "pi_prime") state.pi_prime = Math.min(state.pi, state.pi_prime);
  }

  function showControls() {
    for (const box of boxes) box.checked = state.shown.includes(box.value);
    for (const [name, input] of Object.entries(numbers)) {
      byId(name).value = state[name];
      if (document.activeElement !== input) input.value = state[name];
    }
  }

  function readAddress() {
    const address = location.hash.slice(1);
    if (!address.includes("=")) return false; // a link to a section
    const given = new URLSearchParams(address);
    const known = (given.get("losses") ?? "").split(",").filter((name) => losses.some((loss) => loss.name === name));
    if (given.has("losses")) state.shown = known;
    state.pi_prime = 0; // so that any π can be set first
    for (const name of Object.keys(defaults)) set(name, given.get(name) ?? String(defaults[name]));
    return true;
  }

  function writeAddress() {
    const moved = Object.entries(defaults).filter(([name, value]) => state[name] !== value);
    const given = [["losses", state.shown.join(",")], ...moved.map(([name]) => [name, state[name]])];
    const changed = moved.length || state.shown.join() !== shown.join();
    symloss.keepInAddress(["losses", ...Object.keys(defaults)], changed ? given : []);
  }

  let waiting = 0;
  function changed() {
    if (waiting) return;
    waiting = requestAnimationFrame(() => { waiting = 0; writeAddress(); showControls(); show(); });
  }

  for (const box of boxes) {
    box.addEventListener("change", () => { state.shown = boxes.filter((b) => b.checked).map((b) => b.value); changed(); });
  }
  for (const [name, input] of Object.entries(numbers)) {
    for (const source of [byId(name), input]) source.addEventListener("input", () => { set(name, source.value); changed(); });
    input.addEventListener("blur", showControls);
  }
  section.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  byId("reset").addEventListener("click", () => { Object.assign(state, defaults, { shown: [...shown] }); changed(); });
  addEventListener("hashchange", () => { if (readAddress()) changed(); else writeAddress(); });

  // --- the losses as they are set -----------------------------------------------------------------------------------
  const parametersOf = (entry) => entry.parameters.map((name) => state[`${entry.name}-${name}`]);

  function current(entry) {
    const loss = math.transformed(entry, parametersOf(entry), state.scale, state.margin);
    return { ...entry, ...loss, radius: math.symmetricRadius(loss), constant: 2 * loss.value(0) };
  }

  // Keep what is slow to compute and depends only on the loss and its settings.
  const memory = new Map();
  function remembered(loss, what, compute) {
    const key = [what, loss.name, ...parametersOf(loss), state.scale, state.margin].join();
    if (memory.size > 500) memory.clear();
    if (!memory.has(key)) memory.set(key, compute());
    return memory.get(key);
  }

  // --- plots --------------------------------------------------------------------------------------------------------
  const grid = (low, high, count) => Array.from({ length: count + 1 }, (_, i) => low + ((high - low) * i) / count);
  const finite = (value) => (Number.isFinite(value) ? value : null);
  const line = (loss, extra = {}) => ({ color: loss.color, dash: loss.dash, width: 2.5, simplify: false, ...extra });
  const curve = (loss, x, y, extra = {}) => ({
    type: "scatter", mode: "lines", name: loss.title, x, y: y.map(finite), line: line(loss),
    hovertemplate: `${escaped(loss.title)}: %{y:.4g} at %{x:.3g}<extra></extra>`, ...extra,
  });

  // A range that shows what matters near 0 and lets steep ends leave the plot.
  function window_(columns, low, high) {
    const all = columns.flat().filter(Number.isFinite);
    const [least, most] = [Math.max(low, Math.min(...all, 0)), Math.min(high, Math.max(...all, 0))];
    const room = 0.06 * (most - least || 1);
    return [least - room, most + room];
  }
  const layout = (x, y, range) => ({ xaxis: { title: x }, yaxis: { title: y, range } });
  const put = (name, traces, shape) => draw(byId(`plot-${name}`), { data: traces, layout: shape });

  function reach(selected) {
    const widest = Math.max(...selected.map(({ radius }) => (Number.isFinite(radius) ? radius : 0)), 0);
    return Math.max(3 / state.scale, 1.5 * widest, 2) + Math.abs(state.margin);
  }

  function showLosses(selected, z) {
    const high = Math.max(4, 2.5 * Math.max(...selected.map(({ constant }) => constant / 2)));
    const values = selected.map((loss) => z.map(loss.value));
    put("loss", selected.map((loss, i) => curve(loss, z, values[i])), layout("z", "l(z)", window_(values, -high / 2, high)));

    const sums = selected.map((loss) => z.map((at) => math.sum(loss, at)));
    const bands = selected.filter(({ radius }) => radius > 0).map((loss) => {
      const end = Math.min(loss.radius, z.at(-1));
      return {
        type: "scatter", mode: "lines", x: [-end, end], y: [loss.constant, loss.constant], hoverinfo: "skip",
        line: { color: loss.color, width: 11 }, opacity: 0.3,
      };
    });
    const constants = new Set(bands.map(({ y }) => Number(y[0].toPrecision(4))));
    const labels = [...constants].map((constant) => ({
      text: `K = ${constant}`, xref: "paper", x: 1.01, xanchor: "left", y: constant, showarrow: false,
    }));
    put("sum", [...bands, ...selected.map((loss, i) => curve(loss, z, sums[i]))], {
      ...layout("z", "l(z) + l(−z)", window_(sums, -high, 2 * high)),
      annotations: labels, margin: { l: 48, r: 64, t: 12, b: 44 },
    });

    const slopes = selected.map((loss) => z.map(loss.slope));
    const steep = 3.5 * Math.max(state.scale, ...selected.map((loss) => Math.abs(loss.slope(0))).filter(Number.isFinite));
    put("slope", selected.map((loss, i) => curve(loss, z, slopes[i])), layout("z", "l′(z)", window_(slopes, -steep, steep)));
  }

  const ETAS = [...grid(0.01, 0.49, 48), 0.4999, 0.5, 0.5001, ...grid(0.51, 0.99, 48)]; // steps at 1/2 are steep

  function showScores(selected, z) {
    const risks = selected.map((loss) => z.map((at) => math.risk(loss, state.eta, at)));
    const best = selected.map((loss) => math.minimizer(loss, state.eta));
    const dots = selected.flatMap((loss, i) => (Math.abs(best[i]) <= z.at(-1) ? [{
      type: "scatter", mode: "markers", x: [best[i]], y: [math.risk(loss, state.eta, best[i])],
      marker: { color: loss.color, size: 11 }, hovertemplate: `${escaped(loss.title)}: best score %{x:.4g}<extra></extra>`,
    }] : []));
    const high = Math.max(3, 2.5 * Math.max(...selected.map(({ constant }) => constant / 2)));
    put("risk", [...selected.map((loss, i) => curve(loss, z, risks[i])), ...dots],
      layout("score z", `${state.eta} l(z) + ${Number((1 - state.eta).toFixed(4))} l(−z)`, window_(risks, -high / 2, high)));

    const found = selected.map((loss) => remembered(loss, "minimizer", () => ETAS.map((eta) => math.minimizer(loss, eta))));
    const limit = z.at(-1);
    // An unbounded score is drawn as one far outside the plot.
    const drawn = found.map((scores) => scores.map((score) => Math.min(Math.max(score, -1e3 * limit), 1e3 * limit)));
    put("minimizer", selected.map((loss, i) => curve(loss, ETAS, drawn[i], { meta: { numbers: found[i] } })),
      layout("η", "best score f*(η)", [-limit, limit]));
  }

  const NOISE = grid(0, 1, 60);
  const path = (t) => [1 - t * (1 - state.pi), t * state.pi_prime];

  const THEOREMS = { ber: [math.berMeans, math.berTerms], auc: [math.aucMeans, math.aucTerms] };

  function meansOf(loss, theorem, stretch) {
    const scores = (mean) => quantiles.map((q) => stretch * (q + mean));
    return remembered(loss, theorem + stretch, () => THEOREMS[theorem][0](loss, scores(1), scores(-1)));
  }

  function showNoise(selected) {
    for (const [theorem, [, terms]] of Object.entries(THEOREMS)) {
      const along = (loss, stretch) => NOISE.map((t) => math.excess(terms(meansOf(loss, theorem, stretch), ...path(t))));
      const once = selected.map((loss) => along(loss, 1));
      const twice = selected.map((loss) => along(loss, 2));
      const high = 2.5 * Math.max(0.5, ...selected.map(({ constant }) => (constant * (1 - state.pi + state.pi_prime)) / 2));
      put(theorem, selected.flatMap((loss, i) => [
        curve(loss, NOISE, once[i], { name: `${loss.title}, g(x) = x`, line: line(loss, { dash: "solid" }) }),
        curve(loss, NOISE, twice[i], { name: `${loss.title}, g(x) = 2x`, line: line(loss, { dash: "2px,4px", width: 3 }) }),
      ]), layout("noise: 0 is none, 1 is (π, π′) as set", "excess", window_([...once, ...twice], -high, high)));
    }
  }

  // --- tables -------------------------------------------------------------------------------------------------------
  const short = (value) => (Math.abs(value) < 1e-12 ? "0" : Number.isFinite(value) ? Number(value.toPrecision(5)).toString() : value > 0 ? "∞" : "−∞");

  function showTerms(selected) {
    const weight = state.pi - state.pi_prime;
    const heads = ["Loss", "Risk", "Corrupted", `${short(weight)} × clean`, "Excess", "Terms of the excess"];
    byId("terms").tHead.replaceChildren(element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text))));
    const rows = selected.flatMap((loss) => Object.entries(THEOREMS).map(([theorem, [, terms]]) => {
      const parts = terms(meansOf(loss, theorem, 1), state.pi, state.pi_prime);
      const excess = math.excess(parts);
      const each = Object.entries(parts.terms).map(([name, term]) => `${name.replace("_", " and ")} ${short(term)}`);
      const cells = [theorem.toUpperCase(), ...[weight * parts.clean + excess, weight * parts.clean, excess].map(short), each.join(", ")];
      return element("tr", {}, element("th", { scope: "row" }, loss.title), ...cells.map((text) => element("td", {}, text)));
    }));
    byId("terms").tBodies[0].replaceChildren(...rows);
  }

  function symmetryWords({ radius, constant }) {
    if (radius === Infinity) return ["yes", `yes, K = ${short(constant)}`];
    return ["no", radius ? `on [−${short(radius)}, ${short(radius)}], K = ${short(constant)}` : "no"];
  }

  // A margin does not change these. Of the other verdicts, say only what is known without the whole analysis.
  const UNCHANGED = ["convex", "non_increasing", "bounded"];
  function answer(loss, name, analyzed) {
    if (name === "symmetric") return symmetryWords(loss);
    if (state.margin === 0 || UNCHANGED.includes(name)) return [analyzed, analyzed];
    if (name === "calibrated" && convex.includes(loss.name)) {
      const step = 1e-9 * loss.unit;
      const [left, right] = [loss.slope(-step), loss.slope(step)];
      const falls = left < 0 && right < 0 && Math.abs(left - right) <= 1e-6 * Math.abs(left);
      return falls ? ["yes", "yes"] : ["no", "no"];
    }
    return ["cannot tell", "for margin 0 only"];
  }

  const isMoved = (loss) => loss.parameters.some((name) => state[`${loss.name}-${name}`] !== defaults[`${loss.name}-${name}`]);
  const declaredWords = (loss) => loss.parameters.map((name) => `${name} = ${defaults[`${loss.name}-${name}`]}`).join(", ");

  // The formula of f* is that of the loss as it is declared: say so if the settings differ.
  function bestScoreWords(loss, declared) {
    if (state.margin !== 0) return "for margin 0 only";
    const conditions = [...(isMoved(loss) ? [declaredWords(loss)] : []), ...(state.scale === 1 ? [] : ["scale = 1"])];
    return conditions.length ? `${declared} (for ${conditions.join(", ")})` : declared;
  }

  function showVerdicts(selected) {
    for (const loss of selected) {
      for (const cell of find(`#verdicts tr[data-loss="${loss.name}"] [data-verdict]`)) {
        cell.dataset.declared ??= cell.dataset.answer;
        [cell.dataset.answer, cell.textContent] = answer(loss, cell.dataset.verdict, cell.dataset.declared);
      }
    }
    for (const loss of selected) {
      const [cell] = find(`#verdicts tr[data-loss="${loss.name}"] .minimizer`);
      cell.dataset.declared ??= cell.textContent;
      cell.textContent = bestScoreWords(loss, cell.dataset.declared);
    }
    const visible = new Set(selected.map(({ name }) => name));
    for (const row of find("#verdicts tr[data-loss], details.why")) row.hidden = !visible.has(row.dataset.loss);
    const moved = selected.filter(isMoved);
    const notes = ["What symloss.theory.analyze found for each loss as it is declared; the column “Symmetric” is computed here for the current settings."];
    if (state.scale !== 1) notes.push("A scale changes no answer: it only stretches intervals and best scores by 1 / scale.");
    if (state.margin !== 0) notes.push("A margin keeps convexity, monotonicity and bounds. Calibration is decided by the slope at 0 where the loss is convex (Bartlett et al., 2006); the other answers hold for margin 0 only.");
    for (const loss of moved) notes.push(`${loss.title}: the other answers and all reasons are those for ${declaredWords(loss)}.`);
    byId("verdict-note").textContent = notes.join(" ");
  }

  function showKey(selected) {
    const swatches = Object.fromEntries(boxes.map((box) => [box.value, box.parentElement.querySelector("svg")]));
    for (const mark of find(".swatch line")) mark.setAttribute("stroke", symloss.color(mark.dataset.color));
    const items = selected.map((loss) => element("li", {}, swatches[loss.name].cloneNode(true), loss.title));
    section.querySelector(".key").replaceChildren(...(items.length ? items : [element("li", {}, "No loss is picked.")]));
  }

  // Draw again only what a change affects.
  let before = {};
  function show() {
    const { eta, pi, pi_prime, ...settings } = state;
    const now = { losses: JSON.stringify(settings), scores: eta, noise: `${pi} ${pi_prime}` };
    const differs = (what) => now.losses !== before.losses || now[what] !== before[what];
    const selected = losses.filter(({ name }) => state.shown.includes(name)).map(current);
    const end = reach(selected);
    const z = grid(-end, end, 600);
    if (differs("losses")) {
      showKey(selected);
      showLosses(selected, z);
      showVerdicts(selected);
    }
    if (differs("scores")) showScores(selected, z);
    if (differs("noise")) {
      showNoise(selected);
      showTerms(selected);
    }
    before = now;
  }

  symloss.settingsOf("explorer", ["losses", ...Object.keys(defaults)]);
  document.addEventListener("symloss-theme", () => showKey(losses.filter(({ name }) => state.shown.includes(name))));
  for (const part of find(".controls, .drawn")) part.hidden = false;
  readAddress();
  showControls();
  show();
})();
