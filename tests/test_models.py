import numpy as np
import torch

from symloss.models import Perceptron, PerceptronStack, lecun_normal


def test_initial_weights_are_lecun_normal_and_biases_zero():
    model = Perceptron(100, 2000, random_state=0)
    assert abs(model.hidden.weight.std() * 10 - 1) < 0.01
    assert abs(model.output.weight.std() * 2000**0.5 - 1) < 0.05
    assert model.hidden.weight.abs().max() * 10 > 3  # not truncated
    assert not model.hidden.bias.any()
    assert not model.output.bias.any()


def test_a_seed_gives_the_same_perceptron():
    one, two, other = (Perceptron(5, random_state=seed).hidden.weight for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_the_stack_says_what_its_perceptrons_say():
    stack = PerceptronStack([lecun_normal(6, 30, np.random.default_rng(seed)) for seed in range(4)])
    for parameter in stack.parameters():
        torch.nn.init.normal_(parameter)
    shared, own = torch.randn(9, 6), torch.randn(4, 9, 6)
    assert len(stack) == 4
    for k in range(4):
        alone = stack.perceptron(k)
        torch.testing.assert_close(stack(shared)[k], alone(shared), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(stack(own)[k], alone(own[k]), rtol=1e-5, atol=1e-5)


def test_a_perceptron_taken_from_the_stack_is_a_copy():
    stack = PerceptronStack([lecun_normal(2, 3, np.random.default_rng(0))])
    with torch.no_grad():
        stack.perceptron(0).output.weight.zero_()
    assert stack.layers.output.all()


def test_the_scores_of_some_of_the_stack():
    stack = PerceptronStack([lecun_normal(2, 3, np.random.default_rng(seed)) for seed in range(5)])
    X = torch.randn(7, 2)
    torch.testing.assert_close(stack(X, slice(1, 3)), stack(X)[1:3])
