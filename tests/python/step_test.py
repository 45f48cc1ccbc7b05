# SPDX-License-Identifier: Apache-2.0
"""The loop that the caller owns."""

import os
import select
import signal
import threading

import numpy as np
import pytest

import motley
from motley import StepKind


def compute(problem, step):
    for i, run in enumerate(step.runs):
        gradient, loss = problem.gradient(step.parameters, step.samples[run.first:run.first + run.count])
        for total, weight in zip(step.sums, run.weights):
            total += np.float32(weight) * gradient
        step.losses[i] += loss


def looped(problem, **changes):
    """A job without a trainer, and its loop."""
    loop = {name: changes.pop(name) for name in ("initialize", "apply", "show", "state_count") if name in changes}
    job = motley.Job(**problem.options(**changes))
    job.set_loop(len(problem.best), **loop)
    return job


@pytest.mark.parametrize("options", [{}, {"code": "cyclic", "tolerate": 1, "workers": 3}, {"code": "rs", "workers": 4}])
def test_a_loop_trains_as_a_trainer_does(problem, trainer, options):
    losses = []
    job = looped(problem, **options)
    job.set_events(lambda event: event.kind == motley.EventKind.STEP_APPLIED and losses.append(event.loss))
    job.start()
    for step in job.steps():
        with step:
            assert step.kind == StepKind.GRADIENT and step.seed == 7
            compute(problem, step)
            step.ready(0, len(step.parameters))
            assert step.partial(len(step.samples)) in (True, False)
            with pytest.raises(motley.InvalidArgument, match="no range of a sum"):
                step.ready(0, len(step.parameters) + 1)
    assert job.wait(10) and job.wait()
    expected = []
    motley.Job(trainer=trainer, events=lambda event: event.kind == motley.EventKind.STEP_APPLIED and expected.append(
        event.loss), **problem.options()).run()
    np.testing.assert_allclose(losses, expected, rtol=1e-3, atol=1e-9)


def test_the_loop_initializes_and_applies(problem):
    """Momentum of the caller's own, beside the library's."""
    seen, losses = [], []
    job = looped(problem, initialize=True, apply=True, state_count=5)
    job.start()
    for step in job.steps():
        with step:
            seen.append(step.kind)
            if step.kind == StepKind.INITIALIZE:
                step.new_parameters[:] = 1
            elif step.kind == StepKind.GRADIENT:
                compute(problem, step)
            else:
                step.state *= 0.5
                step.state += step.gradient
                step.new_parameters -= step.learning_rate * step.state
                losses.append(step.batch_loss)
                assert step.batch_weight == 100
    job.wait()
    other = motley.Job(trainer=motley.Trainer(problem.gradient, np.ones(5)), optimizer="momentum", momentum=0.5,
                       **problem.options())
    other.run()
    np.testing.assert_allclose(job.parameters(), other.parameters(), rtol=1e-4)
    assert seen[0] == StepKind.INITIALIZE and seen.count(StepKind.APPLY) == 60
    assert losses[0] > 1 and losses[-1] < 1e-6 * losses[0]  # The last ones may be 0.


def test_a_resumed_job_shows_the_loop_what_it_goes_on_with(problem, tmp_path):
    shown = []

    def run(**changes):
        job = looped(problem, initialize=True, apply=True, state_count=1, workers=1, **changes)
        job.start()
        for step in job.steps():
            with step:
                if step.kind == StepKind.INITIALIZE:
                    shown.append((step.step, step.new_parameters.copy(), step.state.tolist()))
                elif step.kind == StepKind.GRADIENT:
                    compute(problem, step)
                else:
                    step.state += 1
                    step.new_parameters -= step.learning_rate * step.gradient
        job.wait()
        return job.parameters()

    reached = run(steps=10, checkpoint=tmp_path / "kept")
    run(steps=12, resume=tmp_path / "kept")
    assert [step for step, _, _ in shown] == [0, 10] and shown[1][2] == [10.0]
    np.testing.assert_array_equal(shown[1][1], reached)


def test_a_trainer_applies_and_evaluates(problem):
    losses = []

    def apply(parameters, gradient, rate, state):
        state += gradient
        parameters -= rate * gradient

    def evaluate(theta):
        losses.append(float(np.abs(theta - problem.best).max()))
        return losses[-1]

    trainer = motley.Trainer(problem.gradient, np.zeros(5), apply=apply, state_count=5, evaluate=evaluate)
    job = motley.Job(trainer=trainer, evaluate_every="20", **problem.options())
    job.run()
    np.testing.assert_allclose(job.parameters(), problem.best, atol=1e-3)
    assert len(losses) >= 2 and losses[-1] < losses[0]


def test_several_threads_take_steps(problem):
    job = looped(problem, workers=3)
    job.start()

    def work():
        for step in job.steps():
            with step:
                compute(problem, step)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    job.wait()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(job.parameters(), problem.best, atol=1e-3)


