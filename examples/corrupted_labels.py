"""Train a ranker on corrupted labels with five losses, and score it on clean ones.

Two Gaussian classes in twenty dimensions; 65% of the "positive" and 45% of the "negative" training points are really
positive. A network that is trained for long can fit such noise. Under the barrier hinge and the unhinged loss it does
not; the sigmoid loss is symmetric too, but without weight decay its flat tails let the network memorise.
"""

import torch

import symloss as sl


def gaussian_classes(n: int, dim: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 2 * 2 - 1
    return torch.randn(n, dim, generator=generator) + y[:, None] * 0.45, y


def train(loss: str, X: torch.Tensor, y: torch.Tensor, steps: int = 300) -> torch.nn.Module:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], 200), torch.nn.ReLU(), torch.nn.Linear(200, 1), torch.nn.Flatten(0)
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=True)
    criterion = sl.AUCLoss(loss)
    for _ in range(steps):
        optimiser.zero_grad()
        criterion(model(X), y).backward()
        optimiser.step()
    return model


def main() -> None:
    torch.set_num_threads(1)
    X, y = gaussian_classes(8000, dim=20, seed=0)
    X_train, y_train, X_test, y_test = sl.contaminated_split(
        X, y, pi=0.65, pi_prime=0.45, n_positive=500, n_negative=500, n_test=2000, random_state=0
    )
    print("AUC after training on labels at (pi, pi') = (0.65, 0.45):  corrupted training labels, clean test labels")
    for name in ("logistic", "squared", "sigmoid", "barrier_hinge", "unhinged"):
        model = train(name, X_train, y_train)
        with torch.no_grad():
            train_auc, test_auc = sl.metrics.auc(model(X_train), y_train), sl.metrics.auc(model(X_test), y_test)
        print(f"  {sl.get_loss(name).title:<14} {train_auc:.3f}  {test_auc:.3f}")


if __name__ == "__main__":
    main()
