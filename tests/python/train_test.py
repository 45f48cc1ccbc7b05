# SPDX-License-Identifier: Apache-2.0
"""motley.train, and what a gradient function may return."""

import numpy as np
import pytest

import motley


def test_a_gradient_trains_parameters_of_any_shape():
    draw = np.random.default_rng(2)
    x, best = draw.normal(size=(300, 3)), np.array([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]])
    y = x @ best

    def gradient(theta, indices):
        assert theta.shape == (3, 2) and theta.dtype == np.float32 and not theta.flags.writeable
        assert indices.dtype == np.int64 and not indices.flags.writeable
        error = x[indices] @ theta - y[indices]
        return x[indices].T @ error, 0.5 * np.sum(error**2)  # float64; the library sums in float32

    job = motley.train(gradient=gradient, parameters=np.ones((3, 2)), samples=300, epochs=60, batch=100, workers=3,
                       learning_rate=0.3)
    assert job.parameters().shape == (3, 2)
    np.testing.assert_allclose(job.parameters(), best, atol=1e-3)


def test_steps_do_not_depend_on_the_workers(problem):
    """The losses of each step are those of one worker, although three share it and a code hides one."""
    curves = []
    for options in ({"workers": 1}, {"workers": 3, "code": "cyclic", "tolerate": 1},
                    {"workers": 3, "code": "adaptive"}):
        losses = []
        motley.train(gradient=problem.gradient, parameters=np.zeros(5), samples=400, steps=30, batch=64,
                     events=lambda event: event.kind == 9 and losses.append(event.loss), **options)
        curves.append(losses)
    np.testing.assert_allclose(curves[1], curves[0], rtol=1e-4)
    np.testing.assert_allclose(curves[2], curves[0], rtol=1e-5)


def test_a_third_value_is_the_weight_of_the_samples():
    """The mean of numbers with weights 1, 2, ..., 10 is their weighted mean."""
    values, weights = np.arange(10.0), np.arange(1.0, 11.0)

    def gradient(theta, indices):
        error = theta[0] - values[indices]
        return np.array([weights[indices] @ error]), 0.5 * weights[indices] @ error**2, weights[indices].sum()

    job = motley.train(gradient=gradient, parameters=[0.0], samples=10, batch=10, steps=100, learning_rate=0.5)
    np.testing.assert_allclose(job.parameters(), [np.average(values, weights=weights)], rtol=1e-5)


@pytest.mark.parametrize("result, error, text", [
    (lambda theta: theta, TypeError, "must return (gradient_sum, loss_sum)"),
    (lambda theta: (theta, 1.0, 1.0, 1.0), TypeError, "must return (gradient_sum, loss_sum)"),
    (lambda theta: (theta[:2], 1.0), ValueError, "the gradient has the shape (2,), and the parameters (3,)"),
    (lambda theta: (theta, "loss"), ValueError, "could not convert"),
])
def test_a_wrong_result_is_named(result, error, text):
    with pytest.raises(error) as failed:
        motley.train(gradient=lambda theta, indices: result(theta), parameters=np.zeros(3), samples=10)
    assert text in str(failed.value)


def test_pieces_of_at_most_chunk_samples(problem):
    sizes = []

    def gradient(theta, indices):
        sizes.append(len(indices))
        return problem.gradient(theta, indices)

    job = motley.train(gradient=gradient, parameters=np.zeros(5), samples=400, chunk=32, steps=60, batch=100,
                       learning_rate=0.3, workers=1)
    assert max(sizes) == 32
    np.testing.assert_allclose(job.parameters(), problem.best, atol=1e-3)


def test_hold_announces_the_samples(problem):
    held = []

    def hold(partition, first, count):
        held.append((first, count))

    motley.train(gradient=problem.gradient, parameters=np.zeros(5), samples=400, hold=hold, steps=5, workers=1)
    assert sum(count for _, count in held) == 400


def test_drop_lets_go_of_what_was_held(problem):
    said = []
    motley.train(gradient=problem.gradient, parameters=np.zeros(5), samples=400, steps=5, workers=1,
                 hold=lambda *held: said.append(("hold", *held)), drop=lambda *held: said.append(("drop", *held)))
    held = [what[1:] for what in said if what[0] == "hold"]
    assert len(held) > 0
    assert sorted(held) == sorted(what[1:] for what in said[len(held):])
    assert {what[0] for what in said[len(held):]} == {"drop"}


def test_an_exception_of_drop_arrives(problem):
    def drop(partition, first, count):
        raise LookupError("it was never loaded")

    with pytest.raises(LookupError, match="never loaded"):
        motley.train(gradient=problem.gradient, parameters=np.zeros(5), samples=400, steps=5, workers=1,
                     hold=lambda *held: None, drop=drop)
    with pytest.raises(ValueError, match="so give `hold`, too"):
        motley.Trainer(problem.gradient, np.zeros(5), drop=drop)


@pytest.mark.parametrize("chunk", [None, 10])
def test_a_gradient_over_data(problem, chunk):
    def gradient(theta, batch):
        assert batch.features.shape == (len(batch), 5) and batch.row_begin is None
        np.testing.assert_array_equal(batch.features, problem.x[batch.indices])
        error = batch.features @ theta - batch.labels
        return batch.features.T @ error, 0.5 * error @ error

    job = motley.train(gradient=gradient, parameters=np.zeros(5), data=(problem.x, problem.y), steps=60, batch=100,
                       learning_rate=0.3, chunk=chunk, split=None)
    np.testing.assert_allclose(job.parameters(), problem.best, atol=1e-3)


@pytest.mark.parametrize("chunk", [None, 3])
def test_a_gradient_over_sparse_data(tmp_path, chunk):
    """Row i has the entries i and i + 1, so that each row differs."""
    (tmp_path / "rows.svm").write_text("".join(f"{i} {i + 1}:{i + 1} {i + 2}:1\n" for i in range(20)))
    seen = {}

    def gradient(theta, batch):
        for row, label in enumerate(batch.labels):
            entries = slice(batch.row_begin[row], batch.row_begin[row + 1])
            seen[int(label)] = list(zip(batch.columns[entries].tolist(), batch.features[entries].tolist()))
        return np.zeros_like(theta), 0.0

    motley.train(gradient=gradient, parameters=np.zeros(21), data=tmp_path / "rows.svm", epochs=1, batch=20,
                 chunk=chunk)
    assert seen == {i: [(i, i + 1.0), (i + 1, 1.0)] for i in range(20)}


def test_a_built_in_model_on_a_table(digits):
    job = motley.train(data=digits, model="softmax", epochs=5)
    assert job.report["test_accuracy"] > 0.9


@pytest.mark.parametrize("arguments, text", [
    ({}, "either `data` or `gradient` is needed"),
    ({"gradient": len}, "`parameters` are needed too"),
    ({"gradient": len, "parameters": [0.0]}, "either `samples`, their number, or `data` is needed"),
    ({"gradient": len, "parameters": [0.0], "samples": 3, "data": "x"}, "either `samples`"),
    ({"parameters": [0.0], "data": "x"}, "need `gradient`"),
    ({"gradient": 5, "parameters": [0.0], "samples": 3}, "gradient: a function is needed, not int"),
])
def test_arguments_that_do_not_fit(arguments, text):
    with pytest.raises(TypeError) as failed:
        motley.train(**arguments)
    assert text in str(failed.value)


def test_a_trainer_needs_parameters_and_a_positive_chunk():
    with pytest.raises(ValueError, match="at least one"):
        motley.Trainer(len, [])
    with pytest.raises(ValueError, match="chunk"):
        motley.Trainer(len, [0.0], chunk=0)
