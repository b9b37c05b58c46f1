// Draw each figure of the page, with a menu of what to draw and a box for each curve below it.
for (const figure of document.querySelectorAll("figure.plotly")) {
  const [main, form, menu] = [".main", "form", "select"].map((name) => figure.querySelector(name));
  const { curves, choices } = JSON.parse(figure.querySelector("script").textContent);
  for (const { line } of curves) if (line.color === "#000000") line.color = getComputedStyle(main).color; // black on black is no curve
  const style = () => {
    const [text, grid] = ["--text", "--grid"].map((name) => getComputedStyle(main).getPropertyValue(name));
    return { "font.color": text, ...Object.fromEntries(["xaxis", "yaxis"].flatMap((axis) => ["gridcolor", "zerolinecolor"].map((of) => [`${axis}.${of}`, grid]))) };
  };
  const show = () => Plotly.update(main, choices[menu.selectedIndex].data, { ...choices[menu.selectedIndex].layout, ...style() });
  Plotly.newPlot(
    main,
    curves.map((curve) => ({ ...curve, mode: "lines" })),
    { paper_bgcolor: "transparent", plot_bgcolor: "transparent", showlegend: false, hovermode: "x", margin: { l: 40, r: 10, t: 10 } },
    { responsive: true, displayModeBar: false },
  );
  menu.append(...choices.map(({ title }) => new Option(title)));
  menu.addEventListener("change", show);
  curves.forEach(({ name, line, visible }, k) => {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: visible });
    const label = document.createElement("label");
    label.style.borderColor = line.color;
    label.append(box, ` ${name}`);
    box.addEventListener("change", () => Plotly.restyle(main, { visible: box.checked }, [k]));
    form.append(label);
  });
  show();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => Plotly.relayout(main, style()));
}
