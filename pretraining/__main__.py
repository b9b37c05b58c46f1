"""Pre-train the learner: ``python -m pretraining --seconds 480 --resume checkpoint``.

Trains for some time from a checkpoint, or from scratch where there is none, and writes the checkpoint again. With
``--decay``, the last seconds go at a rate that falls to 0 and are not part of the checkpoint: they give its
``decayed.npz``. It may be killed at any time: what is lost are the steps since the last checkpoint, of two minutes.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread for each process that draws tables


def main() -> None:
    """Parse the command line, train, save."""
    parser = argparse.ArgumentParser(prog="python -m pretraining", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=480, help="of training at the full rate")
    parser.add_argument("--decay", type=float, default=0, help="seconds at a falling rate after them, for the weights")
    parser.add_argument(
        "--resume", type=Path, default=Path("checkpoint"), help="folder that is read, if it is there, and written"
    )
    parser.add_argument("--tokens", type=int, default=400_000, help="in a batch; fewer take less memory")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 1), help="that draw tables")
    parser.add_argument("--small", action="store_true", help="a network that a CPU can train; with --tokens 20000")
    options = parser.parse_args()

    from pretraining import training  # here, as the processes that draw tables import this file, and need no PyTorch
    from pretraining.weights import write_weights

    folder = options.resume
    folder.mkdir(parents=True, exist_ok=True)
    step = training.last_step(folder) or 0
    source = training.batches(training.drawn_batches(0, step, options.tokens, options.processes))
    trainer = training.start(folder, options.small)
    (folder / "decayed.npz").unlink(missing_ok=True)  # of an earlier run, with fewer steps
    training.train(trainer, source, options.seconds, folder)
    trainer.save(folder)
    if options.decay:
        training.train(trainer, source, options.decay, folder, falling=True)
        write_weights(trainer.network.state_dict(), trainer.network.shape, folder / "decayed.npz")


if __name__ == "__main__":
    main()
