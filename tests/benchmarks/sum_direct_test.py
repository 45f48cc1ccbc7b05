#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums by motley-sum --reduce direct, and groups of collectives. Each process compares each sum with the right one."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True


def run(*words, reduce="direct"):
    command = [os.environ["MOTLEY_SUM"], "--repetitions", "2", "--warmups", "1", "--reduce", reduce, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


class Direct(unittest.TestCase):
    def sums(self, *words):
        """Runs with shared memory, and over TCP."""
        for transport in ((), ("--tcp",)):
            done = run(*words, *transport)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(json.loads(done.stdout)["best_ms"], 0)

    def refused(self, reason, *words, reduce="direct"):
        done = run("--megabytes", "0.01", *words, reduce=reduce)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(reason, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_equal_shares(self):
        self.sums("--workers", "4", "--megabytes", "3")
        self.sums("--workers", "2", "--megabytes", "1.000004")  # An odd number of floats.

    def test_unequal_shares(self):
        self.sums("--workers", "4", "--megabytes", "3", "--shares", "0,3,0.5,1")
        self.sums("--workers", "3", "--megabytes", "3", "--shares", "0,0,1")

    def test_shares_that_fit_the_links(self):
        self.sums("--workers", "4", "--megabytes", "3", "--links", "500,500,50,50")

    def test_vectors_with_fewer_pairs_than_members(self):
        self.sums("--workers", "16", "--megabytes", "0.001", "--shares", ",".join(["1"] * 15 + ["1000"]))

    def test_one_worker(self):
        self.sums("--workers", "1", "--megabytes", "0.5")

    def test_spare_servers_own_ranges_of_the_workers_vectors(self):
        self.sums("--workers", "3", "--spares", "2", "--megabytes", "2")
        self.sums("--workers", "2", "--spares", "1", "--megabytes", "1", "--shares", "0,0,1")
        self.sums("--workers", "1", "--spares", "1", "--megabytes", "1")
        self.sums("--workers", "4", "--spares", "1", "--megabytes", "2", "--links", "100,100,100,100,50")

    def test_rounded_vectors(self):
        for wire in ("float32", "bf16", "int8"):
            self.sums("--workers", "4", "--megabytes", "3", "--wire", wire)
            self.sums("--workers", "2", "--megabytes", "1.000004", "--wire", wire)
            self.sums("--workers", "3", "--spares", "2", "--megabytes", "2", "--shares", "0,3,0.5,1,1", "--wire", wire)
            self.sums("--workers", "1", "--megabytes", "0.5", "--wire", wire)
        self.sums("--workers", "16", "--megabytes", "0.001", "--wire", "int8")

    def test_shares_that_fit_no_member_are_refused(self):
        self.refused("3 numbers, and there are 4 members", "--workers", "4", "--shares", "1,1,1")
        self.refused("1 numbers, and there are 3 members", "--workers", "2", "--spares", "1", "--links", "5")
        self.refused("not 0", "--workers", "2", "--shares", "0,0")
        self.refused("-1 not in range", "--workers", "2", "--shares", "1,-1")
        self.refused("inf not in range", "--workers", "2", "--shares", "1,inf")
        self.refused("0 not in range", "--workers", "2", "--links", "1,0")
        self.refused("--shares", "--workers", "2", "--links", "1,1", "--shares", "1,1")
        self.refused("need --reduce hierarchical", "--workers", "2", "--groups", "latency")
        self.refused("no member with a vector", "--members", "a,b", "--spares", "2")

    def test_only_groups_that_fit_the_members_are_used(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as racks:
            racks.write("# Racks\n0 2\n3 1 4  # upstairs\n")
            racks.flush()
            done = run("--workers", "5", "--megabytes", "1", "--topology", racks.name, reduce="hierarchical")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.refused("there is no member 4", "--workers", "4", "--topology", racks.name, reduce="hierarchical")
            self.refused("need --reduce hierarchical", "--workers", "5", "--topology", racks.name, reduce="ring")
        self.refused("cannot read it", "--workers", "5", "--topology", "/nowhere/racks", reduce="hierarchical")
        self.refused("member 1 is in none", "--workers", "2", "--groups", "0", reduce="hierarchical")

    def test_only_direct_sums_have_shares(self):
        self.refused("need --reduce direct", "--workers", "2", "--shares", "1,1", reduce="ring")
        self.refused("need --reduce direct", "--workers", "2", "--wire", "int8", reduce="ring")
        self.refused("int4 not in {float32,bf16,int8}", "--workers", "2", "--wire", "int4")
        self.refused("write one of ring", "--workers", "2", reduce="indirect")


if __name__ == "__main__":
    unittest.main()
