"""The balanced-error and the AUC risk as pure functions of scores and labels."""

from symloss.risks.functions import RISKS, MissingClassWarning, auc_derivatives, auc_risk, ber_risk, partial_auc_risk

__all__ = ["RISKS", "MissingClassWarning", "auc_derivatives", "auc_risk", "ber_risk", "partial_auc_risk"]
