# SPDX-License-Identifier: Apache-2.0
"""Jobs of several processes beside a plain one: the same losses in every step, whatever happens to the workers."""

import functools
import pathlib
import signal

import pytest
from processes import Processes, run_plain

SCRIPT = pathlib.Path(__file__).with_name("digits_script.py")
TOKENS_SCRIPT = pathlib.Path(__file__).with_name("tokens_script.py")
STEPS_PER_EPOCH = 10


@functools.cache
def plain(optimizer, epochs):
    return run_plain(SCRIPT, {"optimizer": optimizer, "epochs": epochs})


def check(found, optimizer, epochs, error=1e-6):
    wanted = plain(optimizer, epochs)
    assert len(found["losses"]) == len(wanted["losses"]) == epochs * STEPS_PER_EPOCH
    worst = max(abs(own - other) / other for own, other in zip(found["losses"], wanted["losses"]))
    assert worst <= error
    assert abs(found["norm"] - wanted["norm"]) <= 10 * error * wanted["norm"]
    assert abs(found["right"] - wanted["right"]) <= 0.01


CODES = {"none": 1e-6, "repetition": 1e-6, "heterogeneous": 1e-5, "adaptive": 1e-6, "cyclic": 1e-5, "auto": 1e-5}
SLOW = [pytest.param(code, marks=pytest.mark.slow) for code in CODES if code not in ("none", "repetition")]


@pytest.mark.parametrize("code", ["none", "repetition", *SLOW])
def test_one_worker_pauses_and_one_dies(code):
    tolerate = None if code in ("none", "adaptive", "auto") else 1
    given = {"optimizer": "momentum", "epochs": 20, "code": code, "tolerate": tolerate}
    with Processes(SCRIPT, given, 4) as job:
        job.wait_for("epoch 3")
        job.pause(1)
        job.wait_for("epoch 6")
        job.workers[2].kill()
        found = job.result()
        job.go_on(1)
        assert [job.workers[number].wait(30) for number in (0, 3)] == [0, 0]
    check(found, "momentum", 20, CODES[code])


@pytest.mark.parametrize("optimizer", ["nesterov", pytest.param("adam", marks=pytest.mark.slow), "adamw", "rmsprop"])
def test_optimizers(optimizer):
    with Processes(SCRIPT, {"optimizer": optimizer, "epochs": 4, "code": "none"}, 2) as job:
        found = job.result()
        assert [worker.wait(30) for worker in job.workers] == [0, 0]
    check(found, optimizer, 4)


def test_an_exception_ends_its_worker_alone():
    given = {"epochs": 4, "code": "none", "fails": "worker-1", "fail_at": 12}
    with Processes(SCRIPT, given, 3) as job:
        found = job.result()
        _, errors = job.workers[1].communicate(timeout=30)
        assert job.workers[1].returncode == 1
        assert "ZeroDivisionError: the loop's body failed" in errors and "digits_script.py" in errors
        assert [job.workers[number].wait(30) for number in (0, 2)] == [0, 0]
    check(found, "momentum", 4)


def test_a_worker_may_join_late():
    with Processes(SCRIPT, {"epochs": 10, "code": "none"}, 2) as job:
        job.wait_for("epoch 1")
        job.workers[0].kill()
        job.add_worker("late")
        found = job.result()
        assert job.workers[2].wait(30) == 0
    check(found, "momentum", 10)


@pytest.mark.parametrize("who", ["server", "worker"])
def test_control_c_ends_a_process(who):
    with Processes(SCRIPT, {"epochs": 1000, "code": "none"}, 2) as job:
        job.wait_for("epoch 1")
        process = job.server if who == "server" else job.workers[0]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert "KeyboardInterrupt" in errors and process.returncode != 0
        if who == "worker":
            job.wait_for("epoch 4")


@pytest.mark.parametrize("optimizer", ["momentum", "adamw"])
def test_a_killed_job_goes_on_from_its_checkpoint(optimizer, tmp_path):
    given = {"optimizer": optimizer, "epochs": 12, "code": "none", "checkpoint": str(tmp_path), "checkpoint_every": 5}
    with Processes(SCRIPT, given, 2) as job:
        job.wait_for("epoch 6")
        job.server.kill()
    given["resume"] = given["checkpoint"]
    with Processes(SCRIPT, given, 2) as job:
        found = job.result()
    wanted = plain(optimizer, 12)
    assert 50 <= 120 - len(found["losses"]) and found["step"] == 120
    left = wanted["losses"][-len(found["losses"]):]
    assert max(abs(own - other) / other for own, other in zip(found["losses"], left)) <= 1e-6


def test_means_over_tokens_are_those_of_one_process():
    given = {"epochs": 3, "code": "none"}
    wanted = run_plain(TOKENS_SCRIPT, given)
    with Processes(TOKENS_SCRIPT, given, 4) as job:
        found = job.result()
    assert len(found["losses"]) == 24
    assert max(abs(own - other) / other for own, other in zip(found["losses"], wanted["losses"])) <= 1e-6
    assert wanted["of_parts"] > 0.01  # The mean of the parts' means is another.
