// The figure of the paper's claim: symmetric losses and others as the noise grows.
"use strict";

(() => {
  const panels = symloss.data("claim-data");
  const select = document.getElementById("claim-of");

  function traces({ noises, losses }) {
    return losses.flatMap(({ title, symmetric, color, symbol, ours, paper }) => [
      {
        x: noises, y: ours, name: title, mode: "lines+markers", hovertemplate: `${title}: %{y:.1f}<extra></extra>`,
        line: { color, width: symmetric ? 3 : 1.5, dash: symmetric ? "solid" : "2px,3px" }, marker: { color, symbol, size: 8 },
      },
      {
        x: noises, y: paper, name: `${title}, paper`, mode: "markers", showlegend: false,
        hovertemplate: `${title}, paper: %{y:.1f}<extra></extra>`, marker: { color, symbol: `${symbol}-open`, size: 12 },
      },
    ]);
  }

  function show() {
    const panel = panels[Number(select.value)];
    symloss.draw(document.getElementById("claim-plot"), { data: traces(panel), layout: {
      showlegend: true, legend: { orientation: "h", y: -0.22 },
      xaxis: { title: "noise (π, π')", type: "category" }, yaxis: { title: panel.score },
    } });
  }

  select.replaceChildren(...panels.map(({ title }, i) => symloss.element("option", { value: i }, title)));
  select.addEventListener("change", show);
  document.querySelector(".claim-figure").hidden = false;
  show();
})();
