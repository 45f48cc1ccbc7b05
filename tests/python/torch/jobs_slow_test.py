# SPDX-License-Identifier: Apache-2.0
"""More codes and optimizers in jobs of several processes, beside a plain one."""

import signal

import pytest
from digits_jobs import check_code, check_optimizer, check_resumed, check_signal

# The error of decoding grows with the code's coefficients.
CODES = [("heterogeneous", 1, 1e-5), ("cyclic", 1, 1e-5), ("rs", 1, 1e-5), ("adaptive", None, 1e-6),
         ("auto", None, 1e-5)]


@pytest.mark.parametrize("code, tolerate, error", CODES)
def test_one_worker_pauses_and_one_dies(code, tolerate, error):
    check_code(code, tolerate, error)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "rmsprop"])
def test_optimizers(optimizer):
    check_optimizer(optimizer)


@pytest.mark.parametrize("schedule", ["cosine", "epochs"])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_rates_where_workers_hold_the_vector(optimizer, schedule):
    check_optimizer(optimizer, {"reduce": "direct"}, schedule=schedule)


@pytest.mark.parametrize("code, workers, partitions, chunk", [
    ("none", 1, 16, 3), ("none", 3, 16, 3), ("none", 4, 64, None), ("repetition", 3, 5, 1000), ("repetition", 3, 16, 3),
    ("heterogeneous", 3, 16, 3), ("adaptive", 3, 16, 5), ("auto", 3, 64, None)])
def test_dropout_is_that_of_a_plain_process(code, workers, partitions, chunk):
    check_optimizer("momentum", {"code": code}, workers=workers, error=1e-5, dropout=0.3, partitions=partitions,
                    chunk=chunk)


def test_momentum_that_follows_a_schedule_runs_at_the_server():
    check_optimizer("momentum", schedule="cycle")


def test_the_scripts_own_step_on_demand():
    check_optimizer("adamw", {"server_step": True})


@pytest.mark.parametrize("who, number", [("server", signal.SIGTERM), ("worker", signal.SIGINT)])
def test_signals_end_a_process(who, number):
    check_signal(who, number)


@pytest.mark.parametrize("optimizer", ["momentum", "rmsprop"])
def test_a_killed_job_goes_on_from_its_checkpoint(optimizer, tmp_path):
    check_resumed(optimizer, tmp_path)


def test_a_killed_job_goes_on_from_its_checkpoint_by_the_scripts_own_step(tmp_path):
    check_resumed("adamw", tmp_path, server_step=True)
