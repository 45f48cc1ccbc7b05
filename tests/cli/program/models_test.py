#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every kind of model learns a suitable task, and a saved model is read back unchanged."""

import pathlib
import random
import unittest

from tools.program import ProgramTest, write_samples

DIGITS = pathlib.Path(__file__).parents[3] / "examples/data/digits.csv.gz"


def write_ratings(path, users=60, items=40, seed=3):
    """Writes LIBSVM lines with a user's and an item's feature. Ratings are biases plus a product of two
    factors, with noise of deviation 0.1. Returns their variance."""
    draw = random.Random(seed)
    user, item = ([(draw.gauss(0, 0.3), draw.gauss(0, 1), draw.gauss(0, 1)) for _ in range(count)]
                  for count in (users, items))
    lines, ratings = [], []
    for u in range(users):
        for i in draw.sample(range(items), 25):
            (a, *p), (b, *q) = user[u], item[i]
            rating = 3 + a + b + p[0] * q[0] + p[1] * q[1] + draw.gauss(0, 0.1)
            ratings.append(rating)
            lines.append(f"{rating:.4f} {u + 1}:1 {users + i + 1}:1\n")
    path.write_text("".join(lines))
    mean = sum(ratings) / len(ratings)
    return sum((rating - mean)**2 for rating in ratings) / len(ratings)


def write_products(path, rows=1500, seed=4):
    """Writes samples whose label is 1 if two features have the same sign. No linear model can learn it."""
    draw = random.Random(seed)
    with open(path, "w") as file:
        for _ in range(rows):
            x, y, z = (draw.uniform(-1, 1) for _ in range(3))
            file.write(f"{x:.4f},{y:.4f},{z:.4f},{int(x * y > 0)}\n")


class Models(ProgramTest):
    def learned(self, data, model, *arguments):
        """Trains a model. Returns the result, and the saved model's scores on all samples."""
        file = self.folder / "model.safetensors"
        result = self.run_json("train", "--data", data, "--model", model, "--workers", 2, "--quiet",
                               "--out", file, *arguments)
        self.assertEqual(result["discarded_steps"], 0)
        again = self.run_json("predict", "--model", file, "--data", data)
        return result, again

    def test_a_cnn_reads_digits(self):
        result, again = self.learned(DIGITS, "cnn:8,16/32", "--optimizer", "adam", "--lr", "0.008",
                                     "--batch", 64, "--epochs", 15)
        self.assertGreater(result["test_accuracy"], 0.95)
        self.assertGreater(again["accuracy"], 0.95)

    def test_a_cnn_takes_sparse_images(self):
        data = self.folder / "images.svm"
        draw = random.Random(1)
        with open(data, "w") as file:
            for row in range(400):  # A horizontal or vertical bar at a random place.
                at = draw.randrange(6)
                bar = [6 * at + i if row % 2 else 6 * i + at for i in range(6)]
                pixels = sorted({*bar, 35})  # Pixel 35 gives all images the same size.
                file.write(f"{row % 2} " + " ".join(f"{i + 1}:1" for i in pixels) + "\n")
        result, _ = self.learned(data, "cnn:6", "--optimizer", "adam", "--lr", "0.01", "--epochs", 30)
        self.assertGreater(result["test_accuracy"], 0.95)

    def test_a_factorization_machine_learns_ratings(self):
        data = self.folder / "ratings.svm"
        variance = write_ratings(data)
        adam = ["--optimizer", "adam", "--lr", "0.02", "--batch", "64", "--epochs", "60"]
        _, linear = self.learned(data, "linear", *adam)
        _, found = self.learned(data, "factorization:4", *adam)
        self.assertGreater(linear["rmse"]**2, 0.5 * variance)
        self.assertLess(found["rmse"]**2, 0.1 * variance)

    def test_a_factorization_machine_learns_products_of_two_classes(self):
        data = self.folder / "products.csv"
        write_products(data)
        adam = ["--optimizer", "adam", "--lr", "0.05", "--epochs", "30"]
        result, again = self.learned(data, "factorization:3", *adam)
        self.assertGreater(result["test_accuracy"], 0.95)
        self.assertGreater(again["accuracy"], 0.95)
        self.assertLess(self.learned(data, "logistic", *adam)[0]["test_accuracy"], 0.7)

    def test_hinge_and_norm_learn_clouds(self):
        data = self.folder / "two.csv"
        draw = random.Random(2)
        data.write_text("".join(
            f"{draw.gauss(y, 0.5):.4f},{draw.gauss(-y, 0.5):.4f},{y}\n" for y in [-1, 1] * 300))
        self.assertGreater(
            self.learned(data, "hinge", "--lr", "0.2", "--epochs", 20)[0]["test_accuracy"], 0.95)
        self.assertGreater(
            self.learned(DIGITS, "mlp:64,norm,32,norm", "--optimizer", "adam", "--lr", "0.01",
                         "--epochs", 10)[0]["test_accuracy"], 0.93)

    def test_what_does_not_fit_is_refused_with_what_would(self):
        data = self.folder / "five.csv"
        write_samples(data, features=5)
        for words, model in ((["5 features", "cnn@28x28x1"], "cnn:8"),
                             (["5 features", "50 values"], "cnn@5x5x2:8"),
                             (["cnn@28x28x1:16,32"], "cnn:8,x"), (["2 classes"], "hinge"),
                             (["factorization:16"], "factorization"),
                             (["factorization"], "factorisation:3"), (["norm"], "mlp:norm")):
            with self.subTest(model):
                done = self.run_program("train", "--data", data, "--model", model, expect=2)
                for word in words:
                    self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
