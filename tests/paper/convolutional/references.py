"""What a stack of networks must agree with: one network at a time, by PyTorch and automatic differentiation."""

import numpy as np
import torch

import symloss as sl
from symloss.paper.convolutional import TrainingSettings
from symloss.paper.convolutional.batches import classes_of, draw_batches
from symloss.paper.convolutional.network import NetworkLayers, NetworkStack, initial_layers, state_dict
from symloss.paper.convolutional.step import make_step
from symloss.paper.training.risks import Risk

RISKS = [Risk(risk, loss) for risk in ("ber", "auc") for loss in (sl.BarrierHinge(), sl.Sigmoid(), sl.Squared())]


def risk_of(risk, scores, sign):
    pos, neg = scores[sign > 0], scores[sign < 0]
    if risk.name == "ber":
        return risk.loss(pos).mean() + risk.loss(-neg).mean()
    return risk.loss(pos[:, None] - neg[None, :]).mean()


def exact_convolutions():
    """Multiply float32 numbers as such; cuDNN rounds to TF32, or errs by 1e-3 in other ways. Restored afterwards."""
    return torch.backends.cudnn.flags(enabled=False)


def forward(net, images, masks):
    """Return the scores of images, and by how little a pooling or a ReLU of each was decided, in a layer's spreads."""
    x, gaps = images.permute(0, 3, 1, 2), []
    for layer in (net.first, net.second):
        found = layer(x)
        best, second = found.unfold(2, 2, 2).unfold(3, 2, 2).flatten(4).topk(2).values.unbind(4)
        gaps.append((best - second).flatten(1).amin(1) / found.std())
        x = best
    x = x.flatten(1)
    for layer, mask in zip((net.wide, net.narrow), masks, strict=True):
        found = layer(x)
        gaps.append(found.abs().amin(1) / found.std())
        x = torch.relu(found) * mask
    return net.output(x).squeeze(1), torch.stack(gaps).amin(0)


def draw_clear_images(nets, masks, shape):
    """Draw images (trials, n, side, side, channels) on which rounding decides no corner of a pooling and no ReLU.

    A gradient jumps where either changes, so that where rounding decides, two right gradients may be far apart. Sums of
    a thousand products of float32 err by about 1e-6 of their spread; these images leave ten times as much.
    """
    images = torch.randn(shape, device=masks[0].device).double()
    for t, net in enumerate(nets):
        while (close := forward(net, images[t], [mask[t] for mask in masks])[1] < 1e-5).any():
            images[t, close] = torch.randn(images[t, close].shape, device=images.device).double()
    return images


def gradient_errors(architecture, device="cpu", kernels=False, dtype=torch.float32, n=5, trials=2, risks=RISKS):
    """Return the largest relative distance of a network's gradient from autograd's in float64, by part of the network.

    Images and parameters are float32 numbers, so that both start from the same ones.
    """
    torch.manual_seed(0)
    initial = [initial_layers(architecture, np.random.default_rng(trial)) for trial in range(trials)]
    stack = NetworkStack(architecture, initial * len(risks), device)
    generator = torch.Generator(device)
    step, _ = make_step(stack, risks, generator, 1e-4, 1e-4, kernels, dtype)
    nets = [stack.network(k).to(device).double() for k in range(len(stack))]
    sign = torch.ones(trials, n, device=device)
    sign[:, ::2] = -1
    sign[0, -1] = 0
    shape = trials, n, architecture.side, architecture.side, architecture.channels
    with torch.no_grad(), exact_convolutions():
        masks = [mask.double() for mask in step.masks(n)]
        generator.manual_seed(generator.initial_seed())
        images = draw_clear_images(nets[:trials], masks, shape)
        step.write_gradients(images.to(dtype), classes_of(sign.to(step.sums)))
    worst = {}
    for k, net in enumerate(nets):
        j, t = divmod(k, trials)
        with exact_convolutions():
            scores, _ = forward(net, images[t], [mask[t] for mask in masks])
            risk_of(risks[j], scores, sign[t]).backward()
        found = state_dict(NetworkLayers(*(part[k].double() for part in step.gradients)), architecture)
        for name, parameter in net.named_parameters():
            floor = 0.01 * net.output.weight.grad.norm()  # the last bias's gradient may cancel to rounding
            distance = (parameter.grad - found[name]).norm() / parameter.grad.norm().clamp(min=floor)
            worst[name] = max(worst.get(name, 0.0), float(distance))
    return worst


def train_alone(images, rows, y, risk, random_state, architecture, training):
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
    with exact_convolutions():
        for of_step, sign in zip(*(part[:, 0] for part in batches), strict=True):
            scores = model((images[of_step] / 255 - mean) / sd)
            adam.zero_grad()
            risk_of(risk, scores, sign).backward()
            adam.step()
    return model.eval()


TRAINING = TrainingSettings(epochs=3, batch_size=16, learning_rate=1e-3, mean=(0.5, 0.4, 0.3), sd=(0.2, 0.3, 0.4))
