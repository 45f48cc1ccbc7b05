# SPDX-License-Identifier: Apache-2.0
"""Job: options, events, results, and how a run ends."""

import gc
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import motley
from motley import EventKind


def test_a_job_trains_and_reports(problem, trainer):
    events = []
    job = motley.Job(trainer=trainer, events=events.append, **problem.options())
    job.run()
    np.testing.assert_allclose(job.parameters(), problem.best, atol=1e-3)
    assert job.report["steps"] == 60 and job.failure == ""
    assert job.metrics().steps == 60 and job.metrics().workers == 2 and job.metrics().learning_rate == 0.3
    assert job.worker(1).state == motley.WorkerState.UP and job.worker(1).name == "worker-1"
    steps = [event for event in events if event.kind == EventKind.STEP_APPLIED]
    assert [event.step for event in steps] == list(range(60))
    assert steps[0].loss > 1 > steps[-1].loss and steps[-1].error == 0
    joined = [event.text for event in events if event.kind == EventKind.WORKER_JOINED]
    assert sorted(joined) == ["worker-0", "worker-1"]
    assert all(first.time <= second.time for first, second in zip(events, events[1:]))


@pytest.mark.parametrize("options, error, text", [
    ({"wrkers": 2}, TypeError, "did you mean 'workers'?"),
    ({"nonsense": 2}, TypeError, "help(motley.JobOptions)"),
    ({"workers": "2"}, TypeError, "workers: a whole number is needed, not str"),
    ({"workers": 2.0}, TypeError, "workers: a whole number is needed, not float"),
    ({"workers": -1}, ValueError, "workers: a number from 0 to 4294967295 is needed, not -1"),
    ({"learning_rate": "fast"}, TypeError, "learning_rate: a number is needed, not str"),
    ({"code": 3}, TypeError, "code: a text is needed, not int"),
    ({"code": "a\0b"}, ValueError, "null character"),
    ({"worker_command": "python"}, TypeError, "worker_command: a list of texts is needed"),
    ({"code": "fancy"}, motley.InvalidArgument, "`code` 'fancy' is not known"),
    ({"role": "boss"}, ValueError, "role: one of all_in_one, server, worker, shard_server is needed"),
    ({"data": 5}, TypeError, "data: a path or (features, labels) is needed, not int"),
    ({"data": (np.zeros((3, 2)), np.zeros(4))}, ValueError, "arrays of the shapes (3, 2), (4,)"),
    ({"data": (np.zeros((3, 2)), np.array(["a", "b", "c"]))}, TypeError, "arrays of numbers are needed"),
])
def test_wrong_options_are_named(options, error, text):
    with pytest.raises(error) as failed:
        motley.Job(**options)
    assert text in str(failed.value)


def test_numpy_numbers_paths_and_none_are_options(tmp_path, problem, trainer):
    options = problem.options(steps=np.int64(5), learning_rate=np.float32(0.3), checkpoint=tmp_path / "kept",
                              model=None)
    job = motley.Job(trainer=trainer, **options)
    job.run()
    assert job.report["steps"] == 5
    assert motley.checkpoint.list_checkpoints(tmp_path / "kept")[0]["step"] == 5


def test_defaults_that_are_given_on_purpose_count_as_given():
    from motley.job import c_options

    made, _ = c_options("server", {"seed": 7, "tolerate": 0, "l2": 0, "workers": 3})
    assert (made.role, made.given, made.workers, made.tolerate) == (1, 1 + 2 + 4, 3, 0)
    made, _ = c_options("all_in_one", {"seed": None})
    assert (made.role, made.given, made.seed, made.tolerate) == (0, 0, 7, 1)


class Mine(Exception):
    pass


def test_an_exception_of_the_gradient_arrives_as_it_was(problem):
    raised = Mine("the third call")

    def gradient(theta, indices):
        raise raised

    job = motley.Job(trainer=motley.Trainer(gradient, np.zeros(5)), **problem.options())
    with pytest.raises(Mine) as failed:
        job.run()
    assert failed.value is raised
    assert "gradient" in [frame.name for frame in failed.traceback]


def test_an_exception_of_the_events_ends_the_job(problem, trainer):
    def events(event):
        if event.kind == EventKind.STEP_APPLIED and event.step == 7:
            raise Mine(event.step)

    job = motley.Job(trainer=trainer, events=events, **problem.options(steps=10**6))
    with pytest.raises(Mine, match="7"):
        job.run()
    assert 8 <= job.metrics().steps < 1000


def test_an_exception_of_hold_arrives(problem):
    def hold(partition, first, count):
        raise Mine((first, count))

    job = motley.Job(trainer=motley.Trainer(problem.gradient, np.zeros(5), hold=hold), **problem.options())
    with pytest.raises(Mine):
        job.run()


def test_stop_ends_the_run_and_keeps_the_newest_version(problem, trainer):
    def events(event):
        if event.kind == EventKind.STEP_APPLIED and event.step == 20:
            job.stop()

    job = motley.Job(trainer=trainer, events=events, **problem.options(steps=10**6))
    with pytest.raises(motley.Cancelled, match="stopped after 21 of 1000000 steps"):
        job.run()
    assert job.parameters().shape == (5,)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals need the main thread")
def test_ctrl_c_ends_the_run(problem, trainer):
    def events(event):
        if event.kind == EventKind.STEP_APPLIED and event.step == 20:
            os.kill(os.getpid(), signal.SIGINT)

    job = motley.Job(trainer=trainer, events=events, **problem.options(steps=10**9))
    with pytest.raises(KeyboardInterrupt):
        job.run()
    assert job.metrics().steps >= 21


