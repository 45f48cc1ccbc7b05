# SPDX-License-Identifier: Apache-2.0
"""Jobs of digits_script.py beside a plain process."""

import functools
import pathlib
import signal

from processes import Processes, run_plain

SCRIPT = pathlib.Path(__file__).with_name("digits_script.py")
STEPS_PER_EPOCH = 10


@functools.cache
def plain(optimizer, epochs, options=()):
    return run_plain(SCRIPT, {"optimizer": optimizer, "epochs": epochs, **dict(options)})


def check(found, optimizer, epochs, error=1e-6, **options):
    """The losses of all steps are those of a plain process with the same options, and so is what is left."""
    wanted = plain(optimizer, epochs, tuple(options.items()))
    assert len(found["losses"]) == len(wanted["losses"]) == epochs * STEPS_PER_EPOCH
    worst = max(abs(own - other) / other for own, other in zip(found["losses"], wanted["losses"]))
    assert worst <= error
    assert abs(found["norm"] - wanted["norm"]) <= 10 * error * wanted["norm"]
    assert abs(found["right"] - wanted["right"]) <= 0.01
    if found["state"]:  # An optimizer that runs here without checkpoints keeps it, too.
        assert found["state"].keys() == wanted["state"].keys()
        for name, norm in wanted["state"].items():
            assert abs(found["state"][name] - norm) <= 100 * error * norm


def check_code(code, tolerate, error):
    """200 steps, where one worker of four pauses for good, and one is killed."""
    given = {"optimizer": "momentum", "epochs": 20, "code": code, "tolerate": tolerate}
    with Processes(SCRIPT, given, 4) as job:
        job.wait_for("epoch 3")
        job.pause(1)
        job.wait_for("epoch 6")
        job.workers[2].kill()
        found = job.result()
        job.go_on(1)
        assert [job.workers[number].wait(30) for number in (0, 3)] == [0, 0]
    check(found, "momentum", 20, error)


def check_optimizer(optimizer, job_options=(), *, workers=2, shard_servers=0, error=1e-6, **options):
    """`options` are those of the plain process as well."""
    given = {"optimizer": optimizer, "epochs": 4, "code": "none", **options, **dict(job_options)}
    with Processes(SCRIPT, given, workers) as job:
        for _ in range(shard_servers):
            job.add_shard_server()
        found = job.result()
        assert [process.wait(30) for process in job.workers + job.shard_servers] == [0] * (workers + shard_servers)
    check(found, optimizer, 4, error, **options)


def check_signal(who, number):
    """The process ends, and the job goes on without a worker, or ends for all."""
    with Processes(SCRIPT, {"epochs": 1000, "code": "none"}, 2) as job:
        job.wait_for("epoch 1")
        process = job.server if who == "server" else job.workers[0]
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        if number == signal.SIGINT:
            assert "KeyboardInterrupt" in errors and process.returncode != 0
        else:
            assert process.returncode == 128 + signal.SIGTERM
        if who == "worker":
            job.wait_for("epoch 4")
        else:
            assert all(worker.wait(30) == 0 for worker in job.workers)


def check_resumed(optimizer, folder, masks=(), **options):
    """A job whose server is killed continues from its checkpoint, with the optimizer's state. `masks` are options of
    the plain process as well."""
    given = {"optimizer": optimizer, "epochs": 12, "code": "none", "checkpoint": str(folder), "checkpoint_every": 5,
             **dict(masks), **options}
    with Processes(SCRIPT, {**given, "saved_by": 6}, 2) as job:
        job.wait_for("epoch 6")
        job.server.kill()
    given.pop("partitions", None)  # The checkpoint has them.
    check_rest(given, optimizer, masks)


def check_saved(number, folder):
    """A server that a signal ends saves the newest version."""
    given = {"optimizer": "adam", "epochs": 12, "code": "none", "checkpoint": str(folder), "checkpoint_every": 1000}
    with Processes(SCRIPT, given, 2) as job:
        job.wait_for("epoch 6")
        job.server.send_signal(number)
        job.server.wait(30)
    check_rest(given, "adam")


def check_rest(given, optimizer, masks=()):
    """A job that resumes does what is left of the steps of a plain process."""
    given["resume"] = given["checkpoint"]
    with Processes(SCRIPT, given, 2) as job:
        found = job.result()
    wanted = plain(optimizer, 12, masks)
    assert 0 < len(found["losses"]) < 120 and found["step"] == 120
    left = wanted["losses"][-len(found["losses"]):]
    assert max(abs(own - other) / other for own, other in zip(found["losses"], left)) <= (1e-5 if masks else 1e-6)
