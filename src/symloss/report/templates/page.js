// What every page shares: data, elements, themes and plots. The sections' own scripts run after this one.
"use strict";

window.symloss = (() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const plots = new Map();
  const PRINTED_WIDTH = 490; // pixels: two plots side by side on A4, landscape
  let printing = false;

  const data = (id) => JSON.parse(document.getElementById(id).textContent);

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // Plotly reads its labels as markup, and %{y} in templates as a number. Escaped, a text is shown as it is.
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("%{", "&#37;{");

  // The address holds an anchor and the settings of sections, as in #results&dataset=susy. Sections share no names.
  function keepInAddress(names, entries) {
    const others = location.hash.slice(1).split("&").filter((part) => part && !names.includes(part.split("=")[0]));
    const own = new URLSearchParams(entries).toString().replaceAll("%2C", ",");
    const hash = [...others, own].filter(Boolean).join("&");
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  // Which section the settings of an address belong to: a link without an anchor leads to what it sets.
  const sectionOf = new Map();
  const settingsOf = (section, names) => names.forEach((name) => sectionOf.set(name, section));

  // Scroll a new page to its anchor once all sections are drawn. Later, the browser finds anchors without settings.
  function toAnchor() {
    const [anchor] = location.hash.slice(1).split("&");
    const target = document.getElementById(anchor) ?? document.getElementById(sectionOf.get(anchor.split("=")[0]));
    requestAnimationFrame(() => target?.scrollIntoView({ behavior: "instant" }));
  }
  const [{ type: arrival }] = performance.getEntriesByType("navigation");
  if (arrival === "navigate") addEventListener("load", toAnchor);
  addEventListener("hashchange", () => { if (/[&=]/.test(location.hash)) toAnchor(); });

  const isDark = () => !printing && (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const property = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // Relative luminance and contrast, as WCAG 2 defines them.
  const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  function luminance(rgb) {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  function contrast(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }

  // The color itself if it contrasts enough with the background, else mixed with white or black until it does.
  function color(hex) {
    if (!/^#[0-9a-f]{6}$/i.test(hex)) return hex;
    if (isDark() && hex === "#000000") return "#ffffff"; // ink
    const ground = channels(isDark() ? "#12161b" : "#ffffff");
    const toward = isDark() ? 255 : 0;
    let rgb = channels(hex);
    for (let i = 0; i < 40 && contrast(rgb, ground) < 3; i++) rgb = rgb.map((c) => c + 0.05 * (toward - c));
    return `rgb(${rgb.map(Math.round).join(", ")})`;
  }

  function tinted(trace) {
    const copy = { ...trace };
    for (const part of ["line", "marker"]) {
      if (typeof trace[part]?.color === "string") copy[part] = { ...trace[part], color: color(trace[part].color) };
    }
    return copy;
  }

  function axis(given) {
    const title = typeof given?.title === "string" ? { text: given.title } : given?.title;
    return {
      gridcolor: property("--grid"), zerolinecolor: property("--line"), linecolor: property("--line"),
      automargin: true, fixedrange: true, ...given, title: { standoff: 8, font: { size: 13 }, ...title },
    };
  }

  function themed(layout = {}) {
    const axes = Object.keys(layout).filter((name) => /^[xy]axis\d*$/.test(name));
    return {
      margin: { l: 48, r: 12, t: 12, b: 44 }, dragmode: false, hovermode: "closest", showlegend: false,
      width: printing ? PRINTED_WIDTH : undefined,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      hoverlabel: { bgcolor: property("--surface"), bordercolor: property("--line"), font: { color: property("--text") } },
      ...layout,
      font: { family: property("--sans"), size: 13, color: property("--text"), ...layout.font },
      ...Object.fromEntries(["xaxis", "yaxis", ...axes].map((name) => [name, axis(layout[name])])),
    };
  }

  const config = { displayModeBar: false, displaylogo: false, responsive: true, showTips: false, plotlyServerURL: "" };

  function paint(figure) {
    const { data: traces, layout } = plots.get(figure);
    Plotly.react(figure.querySelector(".plot-area"), traces.map(tinted), themed(layout), config);
  }

  function draw(figure, content) {
    plots.set(figure, content);
    paint(figure);
    const details = figure.querySelector("details.numbers");
    if (details && !details.ontoggle) details.ontoggle = () => details.open && tabulate(figure);
    if (details?.open) tabulate(figure);
  }

  // About forty rows of a table say as much as the plot.
  const thin = (values) => {
    const step = Math.max(1, Math.floor((values.length - 1) / 40));
    return values.filter((_, i) => i % step === 0);
  };
  const written = (value) => (typeof value === "number" ? Number(value.toPrecision(6)).toString() : value ?? "");

  function tabulate(figure) {
    const { data: traces, layout } = plots.get(figure);
    const named = traces.filter((trace) => trace.name && trace.x && trace.y);
    const xs = [...new Set(named.flatMap((trace) => thin([...trace.x])))];
    if (xs.every((x) => typeof x === "number")) xs.sort((a, b) => a - b);
    const columns = named.map((trace) => new Map([...trace.x].map((x, i) => [x, (trace.meta?.numbers ?? trace.y)[i]])));
    const heading = layout?.xaxis?.title?.text ?? layout?.xaxis?.title ?? "x";
    const head = [heading, ...named.map((trace) => trace.name)].map((text) => element("th", { scope: "col" }, text));
    const rows = xs.map((x) => element(
      "tr", {}, element("th", { scope: "row" }, written(x)),
      ...columns.map((column) => element("td", {}, written(column.get(x)))),
    ));
    figure.querySelector(".numbers .scroll").replaceChildren(
      element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)),
    );
  }

  // A box that scrolls sideways says so, and fades out at the side where there is more.
  const HINT = "Scroll sideways to see all columns →";
  function showSideways(box) {
    const wide = box.scrollWidth > box.clientWidth + 1;
    const before = box.previousElementSibling;
    const hint = before?.classList.contains("sideways") ? before : null;
    if (wide && !hint) box.before(element("p", { class: "sideways", "aria-hidden": "true" }, HINT));
    if (hint) hint.hidden = !wide;
    box.classList.toggle("more", wide && box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  }
  const sizes = new ResizeObserver((entries) => {
    for (const box of new Set(entries.map(({ target }) => target.closest(".scroll")))) if (box) showSideways(box);
  });
  function watch(box) {
    sizes.observe(box);
    for (const child of box.children) sizes.observe(child);
    box.addEventListener("scroll", () => showSideways(box), { passive: true });
    // Some tables are made later.
    new MutationObserver(() => { for (const child of box.children) sizes.observe(child); }).observe(box, { childList: true });
  }
  document.querySelectorAll(".scroll").forEach(watch);

  const button = document.getElementById("theme");
  const label = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
  function repaint() {
    label();
    for (const figure of plots.keys()) paint(figure);
    document.dispatchEvent(new Event("symloss-theme"));
  }
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("symloss-theme", root.dataset.theme); } catch { /* the theme is not remembered */ }
    repaint();
  });
  dark.addEventListener("change", repaint);
  for (const [event, state] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(event, () => { printing = state; repaint(); });
  }
  addEventListener("afterprint", () => dispatchEvent(new Event("resize"))); // plots get their former width

  return { data, element, keepInAddress, settingsOf, draw, escaped, color };
})();
