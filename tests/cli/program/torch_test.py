#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that are exported in PyTorch's names and layout, and models that a job begins with.

Formats computes the modules of docs/how-to/pytorch.md in plain Python. Torch uses PyTorch, and exits with 77
if it is not installed."""

import csv
import gzip
import json
import math
import pathlib
import struct
import sys
import unittest

from tools.program import ProgramTest
from tables_test import FLOWERS, write_flowers, write_houses

try:
    import torch
except ImportError:
    torch = None

DIGITS = pathlib.Path(__file__).parents[3] / "examples/data/digits.csv.gz"
STILL = ["--steps", "1", "--optimizer", "sgd", "--lr", "1e-20", "--l2", "0"]  # A job that changes nothing.


def read_tensors(path):
    """Returns {name: (shape, values)} and the metadata."""
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    about = header.pop("__metadata__", {})
    tensors = {}
    for name, tensor in header.items():
        begin, end = (8 + size + offset for offset in tensor["data_offsets"])
        tensors[name] = (tensor["shape"], [value for value, in struct.iter_unpack("<f", raw[begin:end])])
    return tensors, about


def write_tensors(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (shape, values) in tensors.items():
        piece = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def linear(tensors, name, x):
    (outputs, inputs), weight = tensors[name + "weight"]
    assert inputs == len(x)
    bias = tensors[name + "bias"][1]
    return [bias[o] + sum(weight[o * inputs + i] * x[i] for i in range(inputs))
            for o in range(outputs)]


def norm(tensors, name, x):
    mean = sum(x) / len(x)
    deviation = math.sqrt(sum((v - mean)**2 for v in x) / len(x) + 1e-5)
    gain, shift = tensors[name + "weight"][1], tensors[name + "bias"][1]
    return [(v - mean) / deviation * g + s for v, g, s in zip(x, gain, shift)]


def relu(x):
    return [max(v, 0) for v in x]


def convolve(tensors, name, image):
    """Computes Conv2d(padding=1), ReLU and MaxPool2d(2) of image[channel][row][column]."""
    (outputs, channels, _, _), weight = tensors[name + "weight"]
    bias = tensors[name + "bias"][1]
    height, width = len(image[0]), len(image[0][0])

    def at(o, y, x):
        total = bias[o]
        for c in range(channels):
            for dy in range(3):
                for dx in range(3):
                    if 0 <= y + dy - 1 < height and 0 <= x + dx - 1 < width:
                        total += (weight[((o * channels + c) * 3 + dy) * 3 + dx] *
                                  image[c][y + dy - 1][x + dx - 1])
        return max(total, 0)
    return [[[max(at(o, 2 * y + dy, 2 * x + dx) for dy in range(2) for dx in range(2))
              for x in range(width // 2)] for y in range(height // 2)] for o in range(outputs)]


def softmax(scores):
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def numbers_of(path, columns):
    with open(path, newline="") as file:
        return [[float(row[column]) for column in columns] for row in csv.DictReader(file)]


class Exchange(ProgramTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.safetensors"
        self.torch_file = self.folder / "torch.safetensors"
        self.flowers = self.folder / "flowers.csv"
        write_flowers(self.flowers)

    def train(self, data, *arguments, out=None):
        done = self.run_program("train", "--data", data, "--workers", 1, "--out", out or self.model,
                                *arguments)
        return done.stderr

    def predict(self, model, data, *arguments):
        out = self.folder / "predicted.csv"
        self.run_program("predict", "--model", model, "--data", data, "--out", out, *arguments)
        with open(out, newline="") as file:
            return list(csv.reader(file))[1:]

    def probabilities(self, model, data):
        return [[float(p) for p in row[1:]] for row in self.predict(model, data, "--probabilities")]

    def expect_close(self, found, expected, tolerance=1e-5):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected):
            self.assertEqual(len(one), len(other))
            for a, b in zip(one, other):
                self.assertLessEqual(abs(a - b), tolerance * max(1, abs(b)), (one, other))


class Formats(Exchange):
    def test_a_perceptron_takes_the_columns_as_they_are(self):
        self.train(self.flowers, "--model", "mlp:8,norm,6", "--epochs", 30)
        self.run_program("checkpoint", "export", self.model, "--out", self.torch_file, "--format",
                         "torch")
        tensors, about = read_tensors(self.torch_file)
        self.assertEqual({name: shape for name, (shape, _) in tensors.items()},
                         {"0.weight": [8, 4], "0.bias": [8], "1.weight": [8], "1.bias": [8],
                          "3.weight": [6, 8], "3.bias": [6], "5.weight": [3, 6], "5.bias": [3]})
        self.assertEqual(about["format"], "pt")
        expected = self.probabilities(self.model, self.flowers)
        found = []
        for row in numbers_of(self.flowers, ("length", "width", "mass", "area")):
            hidden = relu(norm(tensors, "1.", linear(tensors, "0.", row)))
            found.append(softmax(linear(tensors, "5.", relu(linear(tensors, "3.", hidden)))))
        self.expect_close(found, expected, 1e-4)  # Masses of 20,000 cost two digits in float32.
        self.expect_close(self.probabilities(self.torch_file, self.flowers), expected, 1e-4)
        again = self.folder / "again.safetensors"
        said = self.train(self.flowers, "--init", self.torch_file, *STILL, out=again)
        self.assertIn("begins with the parameters of", said)
        self.expect_close(self.probabilities(again, self.flowers), expected, 1e-4)

    def test_a_linear_model_answers_in_the_units_of_its_target(self):
        data = self.folder / "houses.csv"
        write_houses(data)
        self.train(data, "--epochs", 100, "--format", "torch")
        tensors, _ = read_tensors(self.model)
        self.assertEqual({name: shape for name, (shape, _) in tensors.items()},
                         {"weight": [1, 3], "bias": [1]})
        expected = [[float(row[0])] for row in self.predict(self.model, data)]
        found = [linear(tensors, "", row) for row in numbers_of(data, ("area", "rooms", "year"))]
        self.expect_close(found, expected)
        again = self.folder / "again.safetensors"
        self.train(data, "--init", self.model, *STILL, out=again)
        self.expect_close([[float(row[0])] for row in self.predict(again, data)], expected)

    def test_a_cnn_takes_images_with_channels_first(self):
        images = self.folder / "images.csv"
        with gzip.open(DIGITS, "rt") as file:
            lines = file.read().splitlines()[:400]
        images.write_text("\n".join(lines) + "\n")
        self.train(images, "--model", "cnn:3,4/8", "--epochs", 3, "--format", "torch")
        tensors, about = read_tensors(self.model)
        self.assertEqual({name: shape for name, (shape, _) in tensors.items()},
                         {"0.weight": [3, 1, 3, 3], "0.bias": [3], "3.weight": [4, 3, 3, 3],
                          "3.bias": [4], "7.weight": [8, 16], "7.bias": [8], "9.weight": [10, 8],
                          "9.bias": [10]})
        self.assertLess(float(about["input_scale"]), 1)  # The scale of pixels from 0 to 16 is folded in.
        some = self.folder / "some.csv"
        some.write_text("\n".join(lines[:10]) + "\n")
        found = []
        for line in some.read_text().splitlines():
            pixels = [float(field) for field in line.split(",")[:64]]
            image = [[pixels[8 * y:8 * y + 8] for y in range(8)]]
            image = convolve(tensors, "3.", convolve(tensors, "0.", image))
            flat = [value for channel in image for row in channel for value in row]
            found.append(softmax(linear(tensors, "9.", relu(linear(tensors, "7.", flat)))))
        self.expect_close(found, self.probabilities(self.model, some), 1e-5)

    def test_what_pytorch_trained_goes_on_here(self):
        tensors = {"fc1.weight": ([5, 4], [math.sin(i) / (1, 1e-3, 2e4, 1)[i % 4] for i in range(20)]),
                   "fc1.bias": ([5], [0.1, -0.2, 0.3, 0, 0.5]),
                   "fc2.weight": ([3, 5], [math.cos(i) for i in range(15)]),
                   "fc2.bias": ([3], [0.5, 0, -0.5])}
        theirs = self.folder / "theirs.safetensors"
        write_tensors(theirs, tensors)
        said = self.train(self.flowers, "--init", theirs, *STILL)
        self.assertIn("its outputs are the classes iris setosa, iris, versicolor, virginica", said)
        rows = numbers_of(self.flowers, ("length", "width", "mass", "area"))
        found = [softmax(linear(tensors, "fc2.", relu(linear(tensors, "fc1.", row)))) for row in rows]
        self.expect_close(self.probabilities(self.model, self.flowers), found, 1e-4)
        self.train(self.flowers, "--init", theirs, "--optimizer", "adam", "--lr", "0.05",
                   "--epochs", 60)
        predicted = [row[0] for row in self.predict(self.model, self.flowers)]
        right = sum(name == FLOWERS[i % 3] for i, name in enumerate(predicted))
        self.assertGreater(right, 140)
        wrong = self.run_program("train", "--data", self.flowers, "--init", theirs, "--model",
                                 "mlp:6", expect=1)
        self.assertIn("'fc1.weight' is (5, 4), and mlp:6 of 4 features and 3 classes needs (6, 4)",
                      wrong.stderr)

    def test_one_output_is_linear_or_logistic(self):
        theirs, data = self.folder / "theirs.safetensors", self.folder / "points.csv"
        write_tensors(theirs, {"weight": ([1, 2], [2, -1]), "bias": ([1], [-40])})
        data.write_text("a,b,y\n" + "".join(f"{i},{i % 3},{3 * i - 0.5}\n" for i in range(40)))
        self.train(data, "--init", theirs, *STILL)
        found = [[float(row[0])] for row in self.predict(self.model, data)]
        self.expect_close(found, [[2 * i - i % 3 - 40] for i in range(40)], 1e-4)
        data.write_text("a,b,y\n" + "".join(f"{i},{i % 3},{'no' if i < 20 else 'yes'}\n"
                                            for i in range(40)))
        self.train(data, "--init", theirs, *STILL)
        self.assertEqual({row[0] for row in self.predict(self.model, data)}, {"no", "yes"})

    def test_a_model_keeps_its_columns_scaling_and_classes(self):
        self.train(self.flowers, "--model", "mlp:8", "--epochs", 30)
        expected = self.probabilities(self.model, self.flowers)
        other, again = self.folder / "other.csv", self.folder / "again.safetensors"
        write_flowers(other, rows=90, seed=4, order=[3, 1, 0, 2])
        lines = other.read_text().splitlines()
        other.write_text("\n".join(line for line in lines if "virginica" not in line) + "\n")
        runs = self.folder / "runs"
        said = self.train(other, "--init", self.model, *STILL, "--checkpoint", runs, out=again)
        self.assertIn("and with its scaling of the data", said)
        self.expect_close(self.probabilities(again, self.flowers), expected)
        resumed = self.run_json("train", "--data", other, "--resume", runs, "--checkpoint", runs,
                                "--steps", 3, "--workers", 1)
        self.assertEqual(resumed["classes"], sorted(FLOWERS))
        for words, arguments in ((["--scale largest: the model of --init has standard"],
                                  ("--scale", "largest")),
                                 (["--drop mass: the model of --init has this column"],
                                  ("--drop", "mass")),
                                 (["--task regress: the model of --init has classify"],
                                  ("--task", "regress")),
                                 (["--init", "with --resume a job goes on from its checkpoint"],
                                  ("--resume", runs))):
            with self.subTest(arguments):
                refused = self.run_program("train", "--data", other, "--init", self.model,
                                           *arguments, expect=2)
                for word in words:
                    self.assertIn(word, refused.stderr)
        refused = self.run_program("train", "--data", self.flowers, "--init", self.model, "--model",
                                   "mlp:9", expect=1)
        self.assertIn("'layer0.weight' is (4, 8), and mlp:9 of 4 features and 3 classes needs (4, 9)",
                      refused.stderr)
        other.write_text(other.read_text().replace("iris setosa", "tulip"))
        refused = self.run_program("train", "--data", other, "--init", self.model, expect=1)
        self.assertIn("are not all among the 3 classes of the model of --init", refused.stderr)
        self.run_program("train", "--data", self.data, "--init", self.folder / "none", expect=3)

    def test_what_pytorch_has_no_layers_for_is_refused_before_training(self):
        data = self.folder / "houses.csv"
        write_houses(data)
        refused = self.run_program("train", "--data", data, "--model", "factorization:3", "--out",
                                   self.model, "--format", "torch", expect=2)
        self.assertIn("--format torch: factorization:3 has layers that PyTorch does not have",
                      refused.stderr)
        refused = self.run_program("train", "--data", DIGITS, "--model", "cnn:4", "--scale",
                                   "standard", "--out", self.model, "--format", "torch", expect=2)
        self.assertIn("--scale largest or none", refused.stderr)
        refused = self.run_program("train", "--data", self.flowers, "--out", self.model, "--format",
                                   "onnx", expect=2)
        self.assertIn("torch", refused.stderr)


class Torch(Exchange):
    def load(self, module):
        """The five lines of docs/how-to/pytorch.md, without the library safetensors."""
        tensors, _ = read_tensors(self.model)
        module.load_state_dict({name: torch.tensor(values).reshape(shape)
                                for name, (shape, values) in tensors.items()})
        return module.eval()

    def test_a_perceptron(self):
        self.train(self.flowers, "--model", "mlp:8,norm,6", "--epochs", 30, "--format", "torch")
        module = self.load(torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.ReLU(), torch.nn.Linear(8, 6),
            torch.nn.ReLU(), torch.nn.Linear(6, 3)))
        rows = torch.tensor(numbers_of(self.flowers, ("length", "width", "mass", "area")))
        found = torch.softmax(module(rows), dim=1).tolist()
        self.expect_close(found, self.probabilities(self.model, self.flowers), 1e-4)

    def test_a_cnn(self):
        self.train(DIGITS, "--model", "cnn:3,4/8", "--epochs", 3, "--format", "torch")
        module = self.load(torch.nn.Sequential(
            torch.nn.Conv2d(1, 3, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 10)))
        with gzip.open(DIGITS, "rt") as file:
            rows = [[float(field) for field in line.split(",")[:64]] for line in file]
        images = torch.tensor(rows).reshape(-1, 8, 8, 1).permute(0, 3, 1, 2)
        found = torch.softmax(module(images), dim=1).tolist()
        self.expect_close(found, self.probabilities(self.model, DIGITS), 1e-4)


if __name__ == "__main__":
    if torch is None and "Torch" in sys.argv:
        print("PyTorch is not installed here (Debian: python3-torch): skipped")
        sys.exit(77)
    unittest.main()
