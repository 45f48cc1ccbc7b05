# SPDX-License-Identifier: Apache-2.0
"""The option sync of loops: which modes they run, and what the others say, wherever the script runs."""

import pytest
import torch
from digits_jobs import SCRIPT, STEPS_PER_EPOCH
from loops import BATCH, data, network, run
from processes import Processes

import motley
import motley.torch

ROLES = {"plain": {}, "server": {"MOTLEY_ROLE": "server", "MOTLEY_WORKERS": "2"},
         "worker": {"MOTLEY_ROLE": "worker", "MOTLEY_SERVER": "127.0.0.1:1"}}


def made(**options):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return motley.torch.loader(data(), model, optimizer, batch_size=BATCH, **options), optimizer


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("sync", ["asp", "dana", "r2sp", "ssp:2", "dssp:1,3", "local:4", "local:4,2", "backup"])
def test_other_modes_are_refused(sync, role, monkeypatch):
    for name, value in ROLES[role].items():
        monkeypatch.setenv(name, value)
    with pytest.raises(motley.torch.Refused) as refused:
        made(sync=sync)
    message = str(refused.value)
    assert message.startswith(f"sync={sync!r}: ") and "each worker makes updates of its own" in message
    assert "backup:B" in message and "motley.train" in message
    assert "allowed_steps" not in message and "groups" not in message


@pytest.mark.parametrize("options", [{"sync": "bsp"}, {"sync": "backup:1"}, {"sync": "backup:9"},
                                     {"code": "repetition", "tolerate": 9}])
def test_a_plain_process_has_every_answer(options):
    """It does not know the number of workers, so no number of missing ones is too large."""
    losses = []
    for given in ({}, options):
        loader, optimizer = made(**given)
        run(loader, optimizer, epochs=2)
        losses.append(loader.losses)
    assert len(losses[0]) == 6 and losses[1] == losses[0]


def test_more_missing_workers_than_there_are():
    with pytest.raises(motley.InvalidArgument, match="`sync` backup:2: of 2 workers at least one must answer"):
        made(sync="backup:2", workers=2)


def test_steps_end_without_the_last_answer():
    with Processes(SCRIPT, {"epochs": 6, "sync": "backup:1"}, 3) as job:
        found = job.result()
    assert found["step"] == len(found["losses"]) == 6 * STEPS_PER_EPOCH
    assert sum(found["losses"][-10:]) < 0.5 * sum(found["losses"][:10])
    assert found["right"] > 0.8
