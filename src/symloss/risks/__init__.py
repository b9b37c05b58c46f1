"""The balanced-error and the AUC risk: modules of PyTorch, functions, whole epochs, and batches with both classes."""

from symloss.risks.epochs import whole_epoch
from symloss.risks.modules import AUCLoss, BERLoss, PartialAUCLoss
from symloss.risks.sampling import StratifiedBatchSampler

__all__ = ["AUCLoss", "BERLoss", "PartialAUCLoss", "StratifiedBatchSampler", "whole_epoch"]
