"""The losses and the sampler inside skorch, Lightning, the Trainer of Hugging Face, and Accelerate: the examples."""

import importlib.util
import sys
from pathlib import Path

import accelerate
import pytest
import torch

import symloss as sl

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = [
    pytest.mark.skipif(not EXAMPLES.exists(), reason="installed from a wheel"),
    # Lightning's own, with today's PyTorch.
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
]


def example(name):
    """Import an example as a module."""
    module = f"with_{name}"
    if module not in sys.modules:
        spec = importlib.util.spec_from_file_location(module, EXAMPLES / f"{module}.py")
        sys.modules[module] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[module])
    return sys.modules[module]


@pytest.mark.filterwarnings("ignore:.*does not have many workers")
@pytest.mark.parametrize(
    "name", ["skorch", pytest.param("lightning", marks=pytest.mark.slow), "transformers", "accelerate"]
)
def test_examples_learn_from_noisy_labels(name, capsys):
    example(name).main()
    lines = [line for line in capsys.readouterr().out.splitlines() if "AUC on clean labels" in line]
    ours, *others = (float(line[-5:]) for line in lines)
    assert lines[0].startswith("AUCLoss, barrier hinge")
    assert ours > 0.9
    assert all(ours > other + 0.05 for other in others)  # cross-entropy


def test_skorch_sets_the_loss_by_name():
    from sklearn.base import clone

    module = example("skorch")
    net = module.make_net(sl.BERLoss, criterion__loss="ramp")
    net = clone(net).set_params(criterion__loss="barrier_hinge", criterion__b=10, max_epochs=1)
    net.fit(module.X[::5], module.y_noisy[::5])
    assert isinstance(net.criterion_, sl.BERLoss)
    assert net.criterion_.loss == sl.BarrierHinge(b=10)
    assert not net.criterion_.state_dict()


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.filterwarnings("ignore:.*does not have many workers")
def test_lightning_resumes_with_the_batches_of_the_next_epoch(tmp_path):
    module = example("lightning")

    def fit(epochs, **options):
        torch.manual_seed(0)
        model = module.Ranker(sl.AUCLoss("sigmoid"))
        trainer = module.make_trainer(epochs)
        trainer.fit(model, **options)
        return trainer, weights(model)

    whole = fit(3)[1]
    trainer, part = fit(1)
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    resumed = fit(3, ckpt_path=tmp_path / "last.ckpt")[1]
    assert not torch.equal(part, whole)
    torch.testing.assert_close(resumed, whole, rtol=0, atol=0)


def test_the_trainer_resumes_within_and_between_epochs(tmp_path):
    module = example("transformers")

    def train(resume=None):
        trainer = module.make_trainer(str(tmp_path), num_train_epochs=2, save_strategy="steps", save_steps=5)
        trainer.train_dataset = module.training_set[::2]
        trainer.train(resume_from_checkpoint=resume)
        return weights(trainer.model)

    whole = train()  # two epochs of ten steps, dropout included
    for step in (10, 15):
        torch.testing.assert_close(train(tmp_path / f"checkpoint-{step}"), whole, rtol=0, atol=0)


def test_accelerate_resumes_within_an_epoch(tmp_path):
    X, y = torch.randn(60, 3), torch.arange(60) % 4 == 0

    def train(load=None, stop_at=None):
        torch.manual_seed(0)
        accelerator = accelerate.Accelerator(cpu=True)
        model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0))
        model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.1))
        sampler = sl.StratifiedBatchSampler(y, 10)
        accelerator.register_for_checkpointing(sampler)
        if load:
            accelerator.load_state(str(load))
        steps = 0
        while sampler.epoch < 3:
            for rows in sampler:
                optimizer.zero_grad()
                accelerator.backward(sl.AUCLoss("sigmoid")(model(X[rows]), y[rows]))
                optimizer.step()
                steps += 1
                if steps == stop_at:
                    accelerator.save_state(str(tmp_path / "state"))
                    return weights(model)
        return weights(model)

    whole = train()
    part = train(stop_at=9)  # in the middle of the second epoch
    assert not torch.equal(part, whole)
    torch.testing.assert_close(train(load=tmp_path / "state"), whole, rtol=0, atol=0)
