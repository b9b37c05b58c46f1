"""From a table in a file to a model and its predictions: what ``symloss fit`` and ``symloss predict`` do."""

from symloss.estimators.encoding import Column, Encoded, Encoding
from symloss.tabular.files import read_table, write_table
from symloss.tabular.fitting import Fitted, fit_table
from symloss.tabular.model import TableModel

__all__ = ["Column", "Encoded", "Encoding", "Fitted", "TableModel", "fit_table", "read_table", "write_table"]
