"""From a table as it is to a model and its predictions: what ``symloss fit`` and ``symloss predict`` do."""

from symloss.tabular.fitting import fit
from symloss.tabular.model import Predicted, TableModel, load

__all__ = ["Predicted", "TableModel", "fit", "load"]
