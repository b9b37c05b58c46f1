"""Parts of the docstrings of the four estimators, each written once and filled in where its name stands in braces."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from symloss.estimators.family_table import FAMILIES
from symloss.estimators.networks import OWN_NETWORK

Class = TypeVar("Class", bound=type[Any])


def fill_docstring(**texts: str) -> Callable[[Class], Class]:
    """Return a class decorator that replaces each ``{name}`` in the docstring of a class by the text of that name.

    Examples
    --------
    >>> @fill_docstring(score="AUC")
    ... class Ranker:
    ...     '''A ranker of largest {score}.'''
    >>> Ranker.__doc__
    'A ranker of largest AUC.'
    """

    def fill(filled: Class) -> Class:
        docstring = inspect.cleandoc(filled.__doc__ or "")
        for name, text in texts.items():
            docstring = docstring.replace("{" + name + "}", text)
        filled.__doc__ = docstring
        return filled

    return fill


def _list_of_families() -> str:
    described = {f'``"{name}"``': family for name, family in FAMILIES.items()} | {"nn.Module or callable": OWN_NETWORK}
    items = (f"- {name}: {family.description}" for name, family in described.items())
    wrapped = (textwrap.fill(item, 112, subsequent_indent="  ", break_on_hyphens=False) for item in items)
    return textwrap.indent("\n".join(wrapped), "    ")


MODEL_AND_TRAINING = f"""\
model : str, nn.Module or callable, default="linear"
    The family of models that the scores come from.

{_list_of_families()}
prune : float, default=0.0
    The share of each class whose labels are the least credible: they are left out before the model is fitted. How
    credible a label is, is told by two kinds of trees and two processes that have not seen it. About the share of
    wrong labels is a good choice. With ``prune`` above 0 there is no ``predict_proba``.
alpha : float, default=0.01
    The L2 penalty of linear and kernel models, and the weight decay of networks.
