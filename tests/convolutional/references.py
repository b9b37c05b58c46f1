"""What a stack of networks must agree with: one network at a time, by PyTorch and automatic differentiation."""

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

import symloss as sl
from symloss.convolutional import Training
from symloss.convolutional.batches import classes_of, draw_batches
from symloss.convolutional.network import Layers, NetworkStack, initial_layers, state_dict
from symloss.convolutional.step import make_step
from symloss.training.objectives import Objective

OBJECTIVES = [
    Objective(risk, loss) for risk in ("ber", "auc") for loss in (sl.BarrierHinge(), sl.Sigmoid(), sl.Squared())
]


def risk_of(objective, scores, sign):
    pos, neg = scores[sign > 0], scores[sign < 0]
    if objective.risk == "ber":
        return objective.loss(pos).mean() + objective.loss(-neg).mean()
    return objective.loss(pos[:, None] - neg[None, :]).mean()


def gradient_errors(architecture, device="cpu", kernels=False, dtype=torch.float32, n=5, trials=2, goals=OBJECTIVES):
    """Return the largest relative distance of a network's gradient from autograd's, for each part of the parameters."""
    torch.manual_seed(0)
    initial = [initial_layers(architecture, np.random.default_rng(trial)) for trial in range(trials)]
    stack = NetworkStack(architecture, initial * len(goals), device)
    generator = torch.Generator(device)
    step, _ = make_step(stack, goals, generator, 1e-4, 1e-4, kernels, dtype)
    images = torch.randn(trials, n, architecture.side, architecture.side, architecture.channels, device=device)
    sign = torch.ones(trials, n, device=device)
    sign[:, ::2] = -1
    sign[0, -1] = 0
    with torch.no_grad():
        step.write_gradients(images.to(dtype), classes_of(sign))
        generator.manual_seed(generator.initial_seed())
        wide_mask, narrow_mask = (mask.float() for mask in step.masks(n))
    worst = {}
    for k in range(len(stack)):
        j, t = divmod(k, trials)
        net = stack.network(k).to(device)
        hidden = F.max_pool2d(net.second(F.max_pool2d(net.first(images[t].permute(0, 3, 1, 2)), 2)), 2).flatten(1)
        wide = torch.relu(net.wide(hidden)) * wide_mask[t]
        narrow = torch.relu(net.narrow(wide)) * narrow_mask[t]
        risk_of(goals[j], net.output(narrow).squeeze(1), sign[t]).backward()
        found = state_dict(Layers(*(part[k].float() for part in step.gradients)), architecture)
        for name, parameter in net.named_parameters():
            if name == "output.bias" and goals[j].risk == "auc":
                continue  # it is zero but for rounding
            distance = (parameter.grad - found[name]).norm() / parameter.grad.norm().clamp(min=1e-12)
            worst[name] = max(worst.get(name, 0.0), float(distance))
    return worst


def train_alone(images, rows, y, objective, random_state, architecture, training):
    """Train one network, without dropout, on the batches that a stack would give it; return it."""
    assert architecture.dropout == 0
    generator = np.random.default_rng(random_state)
    model = NetworkStack(architecture, [initial_layers(architecture, generator)]).network(0).to(images.device)
    batches = draw_batches(
        rows[None], y[None], [generator], training.epochs, training.batch_size, training.balanced
    ).to(images.device)
    adam = torch.optim.Adam(
        model.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay, amsgrad=True
    )
    mean, sd = (torch.tensor(part, device=images.device)[:, None, None] for part in (training.mean, training.sd))
    for of_step, sign in zip(*(part[:, 0] for part in batches), strict=True):
        scores = model((images[of_step] / 255 - mean) / sd)
        adam.zero_grad()
        risk_of(objective, scores, sign).backward()
        adam.step()
    return model.eval()


TRAINING = Training(epochs=3, batch_size=16, learning_rate=1e-3, mean=(0.5, 0.4, 0.3), sd=(0.2, 0.3, 0.4))
