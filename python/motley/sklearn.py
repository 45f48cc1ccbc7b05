# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's estimators over Motley's built-in models.

Names, parameters and fitted attributes are scikit-learn's where Motley has the same thing. Three parameters are
Motley's own: `workers` is the number of workers in this process, 1 by default; `job_options` is a dict of further
options of motley.Job, and {"listen": "0.0.0.0:7000"} accepts workers from other machines; `verbose` prints notices.
With one worker the same `random_state` gives the same bits.

Differences: features are dense; the intercept is always fitted, and L2 includes it (after the features were
centred); `fit` takes no sample_weight. docs/reference/python.md lists the parameters.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .errors import Cancelled
from .event import Event, EventKind
from .job import Job

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # scikit-learn before 1.6

    def validate_data(estimator: Any, **arguments: Any) -> Any:
        X, y = arguments.pop("X"), arguments.pop("y", "no_validation")
        return estimator._validate_data(X, y, **arguments)


Array: TypeAlias = npt.NDArray[Any]
_SMALLEST_DEVIATION = 1e-12


class _Progress:
    """Keeps the mean loss of each epoch, and stops the job after `patience` epochs that changed nothing.

    An epoch of a stochastic method changes nothing if its loss is not below the best one by `tol`. An epoch with all
    samples (`whole`) changes nothing if its loss is within `tol` of the last one: losses are without L2, and may rise.
    """

    def __init__(self, tol: float | None, patience: int, whole: bool, verbose: bool) -> None:
        self.curve: list[float] = []
        self.stopped = False
        self._tol, self._patience, self._whole, self._verbose = tol, patience, whole, verbose
        self._best, self._without = np.inf, 0
        self._sum, self._steps = 0.0, 0
        self.job: Any = None

    def __call__(self, event: Event) -> None:
        if self._verbose and event.kind in (EventKind.NOTICE, EventKind.WARNING):
            print(f"[motley] {event.text}")
        if event.kind != EventKind.STEP_APPLIED:
            return
        self._sum += event.loss
        self._steps += 1
        if self._steps < self.job.metrics().steps_per_epoch:
            return
        loss, self._sum, self._steps = self._sum / self._steps, 0.0, 0
        self.curve.append(loss)
        if self._verbose:
            print(f"[motley] epoch {len(self.curve)}: loss {loss:.6g}")
        if self._tol is None:
            return
        changed = abs(loss - self._best) > self._tol if self._whole else loss < self._best - self._tol
        self._without = 0 if changed else self._without + 1
        self._best = loss if self._whole else min(loss, self._best)
        if self._without >= self._patience:
            self.stopped = True
            self.job.stop()


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What all estimators share: one job on arrays."""

    def _check(self, X: Any, y: Any) -> tuple[Array, Array]:
        X, y = validate_data(self, X=X, y=y, dtype=np.float64, y_numeric=isinstance(self, RegressorMixin))
        return X, column_or_1d(y, warn=True)

    def _features(self, X: Any) -> Array:
        check_is_fitted(self)
        found: Array = validate_data(self, X=X, reset=False, dtype=np.float64)
        return found

    def _train(self, X: Array, y: Array, *, tol: float | None, patience: int,
               **options: Any) -> tuple[Array, _Progress]:
        """The parameters of the trained model. The job tests on one sample, so that it trains on all."""
        progress = _Progress(tol, patience, options["batch"] == len(X), bool(self.verbose))
        chosen = {"scale": "none", "audit": -1, "validation": -1, "patience": -1, "workers": self.workers,
                  "seed": int(check_random_state(self.random_state).randint(2**31 - 1)), **options,
                  **(self.job_options or {})}
        with Job("server" if "listen" in chosen else "all_in_one", data=(X, y, X[:1], y[:1]), events=progress,
                 **chosen) as job:
            progress.job = job
            try:
                job.run()
            except Cancelled:
                if not progress.stopped:
                    raise
            found = job.parameters()
            progress.job = None
        if tol is not None and not progress.stopped:
            warnings.warn(f"{type(self).__name__} ended after {len(progress.curve)} epochs (max_iter) before its loss "
                          "settled", ConvergenceWarning, stacklevel=3)
        return found.astype(np.float64), progress


class _Classifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    def _labels(self, y: Array) -> Array:
        """The number of each sample's class, as float32."""
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__} needs samples of at least 2 classes; the data has 1 class: "
                             f"{self.classes_[0]!r}")
        return codes.astype(np.float32)

    def predict(self, X: Any) -> Array:
        """The class of each sample."""
        scores = self._scores(self._features(X))
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
        found: Array = self.classes_[best]
        return found

    def _scores(self, X: Array) -> Array:
        raise NotImplementedError


