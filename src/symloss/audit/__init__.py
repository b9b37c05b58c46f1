"""How noisy the labels are, and which of them are wrong."""

from symloss.audit.noise import Noise, estimate_noise
from symloss.audit.quality import label_quality

__all__ = ["Noise", "estimate_noise", "label_quality"]
