"""The paper's tables and figures, regenerated, and our results beside its own."""
