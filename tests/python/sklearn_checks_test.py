# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's own conformance checks of every estimator. None is excepted.

Few iterations keep the checks quick; sklearn_test.py compares results.
"""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from motley import sklearn

ESTIMATORS = [sklearn.LogisticRegression(max_iter=100), sklearn.LinearSVC(max_iter=60),
              sklearn.SGDClassifier(max_iter=20), sklearn.Ridge(max_iter=100), sklearn.MLPClassifier(max_iter=60),
              sklearn.MLPRegressor(max_iter=60)]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
