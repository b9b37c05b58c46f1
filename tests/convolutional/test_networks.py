from dataclasses import replace

import numpy as np
import pytest
import torch

from symloss.convolutional import Architecture, train_networks

from .references import OBJECTIVES, TRAINING, gradient_errors, train_alone