class _LinearMixin:
    """One layer, in features that are centred and divided by one number; the result is in the caller's units."""

    coef_: Array
    intercept_: Any
    n_iter_: Any
    loss_curve_: list[float]

    def _scores(self, X: Array) -> Array:
        scores: Array = X @ self.coef_.T + self.intercept_
        return scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores

    @staticmethod
    def _centred(X: Array) -> tuple[Array, Array, float]:
        """Centred features whose covariance has the largest eigenvalue 1, their means, and the divisor."""
        means = X.mean(axis=0)
        centred = X - means
        largest = float(np.linalg.eigvalsh(centred.T @ centred / len(X))[-1]) if X.shape[1] <= 1000 else float(
            centred.var(axis=0).sum())
        scale = np.sqrt(max(largest, _SMALLEST_DEVIATION**2))
        return centred / scale, means, scale

    @staticmethod
    def _in_units(parameters: Array, outputs: int, means: Array, scale: float) -> tuple[Array, Array]:
        """Coefficients (outputs x features) and intercepts of a trained layer, in units of the features."""
        weights = parameters[: len(means) * outputs].reshape(len(means), outputs).T / scale
        return weights, parameters[len(means) * outputs:] - weights @ means


class _LinearClassifier(_LinearMixin, _Classifier):
    def decision_function(self, X: Any) -> Array:
        """Scores: N x classes, or those of the second of two classes."""
        return self._scores(self._features(X))

    def _fit_binary(self, X: Array, codes: Array,
                    job: Callable[[Array, Array, float], tuple[Array, _Progress]]) -> None:
        """One job for two classes, else one for each class against the others."""
        centred, means, scale = self._centred(X)
        targets = [codes] if len(self.classes_) == 2 else [
            (codes == k).astype(np.float32) for k in range(len(self.classes_))]
        found = [job(centred, target, scale) for target in targets]
        parts = [self._in_units(parameters, 1, means, scale) for parameters, _ in found]
        self.coef_ = np.concatenate([weights for weights, _ in parts])
        self.intercept_ = np.concatenate([intercepts for _, intercepts in parts])
        curves = [progress.curve for _, progress in found]
        self.n_iter_ = max(map(len, curves))
        # The mean over the jobs; those that have ended keep their last loss.
        self.loss_curve_ = [float(np.mean([curve[min(i, len(curve) - 1)] for curve in curves]))
                            for i in range(self.n_iter_)]