def test_begin_times_out_and_the_descriptor_says_when_there_is_work(problem):
    job = looped(problem, steps=1, workers=1, allowed_steps=1)
    with pytest.raises(motley.Conflict):
        job.begin(0)
    job.start()
    readable, _, _ = select.select([job.descriptor()], [], [], 10)
    assert readable
    with job.begin(0) as step:
        compute(problem, step)
    while (end := job.begin()).kind != StepKind.END:
        end.end()
    assert end.kind == StepKind.END and job.wait()


def test_the_gate_the_rate_and_parameters_during_the_run(problem):
    job = looped(problem, steps=None, epochs=None, workers=1, allowed_steps=5)
    job.start()
    out = np.empty(5, np.float32)

    def work_until_paused(steps):
        while job.metrics().steps < steps:
            if (step := job.begin(0.1)) is not None:
                with step:
                    compute(problem, step)

    work_until_paused(5)
    assert job.begin(0.05) is None and job.copy_parameters(out) == 5
    before = out.copy()
    job.set_rate(1e-9)
    job.allow_steps(8)
    work_until_paused(8)
    assert job.copy_parameters(out) == 8
    np.testing.assert_allclose(out, before, rtol=1e-6)
    job.finish()
    for step in job.steps():
        step.cancel()
    assert job.wait() and job.report["steps"] == 8
    with pytest.raises(TypeError, match="float32"):
        job.copy_parameters(np.empty(5))


def test_groups_have_rates_of_their_own_and_the_loop_is_shown_versions(problem):
    """Two groups under momentum, whose rates change in the second half, beside NumPy."""
    job = looped(problem, show=True, optimizer="momentum", momentum=0.5, steps=6, allowed_steps=3, workers=1,
                 code="none")
    job.set_groups([motley.Group(2, 0.1), motley.Group(5, learning_rate=0.05, l2=0.01)])
    shown = []
    job.start()
    for step in job.steps():
        with step:
            if step.kind == StepKind.GRADIENT:
                compute(problem, step)
                continue
            assert step.kind == StepKind.SHOW and len(step.losses) == 3 == step.version - step.step
            shown.append((step.version, step.parameters.copy(), step.state.copy()))
            if step.version == 3:
                job.set_group_rates(3, [[0.2, 0.1], [0.01, 0.02]])
                job.allow_steps(6)
    job.wait()
    assert [version for version, _, _ in shown] == [3, 6]
    parameters, momentum = np.zeros(5), np.zeros(5)
    rates = [(0.1, 0.05)] * 3 + [(0.2, 0.1)] + [(0.01, 0.02)] * 2
    for update, (first, second) in enumerate(rates):
        samples = motley.batch_samples(update, samples=len(problem.x), batch=100, seed=7)
        gradient = problem.gradient(parameters.astype(np.float32), samples)[0] / len(samples)
        gradient = gradient + np.array([0, 0, 0.01, 0.01, 0.01]) * parameters
        momentum = 0.5 * momentum + gradient
        parameters = parameters - np.array([first] * 2 + [second] * 3) * momentum
    np.testing.assert_allclose(shown[1][1], parameters, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(shown[1][2], momentum, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(shown[1][1], job.parameters())


def test_groups_that_do_not_fit_are_refused(problem):
    job = looped(problem)
    with pytest.raises(ValueError, match="0 groups"):
        job.set_group_rates(0, [[0.1]])
    with pytest.raises(motley.InvalidArgument, match="group 1"):
        job.set_groups([motley.Group(2, 0.1), motley.Group(1, 0.1)])
    job.set_groups([motley.Group(2, 0.1), motley.Group(5, 0.1)])
    with pytest.raises(ValueError, match="2 groups"):
        job.set_group_rates(0, [0.1, 0.1])


def test_a_failed_step_ends_the_job(problem):
    job = looped(problem, workers=1)
    job.start()
    with pytest.raises(ZeroDivisionError):
        for step in job.steps():
            with step:
                raise ZeroDivisionError
    with pytest.raises(motley.Error):
        job.wait()


def test_ctrl_c_interrupts_begin_and_leaves_the_job(problem):
    job = looped(problem, workers=1)
    job.start()
    with job.begin() as step:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                assert job.begin(1) is None
        compute(problem, step)
    assert not job.wait(0)
    job.stop()
    for step in job.steps():
        step.cancel()
    with pytest.raises(motley.Cancelled):
        job.wait()


def test_an_exception_of_the_events_arrives_in_wait(problem):
    def events(event):
        if event.kind == motley.EventKind.STEP_APPLIED and event.step == 3:
            raise ZeroDivisionError("mine")

    job = looped(problem)
    job.set_events(events)
    job.start()
    for step in job.steps():
        with step:
            compute(problem, step)
    with pytest.raises(ZeroDivisionError, match="mine"):
        job.wait()


def test_the_samples_of_a_step_are_those_of_the_job(problem):
    seen = {}
    job = looped(problem, steps=10, workers=1, code="none", seed=5)
    job.start()
    for step in job.steps():
        with step:
            seen.setdefault(step.step, []).extend(step.samples)
            compute(problem, step)
    job.wait()
    assert {number: sorted(samples) for number, samples in seen.items()} == {
        number: motley.batch_samples(number, samples=400, batch=100, seed=5).tolist() for number in range(10)}
