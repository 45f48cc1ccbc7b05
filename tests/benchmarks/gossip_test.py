#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The averages of benchmarks/sync/gossip.py."""

import pathlib
import sys
import unittest

try:
    import numpy
except ImportError:
    numpy = None

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "benchmarks" / "sync"))


@unittest.skipIf(numpy is None, "this Python has no NumPy")
class Gossip(unittest.TestCase):
    def setUp(self):
        import gossip
        self.gossip = gossip

    def test_each_has_one_partner(self):
        for n in (1, 2, 7, 8):
            other = self.gossip.partners(numpy.random.default_rng(n), n)
            self.assertEqual(list(other[other]), list(range(n)))
            self.assertEqual(sum(other == numpy.arange(n)), n % 2)

    def test_the_gradient_is_that_of_differences(self):
        chance = numpy.random.default_rng(1)
        network = self.gossip.Network(5)
        vectors = numpy.stack([network.first(chance) for _ in range(2)])
        samples, labels = chance.normal(size=(2, 3, 5)), chance.integers(0, 10, (2, 3))
        gradient = network.gradient(vectors, samples, labels)
        for worker, at in ((0, 7), (1, 330), (1, 400), (0, vectors.shape[1] - 1)):
            moved = [vectors[worker].copy(), vectors[worker].copy()]
            moved[0][at] -= 1e-5
            moved[1][at] += 1e-5
            low, high = (network.judge(one, samples[worker], labels[worker])[1] for one in moved)
            self.assertAlmostEqual(gradient[worker][at], (high - low) / 2e-5, places=6)

    def test_two_workers_are_a_pair_and_all(self):
        data = self.gossip.load()
        results = [self.gossip.train(data, system, 2, numpy.array([0.5, 1.5]), 4, 0.03, (1.0, 0.0), 3, 1)
                   for system in ("pairs", "all")]
        self.assertAlmostEqual(results[0][1], results[1][1], places=9)


if __name__ == "__main__":
    unittest.main()
