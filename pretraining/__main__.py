"""Pre-train the learner: ``python -m pretraining --seconds 480 --resume checkpoint``.

Trains for some time from a checkpoint, or from scratch where there is none, and writes the checkpoint again. With
``--decay``, the last seconds go at a rate that falls to 0 and are not part of the checkpoint: they give the weights.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread for each process that draws tables

import torch
import torch.fx.experimental._config

from pretraining.network import Network
from pretraining.training import Trainer, batches, train


def main() -> None:
    """Parse the command line, train, save."""
    parser = argparse.ArgumentParser(prog="python -m pretraining", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=480, help="of training at the full rate")
    parser.add_argument("--decay", type=float, default=0, help="seconds at a falling rate after them, for the weights")
    parser.add_argument(
        "--resume", type=Path, default=Path("checkpoint"), help="folder that is read, if it is there, and written"
    )
    parser.add_argument("--weights", type=Path, default=Path("weights.pt"), help="where the weights go")
    parser.add_argument("--cells", type=int, default=400_000, help="tokens in a batch; less takes less memory")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 1), help="that draw tables")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    torch.backends.cuda.enable_cudnn_sdp(False)  # its backward pass fails on odd shapes
    torch.set_float32_matmul_precision("high")
    trainer = Trainer(Network(), device)
    if (options.resume / "network.pt").exists():
        trainer.load(options.resume)
        print(f"resumed after {trainer.seconds:.0f} s, {trainer.step} steps, {trainer.tables:,} tables", flush=True)
    log = options.resume / "curve.csv"
    log.parent.mkdir(parents=True, exist_ok=True)
    if device == "cuda":
        torch._dynamo.config.recompile_limit = 64
        torch.fx.experimental._config.use_duck_shape = False  # sizes that are the same by chance stay apart
        for layer in (*trainer.network.cell_layers, *trainer.network.row_layers):
            layer.compile(dynamic=True)
    source = batches(0, trainer.step, options.cells, options.processes)
    train(trainer, source, options.seconds, log)
    trainer.save(options.resume)
    weights = trainer.average
    if options.decay:
        train(trainer, source, options.decay, log, falling=True)
        weights = trainer.network.state_dict()
    torch.save({name: value.half() for name, value in weights.items()}, options.weights)


if __name__ == "__main__":
    main()
