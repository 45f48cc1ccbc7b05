# SPDX-License-Identifier: Apache-2.0
"""The estimators beside scikit-learn's own, and what is Motley's alone."""

import os
import pickle
import threading

import numpy as np
import pytest
from sklearn import datasets, linear_model, neural_network, svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import motley
from motley import sklearn


def scaled(loaded):
    return StandardScaler().fit_transform(loaded[0]), loaded[1]


IRIS = scaled(datasets.load_iris(return_X_y=True))
CANCER = scaled(datasets.load_breast_cancer(return_X_y=True))
DIABETES = datasets.load_diabetes(return_X_y=True)


def test_ridge_is_scikit_learns():
    x, y = DIABETES
    ours = sklearn.Ridge(alpha=0.1).fit(x, y)
    theirs = linear_model.Ridge(alpha=0.1).fit(x, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-3 * np.abs(theirs.coef_).max())
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), rtol=0, atol=1e-3 * y.std())
    assert ours.n_iter_ == len(ours.loss_curve_) and ours.loss_curve_[-1] < ours.loss_curve_[0]


def test_logistic_regression_of_two_classes_is_scikit_learns():
    x, y = CANCER
    ours = sklearn.LogisticRegression(max_iter=2000, tol=1e-9).fit(x, y)
    theirs = linear_model.LogisticRegression(max_iter=10000, tol=1e-8).fit(x, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=0.02 * np.abs(theirs.coef_).max())
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), rtol=0, atol=5e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_logarithms_of_probabilities():
    for model in (sklearn.LogisticRegression(max_iter=50, tol=0), sklearn.MLPClassifier((8,), max_iter=5, tol=None)):
        model.fit(*IRIS)
        np.testing.assert_allclose(model.predict_log_proba(IRIS[0]), np.log(model.predict_proba(IRIS[0])), rtol=1e-6)


def test_logistic_regression_of_three_classes_is_nearly_scikit_learns():
    """Ours penalises the intercepts as well."""
    x, y = IRIS
    ours = sklearn.LogisticRegression(tol=1e-8).fit(x, y)
    theirs = linear_model.LogisticRegression(max_iter=10000, tol=1e-8).fit(x, y)
    assert ours.coef_.shape == (3, 4) and ours.intercept_.shape == (3,)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), rtol=0, atol=0.05)
    np.testing.assert_array_equal(ours.predict(x), theirs.predict(x))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_class_weights_are_scikit_learns():
    x, y = CANCER
    for weights in ("balanced", {0: 5.0, 1: 0.5}):
        ours = sklearn.LogisticRegression(class_weight=weights, max_iter=2000, tol=1e-9).fit(x, y)
        theirs = linear_model.LogisticRegression(class_weight=weights, max_iter=10000).fit(x, y)
        assert np.abs(ours.predict_proba(x) - theirs.predict_proba(x)).mean() < 0.01


def hinge(model, x, y, C):
    margin = np.where(y == 1, 1, -1) * model.decision_function(x)
    return 0.5 * np.sum(model.coef_**2) + C * np.maximum(1 - margin, 0).sum()


def test_linear_svc_reaches_scikit_learns_objective():
    x, y = CANCER
    ours = sklearn.LinearSVC(C=0.1).fit(x, y)
    theirs = svm.LinearSVC(C=0.1, loss="hinge", max_iter=100000).fit(x, y)
    assert hinge(ours, x, y, 0.1) < 1.02 * hinge(theirs, x, y, 0.1)


