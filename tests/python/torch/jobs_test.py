# SPDX-License-Identifier: Apache-2.0
"""Jobs of several processes beside a plain one: the same losses in every step, whatever happens to the workers."""

import pathlib
import signal

import pytest
from digits_jobs import SCRIPT, check, check_code, check_optimizer, check_resumed, check_saved, check_signal
from processes import Processes, run_plain

DROPOUT = [(1, {}), (3, {}), (3, {"code": "repetition", "tolerate": 1})]
TOKENS_SCRIPT = pathlib.Path(__file__).with_name("tokens_script.py")


@pytest.mark.parametrize("code, tolerate", [("none", None), ("repetition", 1)])
def test_one_worker_pauses_and_one_dies(code, tolerate):
    check_code(code, tolerate, 1e-6)


def test_an_optimizer_with_groups():
    check_optimizer("nesterov")


def test_rates_of_groups_where_workers_hold_the_vector():
    check_optimizer("adamw", {"reduce": "direct"}, schedule="steps")


def test_clipping_where_workers_hold_the_vector():
    check_optimizer("nesterov", {"reduce": "direct"}, clip_norm=0.5)


def test_groups_where_shard_servers_hold_the_vector():
    check_optimizer("adamw", {"reduce": "sharded:2"}, shard_servers=2, schedule="steps")


def test_parameters_in_bfloat16():
    check_optimizer("momentum", bf16=True, error=0.02)


@pytest.mark.parametrize("workers, options", DROPOUT)
def test_dropout_is_that_of_a_plain_process(workers, options):
    check_optimizer("adamw", options, workers=workers, error=1e-5, dropout=0.3, partitions=16)


def test_a_worker_that_holds_a_part_of_the_vector_dies():
    with Processes(SCRIPT, {"optimizer": "adam", "epochs": 10, "code": "none", "reduce": "direct"}, 3) as job:
        job.wait_for("epoch 1")
        job.workers[0].kill()
        found = job.result()
    check(found, "adam", 10)


def test_parameters_that_the_script_changes_are_refused():
    with Processes(SCRIPT, {"optimizer": "adam", "epochs": 3, "code": "none", "spoils": True}, 1) as job:
        _, errors = job.server.communicate(timeout=60)
        assert job.server.returncode == 1
        assert "the optimizer's state were changed between two epochs" in errors and "server_step=True" in errors


def test_checkpoints_belong_to_the_way_of_updating(tmp_path):
    given = {"optimizer": "adamw", "epochs": 2, "code": "none", "checkpoint": str(tmp_path), "server_step": True}
    with Processes(SCRIPT, given, 1) as job:
        job.result()
    del given["server_step"]
    with Processes(SCRIPT, given | {"resume": str(tmp_path), "epochs": 3}, 1) as job:
        _, errors = job.server.communicate(timeout=60)
        assert job.server.returncode == 1
        assert "this job uses the library's adamw" in errors and "server_step=True" in errors


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


@pytest.mark.parametrize("who, number", [("server", signal.SIGINT), ("worker", signal.SIGTERM)])
def test_signals_end_a_process(who, number):
    check_signal(who, number)


@pytest.mark.parametrize("options", [{}, {"reduce": "direct"}])
def test_a_killed_job_goes_on_from_its_checkpoint(tmp_path, options):
    check_resumed("adamw", tmp_path, **options)


def test_a_job_that_resumes_keeps_the_masks_of_its_partitions(tmp_path):
    check_resumed("adamw", tmp_path, masks=(("dropout", 0.3), ("partitions", 16)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_a_signal_ends_saves_its_newest_version(number, tmp_path):
    check_saved(number, tmp_path)


def test_means_over_tokens_are_those_of_one_process():
    given = {"epochs": 3, "code": "none"}
    wanted = run_plain(TOKENS_SCRIPT, given)
    with Processes(TOKENS_SCRIPT, given, 4) as job:
        found = job.result()
    assert len(found["losses"]) == 24
    assert max(abs(own - other) / other for own, other in zip(found["losses"], wanted["losses"])) <= 1e-6
    assert wanted["of_parts"] > 0.01  # The mean of the parts' means is another.
