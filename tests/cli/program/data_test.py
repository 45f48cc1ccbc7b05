#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the program on array files, and on data that do not fit into memory."""

import array
import json
import pathlib
import random
import re
import select
import struct
import subprocess
import sys
import unittest

from tools.program import PROGRAM, ProgramTest, children_of


def peak_bytes(pid):
    """The peak memory of the process (VmHWM); 0 after its end."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


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


def fp16(value):
    return struct.unpack("<e", struct.pack("<e", value))[0]


def bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits += 0x7fff + (bits >> 16 & 1)
    return struct.unpack("<f", struct.pack("<I", bits & 0xffff0000))[0]


class Data(ProgramTest):
    def test_a_feature_that_drowns_the_others_is_said(self):
        path = self.folder / "drowned.csv"
        path.write_text("".join(f"{r % 7},{(r % 5) * 1e8},{r % 3},{r % 2}\n" for r in range(200)))
        how = ("train", "--data", path, "--steps", 2, "--quiet", "--scale", "largest")
        self.assertIn("feature 1 (from 0) reaches 4e+08, and 2 of 3 features, the first of them "
                      "feature 0 (from 0), stay below 1/10000", self.run_program(*how).stderr)
        self.assertEqual(self.run_program(*how[:2], self.data, *how[3:]).stderr, "")

    def test_a_single_feature_that_drowns_is_named(self):
        path = self.folder / "incomes.csv"
        path.write_text("income,rate,age,bought\n" + "".join(
            f"{1e6 * (r % 5)},{0.01 * (r % 7)},{1e5 * (r % 3)},{r % 2}\n" for r in range(200)))
        self.assertIn("feature 'income' reaches 4e+06, and feature 'rate' stays below 1/10000",
                      self.run_program("train", "--data", path, "--steps", 2, "--quiet", "--scale",
                                       "largest").stderr)

    def test_a_line_of_numbers_for_names_is_told_and_scales_nothing(self):
        path = self.folder / "pandas.csv"
        path.write_text(",".join(map(str, range(40))) + "\n" + "".join(
            ",".join(str((r * 7 + c) % 3 / 2) for c in range(39)) + f",{r % 2}\n"
            for r in range(60)))
        done = self.run_program("train", "--data", path, "--steps", 2)
        self.assertIn("pandas.csv, 0 to 39, is taken for the names of the columns", done.stderr)
        self.assertNotIn("divided by", done.stderr)

    def test_the_column_called_label_is_the_label(self):
        path = self.folder / "kaggle.csv"
        path.write_text("label,a,b\n" + "".join(f"{r % 2},{r % 2},{r % 5}\n" for r in range(200)))
        done = self.run_program("train", "--data", path, "--steps", 100)
        self.assertIn("column 'label' of", done.stderr)
        self.assertIn("to change it, use --label", done.stderr)
        self.assertGreater(self.run_json("train", "--data", path, "--steps", 100)["test_accuracy"],
                           0.95)

    def test_adam_has_a_rate_of_its_own(self):
        how = ("train", "--data", self.data, "--optimizer", "adam", "--steps", 30, "--code", "none",
               "--shares", "equal")
        own = self.run_json(*how)["final_loss"]
        self.assertEqual(own, self.run_json(*how, "--lr", "0.02")["final_loss"])
        self.assertNotEqual(own, self.run_json(*how, "--lr", "0.1")["final_loss"])

    def test_storage_of_16_bits_trains_as_on_rounded_features_in_half_the_memory(self):
        draw = random.Random(5)
        rows, features = 600, 200
        values = array.array("f", (draw.uniform(-1, 1) * 2.0 ** -draw.randrange(20)
                                   for _ in range(rows * features)))

        def data(kind, rounded):
            folder = self.folder / kind
            folder.mkdir()
            write_npy(folder / "X.npy", "<f4", (rows, features),
                      [array.array("f", map(rounded, values)).tobytes()])
            labels = array.array("q", (int(values[row * features] > 0) for row in range(rows)))
            write_npy(folder / "Y.npy", "<i8", (rows,), [labels.tobytes()])
            return f"{folder / 'X.npy'}:labels={folder / 'Y.npy'}"

        def train(data, *more, steps=30):
            return self.run_json("train", "--data", data, "--model", "mlp:8", "--workers", 2,
                                 "--shares", "equal", "--code", "none", "--steps", steps, *more)

        exact = data("float32", lambda value: value)
        whole = train(exact)
        losses = {whole["final_loss"]}
        for kind, rounded in (("fp16", fp16), ("bf16", bf16)):
            folder = self.folder / f"{kind}-checkpoints"
            narrow = train(exact, "--storage", kind)
            self.assertEqual(narrow["final_loss"], train(data(kind, rounded))["final_loss"])
            losses.add(narrow["final_loss"])
            for mine, all_of_it in zip(narrow["workers"], whole["workers"]):
                self.assertLess(mine["held_bytes"], 0.52 * all_of_it["held_bytes"])
            # The checkpoint has the option.
            train(exact, "--storage", kind, "--checkpoint", folder, steps=20)
            rest = train(exact, "--resume", folder)
            self.assertEqual(rest["final_loss"], narrow["final_loss"])
            refused = self.run_program("train", "--data", exact, "--resume", folder, "--storage",
                                       "float32", expect=6)
            self.assertIn(f"the job of the checkpoint has {kind}", refused.stderr)
        self.assertEqual(len(losses), 3)

    def test_storage_that_does_not_fit_the_samples_is_refused(self):
        sparse = self.folder / "sparse.svm"
        sparse.write_text("1 1:0.5\n0 2:0.5\n" * 10)
        refused = self.run_program("train", "--data", sparse, "--storage", "bf16", expect=2)
        self.assertIn("--storage bf16: it is for dense samples", refused.stderr)

    def test_data_beyond_memory_trains_to_the_same_bits(self):
        data = write_clouds(self.folder, rows=4000, features=300)  # 4.6 MiB.
        job = ["train", "--data", data, "--workers", 2, "--shares", "equal", "--steps", 20]
        memory = self.run_json(*job, "--memory", "1GiB")
        spilled = self.run_json(*job, "--memory", "1MiB")
        self.assertEqual(spilled["final_loss"], memory["final_loss"])
        self.assertEqual(spilled["test_accuracy"], memory["test_accuracy"])
        self.assertGreater(memory["test_accuracy"], 0.9)
        for mine, whole in zip(spilled["workers"], memory["workers"]):
            self.assertLess(mine["held_bytes"], 1.1 * 2**20)  # This includes labels.
            self.assertGreater(whole["held_bytes"], 1.5 * 2**20)

    def test_arrays_train_and_predict(self):
        data = write_clouds(self.folder, rows=400, features=5)
        model = self.folder / "arrays.safetensors"
        self.run_program("train", "--data", data, "--epochs", 20, "--out", model)
        result = self.run_json("predict", "--model", model, "--data", data)
        self.assertEqual(result["count"], 400)
        self.assertGreater(result["accuracy"], 0.8)

    def test_dollars_of_arrays_and_sparse_samples_are_learned(self):
        draw = random.Random(6)
        rows = [[draw.uniform(-1, 1) for _ in range(4)] for _ in range(400)]
        dollars = [250000 + 90000 * row[0] - 60000 * row[1] * row[2] for row in rows]
        x, y, svm = (self.folder / name for name in ("dX.npy", "dY.npy", "d.svm"))
        write_npy(x, "<f4", (400, 4), [array.array("f", row).tobytes() for row in rows])
        write_npy(y, "<f8", (400,), [array.array("d", dollars).tobytes()])
        svm.write_text("".join(
            f"{label:.2f} " + " ".join(f"{i + 1}:{v:.6f}" for i, v in enumerate(row)) + "\n"
            for row, label in zip(rows, dollars)))
        model = self.folder / "dollars.safetensors"
        for data, name in ((f"{x}:labels={y}", "mlp:16"), (svm, "mlp:16"), (svm, "linear"),
                           (svm, "factorization:4")):
            with self.subTest(data=data, model=name):
                done = self.run_program("train", "--data", data, "--task", "regress", "--model",
                                        name, "--epochs", 60, "--out", model, "--json")
                self.assertIn("the target is standardised", done.stderr)
                test = json.loads(done.stdout)["test"]
                self.assertGreater(test["r2"], 0.8)
                self.assertGreater(test["rmse"], 1)  # In dollars, not in deviations.
                found = self.run_json("predict", "--model", model, "--data", data)
                self.assertGreater(found["r2"], 0.8)
                self.assertAlmostEqual(found["loss"], found["rmse"]**2 / 2, delta=found["loss"] / 1e4)
        raw = self.run_program("train", "--data", svm, "--model", "linear", "--steps", 2, "--scale",
                               "none")
        self.assertNotIn("standardised", raw.stderr)


class LargeData(ProgramTest):
    """Peak memory of each process with 300 MB of samples and 32 MiB for them."""

    ROWS, FEATURES = 75_000, 1000
    KEPT = 32 * 2**20
    REST = 64 * 2**20  # The program, labels, a block that is read, a few partitions (4 MB each).
    SENDING = 2 * 32 * 2**20  # Partitions queued for two workers (kFeedWindow).

    def peaks_of_training(self, data):
        """VmHWM in bytes of the server, the largest VmHWM of its workers, and the result."""
        process = subprocess.Popen(
            [PROGRAM, "train", "--data", str(data), "--memory", "32MiB", "--workers", "2",
             "--steps", "30", "--batch", "64", "--json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        server, worker = 0, 0
        while process.poll() is None:
            server = max(server, peak_bytes(process.pid))
            for child in children_of(process.pid):
                worker = max(worker, peak_bytes(child))
            select.select([], [], [], 0.02)
        out, said = process.communicate()
        self.assertEqual(process.returncode, 0, said)
        return server, worker, json.loads(out)

    def check(self, data):
        server, worker, result = self.peaks_of_training(data)
        self.assertEqual(result["steps"], 30)
        self.assertGreater(server, self.KEPT)  # The peak was observed.
        self.assertGreater(worker, self.KEPT)
        self.assertLess(server, self.KEPT + self.SENDING + self.REST, f"{server >> 20} MiB")
        self.assertLess(worker, self.KEPT + self.REST, f"{worker >> 20} MiB")

    def test_npy(self):
        self.check(write_clouds(self.folder, self.ROWS, self.FEATURES))

    def test_csv(self):
        draw = random.Random(7)
        lines = []
        for number in range(64):
            values = [draw.gauss(number % 4, 1) for _ in range(self.FEATURES)]
            lines.append(",".join(f"{value:.4f}" for value in values) + f",{number % 4}\n")
        path = self.folder / "large.csv"
        block = "".join(lines)
        with open(path, "w") as file:
            for _ in range(300_000_000 // len(block) + 1):
                file.write(block)
        self.check(path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
