# SPDX-License-Identifier: Apache-2.0
"""motley.ray.run on a Ray of one node, which ray_slow_test.py starts with an interpreter that has Ray. The programs are
a script that trains, the C example if it is built, and one that only pretends to train."""

import os
import pathlib
import subprocess
import textwrap

import pytest
import ray

import motley.ray

TRAINS = """
    import sys

    import numpy as np

    import motley
    from motley.environment import read_environment

    x = np.random.default_rng(3).normal(size=(400, 3)).astype(np.float32)
    y = x @ np.float32([1, 2, 3])

    def gradient(theta, samples):
        error = x[samples] @ theta - y[samples]
        return x[samples].T @ error, 0.5 * float(error @ error)

    trainer, environment = motley.Trainer(gradient, np.zeros(3)), read_environment()
    if environment.role == "worker":
        motley.Job("worker", trainer=trainer).run()
        sys.exit()
    job = motley.Job("server", trainer=trainer, sample_count=400, batch=100, steps=int(sys.argv[1]), learning_rate=0.3,
                     min_workers=int(sys.argv[2]), **environment.options)
    job.run()
    print(job.report["steps"], len(job.report["workers"]), np.round(job.parameters(), 3))
"""
EXAMPLE = pathlib.Path(os.environ.get("MOTLEY_BUILD", "")) / "example_trainer"
PRETENDS = """
    import os, pathlib, signal, sys, time
    folder = pathlib.Path(__file__).parent
    if os.environ["MOTLEY_ROLE"] == "server":
        (folder / "address").write_text("0.0.0.0:1")
        (folder / "address").rename(os.environ["MOTLEY_ADDRESS_FILE"])
        end = time.monotonic() + 60
        while not (folder / "end").exists() and time.monotonic() < end:
            time.sleep(0.01)
        sys.exit(int((folder / "end").read_text()))
    name = os.environ["MOTLEY_WORKER_NAME"]
    if not (folder / name).exists():
        (folder / name).write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / "end").write_text(sys.argv[1])
"""


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def script(folder, text):
    path = folder / "train.py"
    path.write_text(textwrap.dedent(text))
    return str(path)


@pytest.fixture
def pretends(tmp_path):
    return script(tmp_path, PRETENDS)


def test_a_script_trains(tmp_path, capfd):
    motley.ray.run([script(tmp_path, TRAINS), "60", "2"], workers=2)
    assert "60 2 [1. 2. 3.]" in capfd.readouterr().out


@pytest.mark.skipif(not EXAMPLE.exists(), reason="the example in C is not built (MOTLEY_BUILD)")
def test_a_program_in_c(capfd):
    motley.ray.run([str(EXAMPLE)], workers=2)
    assert "300 steps, 2 workers; weights found" in capfd.readouterr().out


def test_a_worker_that_is_killed_starts_again(pretends, capfd):
    motley.ray.run([pretends, "0"], workers=1, restarts=1)
    assert "worker 0 ended by signal 9; starting it again" in capfd.readouterr().err


def test_the_servers_exit_code_is_an_exception(pretends):
    with pytest.raises(subprocess.CalledProcessError) as failed:
        motley.ray.run([pretends, "3"], workers=1, restarts=1)
    assert failed.value.returncode == 3


def test_without_workers_the_server_is_stopped(pretends, capfd):
    with pytest.raises(subprocess.CalledProcessError) as failed:
        motley.ray.run([pretends, "0"])
    assert failed.value.returncode == -15
    assert "no worker is left" in capfd.readouterr().err
