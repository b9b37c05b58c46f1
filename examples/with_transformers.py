"""
Hugging Face Trainer: AUCLoss in compute_loss
=============================================

A tiny transformer, made from a configuration, reads made-up tokens: each of the twenty values of a point is rounded to
one of sixteen tokens. Its one output is the score. Of the texts labeled positive 65% are positive, and of those labeled
negative 45% are positive. With such labels even the true classes would have an AUC of only 0.6 (corollary 2).
"""

import tempfile

import numpy as np
import torch
from torch.utils.data import DataLoader
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments

import symloss as sl

# %%
# Noisy training data, and test data with clean labels, which only this script has.

drawn = sl.datasets.make_twonorm(12_000, random_state=0)
tokens = np.clip(drawn.data * 2 + 8, 0, 15).astype(np.int64)
X, y_noisy, X_test, y_test = sl.contaminated_split(
    tokens, drawn.target, pi=0.65, pi_prime=0.45, n_positive=1000, n_negative=1000, n_test=2000, random_state=0
)
training_set = [{"input_ids": row, "labels": label} for row, label in zip(X, y_noisy, strict=True)]

# %%
# Override ``compute_loss``, and do not pass ``compute_loss_func``. The latter is for sums over tokens: what it returns
# is multiplied by the number of processes, and is not divided by the number of accumulated batches.


class RankingTrainer(Trainer):
    """A Trainer that minimizes the AUC risk, on batches with both classes."""

    loss_is_scaled_for_ga = False  # the loss is a mean: divide it by the number of accumulated batches
    loss = sl.AUCLoss("barrier_hinge")

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):  # noqa: ARG002
        """Return the risk of the model's one output."""
        outputs = model(input_ids=inputs["input_ids"])
        value = self.loss(outputs.logits.squeeze(-1), inputs["labels"])
        return (value, outputs) if return_outputs else value

    def get_train_dataloader(self) -> DataLoader:
        """Return a loader that is not prepared, because the sampler handles the ranks itself."""
        labels = [example["labels"] for example in self.train_dataset]
        sampler = sl.StratifiedBatchSampler(labels, self.args.train_batch_size, random_state=self.args.seed)
        loader = DataLoader(self.train_dataset, batch_sampler=sampler, collate_fn=self.data_collator)
        loader.set_epoch = sampler.set_epoch  # the Trainer calls this
        return loader


def make_trainer(folder: str, **options) -> Trainer:
    torch.manual_seed(0)
    config = DistilBertConfig(
        vocab_size=16, max_position_embeddings=20, dim=32, hidden_dim=64, n_layers=1, n_heads=2, num_labels=1
    )
    settings = {"num_train_epochs": 12, "save_strategy": "no", **options}
    arguments = TrainingArguments(
        folder, use_cpu=True, per_device_train_batch_size=100, learning_rate=3e-3, report_to="none",
        disable_tqdm=True, logging_strategy="no", **settings,
    )  # fmt: skip
    return RankingTrainer(DistilBertForSequenceClassification(config), arguments, train_dataset=training_set)


# %%
# Train, and score on clean labels.


def main() -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(folder)
        trainer.train()
    model = trainer.model.eval()
    with torch.no_grad():
        scores = model(input_ids=torch.from_numpy(X_test)).logits.squeeze(-1)
    print(f"{'AUCLoss, barrier hinge':<24} AUC on clean labels {sl.metrics.auc(scores, y_test):.3f}")


if __name__ == "__main__":
    main()
