// The cells and curves of the report, and which of them are chosen.
"use strict";

symloss.results = (() => {
  const { names, titles, noises, styles, cells, curves } = symloss.data("report-data");
  const keys = Object.keys(names);
  const chosen = Object.fromEntries(keys.map((key) => [key, new Set()]));
  const listeners = [];

  // A filter in which nothing is chosen admits everything.
  const admits = (key, value) => !chosen[key].size || chosen[key].has(value);
  const shows = (of, i) => keys.every((key) => admits(key, of[key][i]));
  const shown = (of) => [...(of.run ?? []).keys()].filter((i) => shows(of, i));
  const title = (key, value) => titles[key][value];
  const score = (mean, se) => mean.toFixed(1) + (se === null ? "" : ` (${se.toFixed(1)})`);
  const signed = (value) => {
    const size = Math.abs(value).toFixed(1);
    return size === "0.0" ? size : (value < 0 ? "−" : "+") + size;
  };

  return {
    names, titles, noises, styles, cells, curves, keys, chosen, admits, shown, title, score, signed,
    listen: (listener) => listeners.push(listener),
    changed: () => listeners.forEach((listener) => listener()),
  };
})();
