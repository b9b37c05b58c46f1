"""From a table as it is to a model, its predictions and better labels: what the commands for tables do."""

from symloss.tabular.evaluation import label_table
from symloss.tabular.fitting import fit
from symloss.tabular.model import Predicted, Review, TableModel, load
from symloss.tabular.reviewing import Reviewed, review

__all__ = ["Predicted", "Review", "Reviewed", "TableModel", "fit", "label_table", "load", "review"]