def test_an_exception_of_another_signals_handler_ends_the_run(problem, trainer):
    def handler(number, frame):
        raise Mine("terminated")

    def events(event):
        if event.kind == EventKind.STEP_APPLIED and event.step == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(Mine, match="terminated"):
            motley.Job(trainer=trainer, events=events, **problem.options(steps=10**9)).run()
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_go_on_during_a_run(problem, trainer):
    seen = []

    def watch():
        while not seen:
            seen.append(job.metrics().steps)

    def events(event):
        if event.kind == EventKind.STEP_APPLIED and event.step == 3:
            watcher.start()
            watcher.join()

    job = motley.Job(trainer=trainer, events=events, **problem.options())
    watcher = threading.Thread(target=watch)
    job.run()
    assert seen == [4]


def test_results_wait_for_the_end(problem, trainer):
    job = motley.Job(trainer=trainer, **problem.options())
    for ask in (job.parameters, lambda: job.report, lambda: job.save("never.safetensors")):
        with pytest.raises(motley.Conflict, match="before motley_job_run has returned"):
            ask()
    job.run()
    with pytest.raises(motley.Conflict, match="a job runs once"):
        job.run()


def test_a_closed_job_says_so(problem, trainer):
    with motley.Job(trainer=trainer, **problem.options()) as job:
        job.run()
    job.close()
    with pytest.raises(motley.Conflict, match="closed"):
        job.metrics()


def test_a_running_job_is_not_closed(problem, trainer):
    failures = []

    def events(event):
        if event.kind == EventKind.STEP_APPLIED and event.step == 3:
            with pytest.raises(motley.Conflict) as failed:
                job.close()
            failures.append(str(failed.value))

    job = motley.Job(trainer=trainer, events=events, **problem.options(steps=10**6))
    with pytest.raises(motley.Cancelled):
        job.run()
    assert "can be closed when run() has returned" in failures[0]
    job.close()


def test_jobs_are_freed(problem, trainer):
    for _ in range(20):
        motley.Job(trainer=trainer, **problem.options())
    gc.collect()
    alive = [item for item in gc.get_objects() if isinstance(item, motley.Job)]
    assert len(alive) < 20


def test_the_kind_of_a_failure(tmp_path):
    draw = np.random.default_rng(2)
    x, y = draw.normal(size=(200, 3)), draw.normal(size=200)
    diverges = motley.Job(data=(x, y), model="linear", optimizer="sgd", learning_rate=1e20, epochs=20)
    with pytest.raises(motley.Error):
        diverges.run()
    assert diverges.failure == "diverged"
    (tmp_path / "saved").mkdir()
    resumes = motley.Job(data=(x, y), model="linear", resume=str(tmp_path / "saved"))
    with pytest.raises(motley.Error):
        resumes.run()
    assert resumes.failure == "checkpoint"


def test_a_built_in_model_trains_on_arrays_with_a_test_part(tmp_path):
    draw = np.random.default_rng(1)
    x = draw.normal(size=(600, 4))
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    job = motley.Job(data=(x[:500], y[:500], x[500:], y[500:]), model="softmax", epochs=20)
    job.run()
    assert job.report["test"]["count"] == 100 and job.report["test_accuracy"] > 0.95
    assert job.parameters().shape == ((4 + 1) * 2,)
    job.save(tmp_path / "model.safetensors")
    assert motley.evaluate(tmp_path / "model.safetensors", (x, y)).accuracy > 0.95


WORKER = """
import sys, motley
sys.path.insert(0, {here!r})
from conftest import LeastSquares
problem = LeastSquares()
motley.Job("worker", trainer=motley.Trainer(problem.gradient, problem.best)).run()
"""


def test_workers_may_be_processes_of_this_interpreter(problem, trainer):
    command = [sys.executable, "-c", WORKER.format(here=os.path.dirname(__file__))]
    job = motley.Job(trainer=trainer, worker_command=command, **problem.options())
    job.run()
    np.testing.assert_allclose(job.parameters(), problem.best, atol=1e-3)


def test_a_server_and_its_workers_meet(problem, trainer):
    token = "sixteen characters"
    workers = []

    def join(address):
        motley.Job("worker", trainer=trainer, server=address, token=token).run()

    def events(event):
        if event.kind == EventKind.LISTENING:
            for _ in range(2):
                workers.append(threading.Thread(target=join, args=[event.text]))
                workers[-1].start()

    options = problem.options(workers=2, min_workers=2, token=token, listen="127.0.0.1:0")
    server = motley.Job("server", trainer=trainer, events=events, **options)
    server.run()
    for worker in workers:
        worker.join()
    np.testing.assert_allclose(server.parameters(), problem.best, atol=1e-3)


UNFINISHED = """
import sys, motley, numpy
sys.path.insert(0, {here!r})
from conftest import LeastSquares
problem = LeastSquares()
job = motley.Job(trainer=motley.Trainer(problem.gradient, problem.best), events=lambda event: None, sample_count=400,
                 steps=10**9)
job.start()
while job.metrics().steps < 10:
    job.wait(0.01)
print("left")
"""


def test_a_program_may_end_while_its_job_runs():
    done = subprocess.run([sys.executable, "-c", UNFINISHED.format(here=os.path.dirname(__file__))], text=True,
                          capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")


def test_a_worker_without_a_server_is_refused(trainer):
    with pytest.raises(motley.InvalidArgument, match="a worker needs `server`"):
        motley.Job("worker", trainer=trainer).run()
