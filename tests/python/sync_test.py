# SPDX-License-Identifier: Apache-2.0
"""All modes of synchronisation in motley.train, with what their reports say, and what does not fit them."""

import numpy as np
import pytest

import motley

MODES = ["bsp", "backup:1", "ssp:2", "dssp:1,3", "asp", "dana", "r2sp", "local:2", "local:3,1"]
WITHOUT_BARRIER = ["ssp:2", "dssp:1,3", "asp", "r2sp"]


def trained(problem, sync, **options):
    """A job of three workers, which must reduce the loss to a tenth, and its report."""
    given = {"workers": 3, "steps": 150, "batch": 40, "learning_rate": 0.05} | options
    job = motley.train(gradient=problem.gradient, parameters=np.zeros(5), samples=400, sync=sync, **given)
    start, end = (problem.gradient(theta, np.arange(400))[1] for theta in (np.zeros(5), job.parameters()))
    assert end < 0.1 * start
    assert job.report["steps"] == given["steps"]
    return job.report


@pytest.mark.parametrize("sync", MODES)
def test_each_mode_trains(problem, sync):
    report = trained(problem, sync)
    assert report["sync"] == sync
    assert ("staleness" in report) == (sync in WITHOUT_BARRIER or sync == "dana")
    assert report["learning"]["optimizer"] == ("nag" if sync == "dana" else "sgd")
    assert ("local" in report["learning"]) == sync.startswith("local")


def test_bsp_is_the_default(problem):
    assert trained(problem, None)["sync"] == "bsp"


@pytest.mark.parametrize("staleness", ["none", "rate", "gap"])
@pytest.mark.parametrize("sync", WITHOUT_BARRIER)
def test_old_gradients(problem, sync, staleness):
    report = trained(problem, sync, staleness=staleness)
    assert report["sync"] == sync and report["staleness"]["max"] >= report["staleness"]["mean"] >= 0


@pytest.mark.parametrize("given, rate, momentum", [
    ({}, 0.7, 0.9),
    ({"outer_rate": 1.0, "outer_momentum": 0.5}, 1.0, 0.5),
    ({"outer_rate": 1.0, "outer_momentum": 0}, 1.0, 0.9),  # 0 is the default, as in C.
    ({"outer_rate": 1.0, "outer_momentum": -1}, 1.0, 0.0),  # Below 0: none.
])
def test_updates_of_local_steps(problem, given, rate, momentum):
    for sync, steps, ahead in (("local:2", 2, None), ("local:3,1", 3, 1)):
        local = trained(problem, sync, **given)["learning"]["local"]
        assert local["steps"] == steps and local["batch"] == 40 and local.get("ahead") == ahead
        assert local["outer_rate"] == pytest.approx(rate) and local["outer_momentum"] == pytest.approx(momentum)


@pytest.mark.parametrize("options, message", [
    ({"sync": "asp", "code": "cyclic"}, "`sync` asp gives each worker updates of its own, which need no code: use "
                                        "`code` none, or `sync` bsp with code cyclic"),
    ({"sync": "dana", "optimizer": "adam"}, "`sync` dana keeps Nesterov's momentum for each worker, and other rules "
                                            "have no such form: use `optimizer` nag"),
    ({"sync": "local:2", "checkpoint": "runs"}, "a job with `sync` local:2 cannot be saved"),
    ({"sync": "ssp:2", "reduce": "direct"}, "with `sync` ssp:2 the server holds the parameters: use `reduce` star"),
    ({"sync": "bsp", "staleness": "gap"}, "`staleness` gap: gradients are never old if all workers share each update. "
                                          "Leave `staleness` out"),
    ({"sync": "dana", "staleness": "rate"}, "`staleness` rate: with `sync` dana the momenta look ahead instead"),
    ({"sync": "backup:3"}, "`sync` backup:3: of 3 workers at least one must answer"),
    ({"sync": "asp", "outer_rate": 0.5}, "`outer_rate`: it is for `sync` local:H"),
    ({"sync": "local:2", "outer_momentum": 1}, "`outer_momentum` 1: it must be below 1"),
    ({"sync": "local:2,2"}, "`sync` local:2,2: use one of bsp, backup:B, asp, dana, r2sp, dssp:LO,HI, ssp:S, local:H, "
                            "local:H,K, with whole numbers (B and H from 1 on, K below H)"),
])
def test_what_does_not_fit(problem, options, message):
    with pytest.raises(motley.InvalidArgument) as refused:
        trained(problem, **options)
    assert str(refused.value).startswith(message)