gamma : float, default=1.0
    How narrow the kernels of ``model="kernel"`` are. A kernel is ``exp(-gamma |x - x'|^2 / m)``, where m is the mean
    squared distance of two standardized points.
n_landmarks : int, default=300
    How many points of the data have a kernel around them with ``model="kernel"``, ``model="gaussian_process"`` and
    ``model="relevance_process"`` (the Nyström method).
n_estimators : int, default=200
    The number of trees, or of partitions into cells.
min_samples_leaf : int, default=20
    The fewest points in a leaf of a tree. The noisier the labels, the larger it should be. With fewer than twice as
    many points, all scores are the same.
splits : {{"random", "best"}}, default="random"
    How a node of a tree is split: by the best of one random split for each feature that it looks at (extremely
    randomized trees), or by the best of all splits (a random forest, whose trees are grown on bootstrap samples).
max_leaf_nodes : int, default=6
    The most leaves that a tree of ``model="boosting"`` has. Trees of 2 leaves, stumps, follow wrong labels the least.
n_cells : int, default=256
    The largest number of cells in a partition; others have a half, a quarter, an eighth and a sixteenth of it. The
    noisier the labels, the smaller it should be.
hidden_units : int, default=200
    The number of hidden units of a perceptron.
n_seeds : int, default=5
    How many perceptrons are trained, or how many networks if ``model`` is a callable.
epochs : int, default=30
    How many times the training of networks goes through the data.
batch_size : int, default=500
    How many points a batch has when networks are trained.
learning_rate : float, default=0.001
    The learning rate of AMSGrad, which trains networks.
early_stopping : bool, default=False
    Whether to hold out a part of the data, to stop the training of networks when the AUC on that part does not grow any
    more, and to return to the epoch where it was largest. The labels of that part may be corrupted like all others.
validation_fraction : float, default=0.1
    The share of the data that early stopping holds out.
patience : int, default=10
    After how many epochs without a larger AUC early stopping ends the training.
device : str, default="cpu"
    The torch device that networks are trained on. Other models use the CPU."""

FOLDS_AND_SEED = """\
cv : int, splitter or iterable, default=5
    The folds that the threshold is chosen on.
warm_start : bool, default=False
    Whether a fit continues from the last one. Linear models, kernel models and networks start from its weights, and
    keep its medians and indicators; the latter two also keep its landmarks, and its means and deviations of the
    features. A forest gets the trees that it lacks, and cells their partitions. Boosting, and the models that the
    threshold is chosen with, are always fitted anew.
random_state : int or numpy RandomState, default=None
    The seed of everything random.
n_jobs : int, default=None
    How many threads grow trees. It has no effect on other models."""

FITTED_FEATURES = """\
n_features_in_ : int
    The number of features.
feature_names_in_ : array of str
    The names of the features, if X was a data frame.
encoding_ : Encoding
    How the columns of a data frame become features, if not all of them hold numbers: ``encoding_.features`` are the
    names of the features, ``encoding_.transform(X).values`` are their values, and ``encoding_.decisions`` says what was
    done with each column."""

FITTED_MODEL = f"""\
classes_ : array of two labels
    The two labels; the second one is the positive one.
threshold_ : float
    The threshold, which ``decision_function`` subtracts from the scores of the model.
class_prior_ : array of two floats
    The shares of the two labels in the training data, as they were given.
scorer_ : object
    The fitted model; its method ``scores(X)`` returns the scores before the threshold is subtracted, for features in
    which missing values are replaced.
medians_ : array of floats
    The weighted medians of the features, which replace missing values. Trees have none, because they take missing
    values themselves, and neither has a model that was fitted to a sparse matrix.
indicators_ : array of int
    The features that had missing values in the fit, in the order of X. For each of them, a feature is appended that is
    1 where the value is missing and 0 elsewhere. A module of your own, whose inputs are fixed, gets none.
{FITTED_FEATURES}"""

CV_PARAMETERS = """\
candidates : list of (name, estimator), default=None
    Classifiers with ``decision_function`` or ``predict_proba`` that take an array of floats, and labels False and True,
    as those of scikit-learn do. None stands for ``default_candidates``: trees, cells, boosting, a Gaussian process,
    linear and kernel models, some of them fitted without the labels that are least credible.
temperature : float, default=0.7
    The larger it is, the more candidates are averaged; 0 takes the best one alone. The weight of a candidate is
    ``exp(-(d / temperature)^2 / 2)``, where d is how far its score is below that of the best candidate, divided by the
    standard error of this difference. If there are more than 6,000 points, the temperature matters only if it is 0: the
    weights are those of the average that is nearest to the labels by least squares, none below 0. Weights below 3% of
    the largest are set to 0. Before they are averaged, the scores of each candidate are divided by the standard
    deviation of its out-of-fold scores.
cv : int, splitter or iterable, default=5
    The folds that candidates are scored on. If there are more than 6,000 points, all candidates are scored on 3,000
    points first, and only the best ones on all points.
pi : float, default=None
    The share of clean positives among the points that are labeled positive, if it is known. With ``pi_prime``, it gives
    ``clean_score_``.
pi_prime : float, default=None
    The share of clean positives among the points that are labeled negative, if it is known.
time_limit : float, default=None
    After how many seconds no more candidates are scored. The best of those that were scored until then are averaged;
    at least one is. If there are more than 6,000 points, what candidates take on a part of them tells which of them can
    be scored on all points, and fitted to them, in time. What is found depends on how fast the machine is.
random_state : int or numpy RandomState, default=None
    The seed of the folds, and of all candidates whose own ``random_state`` is None.
n_jobs : int, default=None
    How many processes fit candidates, through joblib; inside ``joblib.parallel_config`` they may run on a cluster.
verbose : bool, default=False
    Whether to print progress to standard error.
callback : callable, default=None
    A function to be told of progress. After each fit of a candidate it is called, in this process, as
    ``callback(stage, done, total, name)``: ``stage`` is "Scoring candidates on folds", with the number of points added
    if these are not all, and then "Fitting the best";
    ``done`` of ``total`` fits of this stage have ended; ``name`` is the candidate that was fitted last. It is not
    saved by ``symloss.estimators.save``."""

CV_FITTED = f"""\
cv_results_ : dict
    The names of the candidates, their {{score}} on each fold of the labels given, its mean and its standard
    deviation over the folds, the number of points that they were scored on, and their weights and ranks.
members_ : list
    The candidates that are averaged, the best one first, each with its ``name``, its ``weight``, the ``estimator`` that
    is fitted to all points, and ``on_folds``: the fits to the folds, whose scores are averaged with those of
    ``estimator``, or None. They are kept where models vary from fold to fold (trees, boosting, networks, and models
    that are not symloss's own), for at most 6,000 points, and at most ten folds that are each fitted to 70% of the
    points or more; never with ``temperature=0``.
oof_scores_ : array of n floats
    The value of ``decision_function`` for each training point, from models that were not trained on the point; NaN for
    points that no fold holds out.
label_quality_ : array of n floats
    How probable it is that the label of each training point is right, by its out-of-fold score: see
    ``symloss.audit.label_quality``. It is low where the label is probably wrong, and NaN for points that no fold holds
    out.
noise_ : Noise or None
    How noisy the training labels are, by out-of-fold scores: see ``symloss.audit.estimate_noise``. It is None where
    that cannot be told; ``estimate_noise(oof_scores_, y)`` then gives the reason and bounds.
best_estimator_ : object
    The candidate with the largest weight, fitted to all points.
calibration_ : object
    The logistic curve that turns scores into the probabilities of the observed labels.
share_labeled_positive_ : float
    The share of the points that are labeled positive.
corrupted_score_ : float
    The {{score}} of the average on the labels given, from out-of-fold scores.
clean_score_ : Estimate
    The {{score}} on clean labels that follows from it, with a confidence interval; only if ``pi`` and
    ``pi_prime`` are given. The interval is that of a score on new data. Choosing members and threshold on the same
    folds makes the score a little too high; training on a part of the data makes it too low.
classes_ : array of two labels
    The two labels; the second one is the positive one.
threshold_ : float
    The threshold, which ``decision_function`` subtracts from the average of the members' scores.
{FITTED_FEATURES}"""
