"""Write the weights of a checkpoint as the learner reads them: ``python -m pretraining.export CHECKPOINT weights.npz``.

Takes the weights after the decay, if there are some, else the average of the weights at the last checkpoint.
"""

import argparse
import hashlib
from pathlib import Path

from pretraining.training import last_step
from pretraining.weights import read_weights, this_commit, write_weights

MOST = 8_000_000  # bytes


def main() -> None:
    """Parse the command line, write the file, and read it again."""
    parser = argparse.ArgumentParser(prog="python -m pretraining.export", description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path, help="folder that `python -m pretraining` has written")
    parser.add_argument("weights", type=Path, help="file to write")
    options = parser.parse_args()
    source = options.checkpoint / "decayed.npz"
    if not source.exists():
        source = options.checkpoint / f"average_{last_step(options.checkpoint)}.npz"
    found = read_weights(str(source), "cpu")
    commit = found.commit if found.commit != "unknown" else this_commit()
    write_weights(found.network.state_dict(), found.network.shape, options.weights, commit)
    written = read_weights(str(options.weights), "cpu")
    size = options.weights.stat().st_size
    if size > MOST:
        raise SystemExit(f"{options.weights} must have at most {MOST:,} bytes, got {size:,}")
    count = sum(parameter.numel() for parameter in written.network.parameters())
    print(f"{options.weights}: {count:,} weights in {size:,} bytes, trained by the code of commit {written.commit}")
    print(f"SHA-256 of the arrays {written.sha256}")
    print(f"SHA-256 of the file   {hashlib.sha256(options.weights.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
