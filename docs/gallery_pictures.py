"""Draw the pictures of the examples that the gallery does not run: ``python docs/gallery_pictures.py``.

Each example is run, and the picture shows the AUCs on clean labels that it prints. The examples need the extras skorch,
lightning and transformers.
"""

import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt

from symloss.drawing import COLORS, STYLE

ROOT = Path(__file__).resolve().parents[1]
TITLES = {
    "with_skorch": "skorch",
    "with_lightning": "Lightning",
    "with_accelerate": "Accelerate",
    "with_transformers": "Transformers",
    "distributed_auc": "pairs across ranks",
}
PRINTED = re.compile(r"^(.+?):?\s+AUC on clean (?:test )?labels (\d\.\d+)$", re.M)


def printed_aucs(name: str) -> dict[str, float]:
    """Run an example and return the AUCs that it prints, by what they are of."""
    script = str(ROOT / "examples" / f"{name}.py")
    commands = [[sys.executable, script]]
    if name == "distributed_auc":
        commands.append([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", script])
    found = {}
    for command in commands:
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found |= {what.replace(", ", ",\n"): float(auc) for what, auc in PRINTED.findall(output)}
    return found


def draw(name: str, path: Path) -> None:
    """Draw the picture of one example."""
    aucs = printed_aucs(name)
    print(name, aucs)
    figure, panel = plt.subplots(figsize=(4, 2.8), layout="constrained", facecolor="white")
    colors = [COLORS["barrier_hinge"], COLORS["barrier_hinge" if name == "distributed_auc" else "logistic"]]
    bars = panel.bar([*aucs], [*aucs.values()], 0.55, color=colors[: len(aucs)])
    panel.bar_label(bars, fmt="%.3f", padding=2)
    panel.set(ylim=(0.5, 1.05), xlim=(-0.7, len(aucs) - 0.3), ylabel="AUC on clean labels")
    panel.set_title(TITLES[name], fontsize=13)
    panel.grid(visible=False, axis="x")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Draw all pictures."""
    plt.rcParams.update(STYLE)
    for name in TITLES:
        draw(name, ROOT / "docs" / "images" / f"{name}.png")


if __name__ == "__main__":
    main()
