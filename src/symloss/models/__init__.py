"""Families of models: linear, trees, a Gaussian process, and networks, among them the paper's perceptron."""

from symloss.models.networks import Layers, Perceptron, PerceptronStack, lecun_normal

__all__ = ["Layers", "Perceptron", "PerceptronStack", "lecun_normal"]
