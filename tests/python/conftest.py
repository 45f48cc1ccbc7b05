# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share."""

import pathlib

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def digits():
    """A table of 1797 images of digits."""
    return str(ROOT / "examples/data/digits.csv.gz")


class LeastSquares:
    """Samples whose best parameters are known, and the gradient over them."""

    def __init__(self, count=400, size=5):
        draw = np.random.default_rng(3)
        self.x = draw.normal(size=(count, size)).astype(np.float32)
        self.best = np.arange(1, size + 1, dtype=np.float32)
        self.y = self.x @ self.best

    def gradient(self, theta, indices):
        error = self.x[indices] @ theta - self.y[indices]
        return self.x[indices].T @ error, 0.5 * float(error @ error)

    def options(self, **changes):
        return dict(sample_count=len(self.x), steps=60, batch=100, learning_rate=0.3, workers=2, audit=-1) | changes


@pytest.fixture
def problem():
    return LeastSquares()


@pytest.fixture
def trainer(problem):
    import motley

    return motley.Trainer(problem.gradient, np.zeros(len(problem.best)))