@pytest.mark.parametrize("estimator", [
    sklearn.SGDClassifier(learning_rate="adaptive", tol=1e-4, batch_size=8, max_iter=50, random_state=0),
    sklearn.SGDClassifier(loss="log_loss", learning_rate="adaptive", max_iter=50, random_state=0),
    sklearn.LinearSVC(max_iter=200),
    sklearn.MLPClassifier((16,), learning_rate_init=0.01, batch_size=16, max_iter=60, random_state=0)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifiers_of_three_classes_with_names(estimator):
    x, y = IRIS
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    train_x, test_x, train_y, test_y = train_test_split(x, names, random_state=0)
    estimator.fit(train_x, train_y)
    assert estimator.score(test_x, test_y) > 0.8
    assert list(estimator.classes_) == ["setosa", "versicolor", "virginica"] and estimator.n_features_in_ == 4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_perceptrons_have_scikit_learns_attributes_and_scores():
    x, y = DIABETES
    x, y = StandardScaler().fit_transform(x), (y - y.mean()) / y.std()
    options = dict(hidden_layer_sizes=(20, 10), learning_rate_init=0.01, max_iter=30, random_state=1)
    ours, theirs = (kind(**options).fit(x, y) for kind in (sklearn.MLPRegressor, neural_network.MLPRegressor))
    assert [weights.shape for weights in ours.coefs_] == [weights.shape for weights in theirs.coefs_]
    assert [values.shape for values in ours.intercepts_] == [values.shape for values in theirs.intercepts_]
    for name in ("n_layers_", "n_outputs_", "out_activation_", "n_features_in_"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.n_iter_ == len(ours.loss_curve_) and ours.best_loss_ == min(ours.loss_curve_)
    assert ours.score(x, y) > theirs.score(x, y) - 0.1


def test_one_worker_repeats_itself_and_more_agree():
    x, y = IRIS
    options = dict(hidden_layer_sizes=(8,), max_iter=5, tol=None, random_state=3)
    first, again, shared = (sklearn.MLPClassifier(**options, workers=workers).fit(x, y) for workers in (1, 1, 3))
    np.testing.assert_array_equal(first.coefs_[0], again.coefs_[0])
    np.testing.assert_allclose(first.coefs_[0], shared.coefs_[0], rtol=1e-3, atol=1e-5)


def test_workers_may_come_from_elsewhere():
    address = f"unix://motley-sklearn-test-{os.getpid()}"
    x, y = IRIS
    token = "sixteen characters"

    def join():
        motley.Job("worker", server=address, token=token).run()

    threads = [threading.Thread(target=join) for _ in range(2)]
    for thread in threads:
        thread.start()
    options = {"listen": address, "token": token, "min_workers": 2}
    found = sklearn.LogisticRegression(workers=2, job_options=options, max_iter=50, tol=None).fit(x, y)
    for thread in threads:
        thread.join()
    assert found.score(x, y) > 0.9


def test_a_model_that_has_not_settled_warns():
    with pytest.warns(ConvergenceWarning, match=r"LogisticRegression ended after 3 epochs \(max_iter\)"):
        sklearn.LogisticRegression(max_iter=3).fit(*IRIS)


def test_estimators_are_used_as_any_other(capsys):
    x, y = IRIS
    search = GridSearchCV(make_pipeline(StandardScaler(), sklearn.Ridge(max_iter=20, tol=None)),
                          {"ridge__alpha": [0.1, 10.0]}, cv=2).fit(x, y)
    assert search.best_params_["ridge__alpha"] in (0.1, 10.0)
    fitted = sklearn.SGDClassifier(max_iter=3, tol=None, verbose=1).fit(x, y)
    assert "[motley] epoch 3: loss" in capsys.readouterr().out
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(x), fitted.predict(x))
    with pytest.raises(NotFittedError):
        clone(fitted).predict(x)


@pytest.mark.parametrize("estimator, text", [
    (sklearn.SGDClassifier(loss="huber"), "loss: one of hinge, log_loss is needed, not 'huber'"),
    (sklearn.SGDClassifier(learning_rate="optimal"), "learning_rate: one of constant, adaptive is needed"),
    (sklearn.MLPClassifier(activation="tanh"), "activation: one of relu is needed, not 'tanh'"),
    (sklearn.MLPClassifier(solver="lbfgs"), "solver: one of adam, sgd is needed"),
    (sklearn.MLPClassifier(hidden_layer_sizes=(0,)), "hidden_layer_sizes must be > 0"),
])
def test_values_that_motley_has_not_are_refused(estimator, text):
    with pytest.raises(ValueError) as failed:
        estimator.fit(*IRIS)
    assert text in str(failed.value)


def test_an_option_of_the_job_that_does_not_exist_is_named():
    with pytest.raises(TypeError, match="there is no option 'wokers'; did you mean 'workers'"):
        sklearn.Ridge(job_options={"wokers": 3}).fit(*DIABETES)
