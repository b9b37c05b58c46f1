"""From a table as it is to a model and its predictions: what ``symloss fit`` and ``symloss predict`` do."""

from symloss.columns import Column as Column
from symloss.columns import Encoded as Encoded
from symloss.columns import Encoding as Encoding
from symloss.tabular.fitting import fit
from symloss.tabular.model import Predicted, TableModel, load
from symloss.tabular.reading import read as read
from symloss.tabular.writing import write_table as write_table

__all__ = ["Predicted", "TableModel", "fit", "load"]
