# SPDX-License-Identifier: Apache-2.0
"""Jobs of several processes beside a plain one: the same losses in every step, whatever happens to the workers."""

import pathlib
import signal

import pytest
from digits_jobs import SCRIPT, check, check_code, check_optimizer, plain
from processes import Processes, run_plain

TOKENS_SCRIPT = pathlib.Path(__file__).with_name("tokens_script.py")


@pytest.mark.parametrize("code, tolerate", [("none", None), ("repetition", 1)])
def test_one_worker_pauses_and_one_dies(code, tolerate):
    check_code(code, tolerate, 1e-6)


@pytest.mark.parametrize("optimizer", ["nesterov", "adamw"])
def test_optimizers(optimizer):
    check_optimizer(optimizer)


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
    with Processes(SCRIPT, {"epochs": 10, "code": "none"}, 1) as job:
        job.wait_for("epoch 1")
        job.workers[0].kill()
        job.add_worker("late")
        found = job.result()
        assert job.workers[1].wait(30) == 0
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
    assert 0 < len(found["losses"]) < 120 and found["step"] == 120
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
