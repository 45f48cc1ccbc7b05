# SPDX-License-Identifier: Apache-2.0
"""motley.ray.run on a Ray of two nodes, which are processes of this machine. ray_slow_test.py starts it."""

import pathlib

import pytest
import ray
from ray.cluster_utils import Cluster
from ray_cases import TRAINS, script

import motley.ray


@pytest.fixture(scope="module", autouse=True)
def nodes():
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    cluster.add_node(num_cpus=2)
    ray.init(address=cluster.address, log_to_driver=False)
    cluster.wait_for_nodes()
    yield {node["NodeID"] for node in ray.nodes()}
    ray.shutdown()
    cluster.shutdown()


def noting():
    """The actor, which also writes the number of its node to a file with the worker's name."""
    class Noting(motley.ray._Worker):
        def run(self, command, folder, variables):
            (pathlib.Path(folder) / variables["MOTLEY_WORKER_NAME"]).write_text(
                ray.get_runtime_context().get_node_id())
            return super().run(command, folder, variables)

    return Noting


@pytest.mark.parametrize("workers, started", [(None, 2), (3, 3)])
def test_workers_are_on_all_nodes_in_turn(workers, started, nodes, tmp_path, monkeypatch, capfd):
    assert len(nodes) == 2
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(motley.ray, "_Worker", noting())
    motley.ray.run([script(tmp_path, TRAINS), "60", str(started)], workers=workers)
    assert f"60 {started} [1. 2. 3.]" in capfd.readouterr().out
    found = [(tmp_path / f"ray-{number}").read_text() for number in range(started)]
    assert set(found) == nodes and found[0] != found[1] and found[2:] == found[:started - 2]
