#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the readers with files that NumPy, safetensors and PyTorch themselves wrote.

Restarts under the first Python on this machine that has NumPy. If there is none, exits with 77 and a message.
"""

import json
import os
import struct
import subprocess
import sys
import unittest

try:
    import numpy
except ImportError:
    numpy = None
try:
    import safetensors.numpy as safetensors_numpy
except ImportError:
    safetensors_numpy = None

from tools.program import ProgramTest

FEATURES, HIDDEN, CLASSES, ROWS = 6, 5, 3, 40
TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]


def python_with_numpy():
    """Another Python that imports NumPy, or None."""
    for python in ("python3", "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0:
                return python
        except OSError:
            continue
    return None


def write_safetensors(path, tensors):
    """Writes a file like the safetensors package, or with the package if it is installed."""
    if safetensors_numpy is not None:
        safetensors_numpy.save_file(tensors, str(path))
        return
    header, at = {}, 0
    for name, values in tensors.items():
        kind = {"f": "F", "i": "I", "u": "U"}[values.dtype.kind] + str(8 * values.dtype.itemsize)
        header[name] = {"dtype": kind, "shape": list(values.shape),
                        "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    body = b"".join(values.tobytes() for values in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


class NumPy(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = numpy.random.RandomState(5)  # RandomState exists in every version.
        shapes = {"0.weight": (HIDDEN, FEATURES), "0.bias": (HIDDEN,),
                  "2.weight": (CLASSES, HIDDEN), "2.bias": (CLASSES,)}
        cls.layers = {name: draw.uniform(-1, 1, shape).astype("f4")
                      for name, shape in shapes.items()}
        cls.model = cls.folder / "mlp.safetensors"
        write_safetensors(cls.model, cls.layers)
        cls.real = draw.uniform(-2, 2, (ROWS, FEATURES))
        cls.labels = numpy.arange(ROWS) % CLASSES

    def features(self, kind):
        """The samples as numbers of this type. Their magnitudes fit into all types."""
        if kind == "?":
            return self.real > 0
        if kind[0] == "u":
            return (self.real + 2).astype(kind)
        return self.real.astype(kind)

    def probabilities(self, x):
        """The forward pass of the perceptron, in double."""
        layer = {name: values.astype("f8") for name, values in self.layers.items()}
        hidden = numpy.maximum(x.astype("f8") @ layer["0.weight"].T + layer["0.bias"], 0)
        scores = hidden @ layer["2.weight"].T + layer["2.bias"]
        powers = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def check(self, spec, x, labels=None):
        """Checks that loss and accuracy of the program's samples are those of `x`."""
        labels = self.labels if labels is None else labels
        x = numpy.asarray(x).reshape(len(labels), -1)
        found = self.run_json("predict", "--model", self.model, "--data", spec)
        p = self.probabilities(x)
        self.assertEqual(found["count"], len(labels))
        expected = -numpy.log(p[numpy.arange(len(labels)), labels]).mean()
        self.assertLessEqual(abs(found["loss"] - expected), 1e-5 * max(1, expected), spec)
        self.assertAlmostEqual(found["accuracy"], (p.argmax(axis=1) == labels).mean(), 9, spec)

    def beside(self, x, labels=None):
        labels = self.labels if labels is None else labels
        numpy.save(self.folder / "X.npy", x)
        numpy.save(self.folder / "Y.npy", labels)
        return f"{self.folder / 'X.npy'}:labels={self.folder / 'Y.npy'}"

    def test_every_type_in_both_byte_orders(self):
        for kind in TYPES + [">" + kind for kind in TYPES if kind[-1] in "248"]:
            with self.subTest(kind=kind):
                x = self.features(kind.strip(">"))
                self.check(self.beside(x.astype(kind)), x)

    def test_every_version_of_the_header(self):
        x = self.features("f4")
        spec = self.beside(x)
        for version in ((1, 0), (2, 0), (3, 0)):
            with self.subTest(version=version):
                with open(self.folder / "X.npy", "wb") as file:
                    numpy.lib.format.write_array(file, x, version=version)
                self.check(spec, x)

    def test_images_views_and_label_types(self):
        x = self.features("f4")
        self.check(self.beside(x.reshape(ROWS, 2, FEATURES // 2)), x)
        self.check(self.beside(x[::2], self.labels[::2]), x[::2], self.labels[::2])
        for kind in ("f4", ">i2", "u1", "f8"):
            self.check(self.beside(x, self.labels.astype(kind)), x)
        joined = numpy.hstack([x, self.labels[:, None]])
        numpy.save(self.folder / "joined.npy", joined)
        self.check(self.folder / "joined.npy", x)

    def test_columns_first_are_turned_round(self):
        x = self.features("f4")
        self.check(self.beside(numpy.asfortranarray(x)), x)

    def test_archives(self):
        x = self.features("f4")
        for save in (numpy.savez, numpy.savez_compressed):
            for names in (("x", "y"), ("X_train", "y_train"), ("arr_0", "arr_1")):
                with self.subTest(save=save.__name__, names=names):
                    path = self.folder / "both.npz"
                    save(path, **dict(zip(names, (x, self.labels))))
                    self.check(path, x)
        numpy.savez(self.folder / "plain.npz", x, self.labels)
        self.check(self.folder / "plain.npz", x)

    def test_classes_that_floats_would_merge(self):
        large = (1 << 24) + (numpy.arange(ROWS) % 2)
        numpy.save(self.folder / "large.npy", numpy.stack([large % 2, large], axis=1))
        done = self.run_json("train", "--data", self.folder / "large.npy", "--steps", 50, "--lr", 1)
        self.assertGreater(done["test_accuracy"], 0.9)  # Both classes were read correctly.

    @unittest.skipIf(safetensors_numpy is None, "the safetensors package is not installed")
    def test_samples_as_the_safetensors_package_saves_them(self):
        for kind in TYPES:
            with self.subTest(kind=kind):
                x = self.features(kind)
                path = self.folder / "data.safetensors"
                safetensors_numpy.save_file({"x": x, "y": self.labels}, str(path))
                self.check(path, x)

    def test_a_model_of_pytorch_s_own_layers(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        net = torch.nn.Sequential(torch.nn.Linear(FEATURES, HIDDEN), torch.nn.ReLU(),
                                  torch.nn.Linear(HIDDEN, CLASSES))
        state = {name: values.numpy() for name, values in net.state_dict().items()}
        self.assertEqual(sorted(state), sorted(self.layers))
        write_safetensors(self.folder / "torch.safetensors", state)
        x = self.features("f4")
        with torch.no_grad():
            expected = torch.nn.functional.cross_entropy(
                net(torch.from_numpy(x)), torch.from_numpy(self.labels)).item()
        found = self.run_json("predict", "--model", self.folder / "torch.safetensors",
                              "--data", self.beside(x))
        self.assertLessEqual(abs(found["loss"] - expected), 1e-5)


if __name__ == "__main__":
    if numpy is None and "MOTLEY_NUMPY_TRIED" not in os.environ:
        other = python_with_numpy()
        if other is not None:
            os.environ["MOTLEY_NUMPY_TRIED"] = "1"
            os.execvp(other, [other, *sys.argv])
        print("skipped: no Python here has NumPy; install python3-numpy")
        sys.exit(77)
    unittest.main(argv=sys.argv)
