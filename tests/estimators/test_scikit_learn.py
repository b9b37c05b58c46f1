"""scikit-learn's own checks, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from symloss.estimators import AUCClassifier, BERClassifier

ESTIMATORS = [
    BERClassifier(),
    AUCClassifier(),
    BERClassifier("logistic"),
    BERClassifier("squared", alpha=0.1),
    AUCClassifier("sigmoid", alpha=0.1),
    AUCClassifier("barrier_hinge"),
    BERClassifier(model="trees", n_estimators=10, min_samples_leaf=2),
    BERClassifier("squared", model="trees", n_estimators=10),
    AUCClassifier(model="trees", n_estimators=10, min_samples_leaf=2),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
