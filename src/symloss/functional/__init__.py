"""The balanced-error and the AUC risk as pure functions of scores and labels."""

from symloss.functional.auc import auc_derivatives, auc_risk
from symloss.functional.auc import auc_of as auc_of
from symloss.functional.ber import ber_of as ber_of
from symloss.functional.ber import ber_risk
from symloss.functional.clean import unmixing as unmixing
from symloss.functional.missing import MissingClassWarning
from symloss.functional.partial import partial_auc_risk

RISKS = ("ber", "auc")  # the balanced-error and the AUC risk

__all__ = ["RISKS", "MissingClassWarning", "auc_derivatives", "auc_risk", "ber_risk", "partial_auc_risk"]