class LogisticRegression(_LinearClassifier):
    """Logistic regression; multinomial with more than two classes. The objective is scikit-learn's.

    Each step takes all samples, by Nesterov's method. Fitted: coef_, intercept_, classes_, n_iter_ (a list of one
    number), loss_curve_, n_features_in_.
    """

    def __init__(self, *, C: float = 1.0, tol: float = 1e-7, max_iter: int = 1000, class_weight: Any = None,
                 random_state: Any = None, verbose: int = 0, workers: int = 1,
                 job_options: dict[str, Any] | None = None) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
        self.workers = workers
        self.job_options = job_options

    def fit(self, X: Any, y: Any) -> LogisticRegression:
        """Trains on N x D features and N labels of any type."""
        X, y = self._check(X, y)
        codes = self._labels(y)
        centred, means, scale = self._centred(X)
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        l2 = 1 / (self.C * weights[codes.astype(int)].sum() * scale**2)
        curvature = 0.25 if outputs == 1 else 0.5
        parameters, progress = self._train(
            centred, codes, model="logistic" if outputs == 1 else "softmax", task="classify", tol=self.tol, patience=10,
            batch=len(X), steps=self.max_iter, optimizer="nag", l2=l2, learning_rate=1 / (curvature + l2),
            class_weights=",".join(f"{k}={weight:.9g}" for k, weight in enumerate(weights)))
        self.coef_, self.intercept_ = self._in_units(parameters, outputs, means, scale)
        self.loss_curve_ = progress.curve
        self.n_iter_ = np.array([len(progress.curve)], np.int32)
        return self

    def predict_proba(self, X: Any) -> Array:
        """N x classes probabilities."""
        return _probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of predict_proba."""
        found: Array = np.log(self.predict_proba(X))
        return found


def _probabilities(scores: Array) -> Array:
    """Softmax of N x K scores, or of (0, score)."""
    if scores.ndim == 1:
        scores = np.stack([-scores / 2, scores / 2], axis=1)
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Array = scores / scores.sum(axis=1, keepdims=True)
    return found


class LinearSVC(_LinearClassifier):
    """A linear support vector machine with hinge loss, one for each class against the others.

    Each step takes all samples; the rate falls to 0 over max_iter steps. Fitted: coef_, intercept_, classes_, n_iter_,
    loss_curve_, n_features_in_.
    """

    def __init__(self, *, C: float = 1.0, max_iter: int = 1000, random_state: Any = None, verbose: int = 0,
                 workers: int = 1, job_options: dict[str, Any] | None = None) -> None:
        self.C = C
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.workers = workers
        self.job_options = job_options

    def fit(self, X: Any, y: Any) -> LinearSVC:
        """Trains on N x D features and N labels of any type."""
        X, y = self._check(X, y)

        def job(centred: Array, target: Array, scale: float) -> tuple[Array, _Progress]:
            return self._train(centred, target, model="hinge", task="classify", tol=None, patience=1, batch=len(X),
                               steps=self.max_iter, optimizer="adam", schedule="cosine", learning_rate=0.1,
                               l2=1 / (self.C * len(X) * scale**2))

        self._fit_binary(X, self._labels(y), job)
        return self


class SGDClassifier(_LinearClassifier):
    """A linear model by stochastic gradient descent, one for each class against the others.

    loss: "hinge" or "log_loss". learning_rate: "constant", or "adaptive", which divides eta0 by 5 when the loss has
    not fallen by tol for n_iter_no_change epochs. eta0 is in units of features whose covariance has the largest
    eigenvalue 1. Fitted: coef_, intercept_, classes_, n_iter_, loss_curve_,
    n_features_in_.
    """

    def __init__(self, loss: str = "hinge", *, alpha: float = 0.0001, max_iter: int = 1000, tol: float | None = 1e-3,
                 n_iter_no_change: int = 5, learning_rate: str = "constant", eta0: float = 1.0, batch_size: int = 32,
                 random_state: Any = None, verbose: int = 0, workers: int = 1,
                 job_options: dict[str, Any] | None = None) -> None:
        self.loss = loss
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.batch_size = batch_size
        self.random_state = random_state
        self.verbose = verbose
        self.workers = workers
        self.job_options = job_options

    def fit(self, X: Any, y: Any) -> SGDClassifier:
        """Trains on N x D features and N labels of any type."""
        models = {"hinge": "hinge", "log_loss": "logistic"}
        _check_word("loss", self.loss, models)
        schedules = {"constant": "constant", "adaptive": f"plateau:patience={self.n_iter_no_change},factor=0.2,times=8"}
        _check_word("learning_rate", self.learning_rate, schedules)
        X, y = self._check(X, y)

        def job(centred: Array, target: Array, scale: float) -> tuple[Array, _Progress]:
            return self._train(centred, target, model=models[self.loss], task="classify", tol=self.tol,
                               patience=self.n_iter_no_change, batch=min(self.batch_size, len(X)), optimizer="sgd",
                               epochs=self.max_iter, schedule=schedules[self.learning_rate], learning_rate=self.eta0,
                               l2=self.alpha / scale**2)

        self._fit_binary(X, self._labels(y), job)
        return self


class Ridge(RegressorMixin, _LinearMixin, _Estimator):  # type: ignore[misc]
    """Linear least squares with L2. The objective is scikit-learn's; y has one column.

    Each step takes all samples, by Nesterov's method. Fitted: coef_, intercept_, n_iter_, loss_curve_, n_features_in_.
    """

    def __init__(self, alpha: float = 1.0, *, max_iter: int = 1000, tol: float = 1e-7, random_state: Any = None,
                 verbose: int = 0, workers: int = 1, job_options: dict[str, Any] | None = None) -> None:
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.workers = workers
        self.job_options = job_options

    def fit(self, X: Any, y: Any) -> Ridge:
        """Trains on N x D features and N numbers."""
        X, y = self._check(X, y)
        centred, means, scale = self._centred(X)
        mean, deviation = float(y.mean()), max(float(y.std()), _SMALLEST_DEVIATION)
        l2 = self.alpha / (len(X) * scale**2)
        parameters, progress = self._train(
            centred, (y - mean) / deviation, model="linear", task="regress", tol=self.tol, patience=10, batch=len(X),
            steps=self.max_iter, optimizer="nag", l2=l2, learning_rate=1 / (1 + l2))
        weights, intercepts = self._in_units(parameters * deviation, 1, means, scale)
        self.coef_, self.intercept_ = weights[0], float(intercepts[0] + mean)
        self.loss_curve_ = [loss * deviation**2 for loss in progress.curve]
        self.n_iter_ = len(progress.curve)
        return self

    def predict(self, X: Any) -> Array:
        """The number of each sample."""
        return self._scores(self._features(X))


class _Perceptron(_Estimator):
    """What MLPClassifier and MLPRegressor share. scikit-learn's meanings, and these values alone:

    activation "relu"; solver "adam" or "sgd"; learning_rate "constant"; alpha counts intercepts, too. Fitted: coefs_,
    intercepts_, loss_, best_loss_, loss_curve_, n_iter_, n_layers_, n_outputs_, out_activation_, n_features_in_.
    """

    def __init__(self, hidden_layer_sizes: Any = (100,), activation: str = "relu", *, solver: str = "adam",
                 alpha: float = 0.0001, batch_size: int | str = "auto", learning_rate: str = "constant",
                 learning_rate_init: float = 0.001, max_iter: int = 200, random_state: Any = None,
                 tol: float | None = 1e-4, verbose: bool = False, momentum: float = 0.9,
                 nesterovs_momentum: bool = True, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-8,
                 n_iter_no_change: int = 10, workers: int = 1, job_options: dict[str, Any] | None = None) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.workers = workers
        self.job_options = job_options

    def _fit_layers(self, X: Array, y: Array, task: str, outputs: int) -> None:
        _check_word("activation", self.activation, ("relu",))
        _check_word("solver", self.solver, ("adam", "sgd"))
        _check_word("learning_rate", self.learning_rate, ("constant",))
        hidden = [int(size) for size in np.atleast_1d(self.hidden_layer_sizes)]
        if any(size < 1 for size in hidden):
            raise ValueError(f"hidden_layer_sizes must be > 0, not {self.hidden_layer_sizes}")
        if self.solver == "adam":
            how = {"optimizer": "adam", "beta1": self.beta_1, "beta2": self.beta_2, "epsilon": self.epsilon}
        elif self.momentum == 0:
            how = {"optimizer": "sgd"}
        else:
            how = {"optimizer": "nag" if self.nesterovs_momentum else "momentum", "momentum": self.momentum}
        batch = 200 if self.batch_size == "auto" else int(self.batch_size)
        parameters, progress = self._train(
            X, y, model="mlp:" + ",".join(map(str, hidden)), task=task, tol=self.tol, patience=self.n_iter_no_change,
            batch=min(batch, len(X)), epochs=self.max_iter, l2=self.alpha / len(X),
            learning_rate=self.learning_rate_init, **how)
        self.coefs_, self.intercepts_ = [], []
        at, sizes = 0, [X.shape[1], *hidden, outputs]
        for inputs, width in zip(sizes, sizes[1:]):
            self.coefs_.append(parameters[at:at + inputs * width].reshape(inputs, width))
            at += inputs * width
            self.intercepts_.append(parameters[at:at + width])
            at += width
        self.loss_curve_ = progress.curve
        self.loss_, self.best_loss_ = progress.curve[-1], min(progress.curve)
        self.n_iter_, self.n_layers_, self.n_outputs_ = len(progress.curve), len(sizes), outputs
        self.out_activation_ = "softmax" if task == "classify" else "identity"

    def _scores(self, X: Array) -> Array:
        for weights, intercepts in zip(self.coefs_[:-1], self.intercepts_[:-1]):
            X = np.maximum(X @ weights + intercepts, 0)
        found: Array = X @ self.coefs_[-1] + self.intercepts_[-1]
        return found


class MLPClassifier(_Perceptron, _Classifier):
    __doc__ = f"A perceptron with hidden layers for classes. {_Perceptron.__doc__}"

    def fit(self, X: Any, y: Any) -> MLPClassifier:
        """Trains on N x D features and N labels of any type."""
        X, y = self._check(X, y)
        codes = self._labels(y)
        self._fit_layers(X, codes, "classify", len(self.classes_))
        return self

    def predict_proba(self, X: Any) -> Array:
        """N x classes probabilities."""
        return _probabilities(self._scores(self._features(X)))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of predict_proba."""
        found: Array = np.log(self.predict_proba(X))
        return found


class MLPRegressor(RegressorMixin, _Perceptron):  # type: ignore[misc]
    __doc__ = f"A perceptron with hidden layers for real numbers. {_Perceptron.__doc__}"

    def fit(self, X: Any, y: Any) -> MLPRegressor:
        """Trains on N x D features and N numbers."""
        X, y = self._check(X, y)
        self._fit_layers(X, y, "regress", 1)
        return self

    def predict(self, X: Any) -> Array:
        """The number of each sample."""
        return self._scores(self._features(X))[:, 0]


def _check_word(name: str, value: Any, possible: Any) -> None:
    if value not in possible:
        raise ValueError(f"{name}: one of {', '.join(possible)} is needed, not {value!r}")
