#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the program on array files, and on data that memory has no room for."""

import array
import random
import struct
import sys
import unittest

from program import ProgramTest


def write_npy(path, descr, shape, blocks):
    """An NPY file, version 1.0; `blocks` are its bytes."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for block in blocks:
            file.write(block)


def write_clouds(folder, rows, features, classes=4, seed=3):
    """X.npy (float32) and Y.npy (int64) of clouds around one centre for each class."""
    draw = random.Random(seed)
    centres = [[draw.gauss(0, 1) for _ in range(features)] for _ in range(classes)]
    noise = [draw.gauss(0, 0.5) for _ in range(4096)]

    def row(number):
        at = number * 31
        return [c + noise[(at + i) % 4096] for i, c in enumerate(centres[number % classes])]

    known = [array.array("f", row(number)).tobytes() for number in range(256 * classes)]
    write_npy(folder / "X.npy", "<f4", (rows, features),
              (known[number % len(known)] for number in range(rows)))
    labels = array.array("q", (number % classes for number in range(rows)))
    write_npy(folder / "Y.npy", "<i8", (rows,), [labels.tobytes()])
    return f"{folder / 'X.npy'}:labels={folder / 'Y.npy'}"


class Data(ProgramTest):
    def test_data_beyond_memory_trains_to_the_same_bits(self):
        data = write_clouds(self.folder, rows=4000, features=300)  # 4.6 MiB.
        job = ["train", "--data", data, "--workers", 2, "--shares", "equal", "--steps", 20]
        memory = self.run_json(*job, "--memory", "1GiB")
        spilled = self.run_json(*job, "--memory", "1MiB")
        self.assertEqual(spilled["final_loss"], memory["final_loss"])
        self.assertEqual(spilled["test_accuracy"], memory["test_accuracy"])
        self.assertGreater(memory["test_accuracy"], 0.9)
        for mine, whole in zip(spilled["workers"], memory["workers"]):
            self.assertLess(mine["held_bytes"], 1.1 * 2**20)  # With labels.
            self.assertGreater(whole["held_bytes"], 1.5 * 2**20)

    def test_arrays_train_and_predict(self):
        data = write_clouds(self.folder, rows=400, features=5)
        model = self.folder / "arrays.safetensors"
        self.run_program("train", "--data", data, "--epochs", 20, "--out", model)
        result = self.run_json("predict", "--model", model, "--data", data)
        self.assertEqual(result["count"], 400)
        self.assertGreater(result["accuracy"], 0.8)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
