#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables as in practice: text, missing values, labels by name, and predictions on new rows."""

import csv
import io
import json
import random
import struct
import subprocess
import unittest

from tools.program import PROGRAM, ProgramTest

FLOWERS = ("iris setosa", "iris, versicolor", "virginica")


def write_flowers(path, rows=150, seed=1, label=True, order=None, extra=False):
    """Writes four columns of different magnitudes and a text label. A seed always gives the same rows."""
    draw = random.Random(seed)
    names = ["length", "width", "mass", "area"]
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        shown = [names[i] for i in (order or range(4))] + (["flower"] if label else [])
        out.writerow(shown + (["notes"] if extra else []))
        for row in range(rows):
            kind = row % 3
            values = [f"{draw.gauss(5 + 2 * kind, 0.4):.2f}", f"{draw.gauss(kind, 0.3) / 1000:.6f}",
                      f"{draw.gauss(20000 + 9000 * (kind == 1), 900):.0f}",
                      f"{draw.gauss(0, 1):.3f}"]
            out.writerow([values[i] for i in (order or range(4))] +
                         ([FLOWERS[kind]] if label else []) + (["x"] if extra else []))


def write_shop(path, rows=400, seed=2, label=True, city=None):
    """Writes text columns, True and False; a tenth of the cells are empty. The label, a purchase or not,
    follows from job, age and membership."""
    draw = random.Random(seed)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["", "job", "age", "income", "member", "city"] + (["bought"] if label else []))
        for row in range(rows):
            job = draw.choice(["nurse", "clerk", "engineer"])
            age, member = draw.randint(18, 80), draw.random() < 0.5
            income = draw.gauss(30000, 8000)
            bought = {"nurse": 1, "clerk": -1, "engineer": 0}[job] + (age - 49) / 20 + member > 0.5
            cells = [job, age, f"{income:.2f}", member, city or draw.choice(["Oslo", "Bonn"])]
            cells = [cell if draw.random() < 0.9 else "" for cell in cells]
            out.writerow([row, *cells] + (["yes" if bought else "no"] if label else []))


def write_houses(path, rows=500, seed=3, label=True):
    draw = random.Random(seed)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["area", "rooms", "year"] + (["price"] if label else []))
        for _ in range(rows):
            area, rooms, year = draw.uniform(40, 300), draw.randint(1, 8), draw.randint(1900, 2020)
            price = 50000 + 2100 * area + 9000 * rooms + 700 * (year - 1900) + draw.gauss(0, 9000)
            out.writerow([f"{area:.1f}", rooms, year] + ([f"{price:.0f}"] if label else []))


class Tables(ProgramTest):
    def train(self, data, *arguments):
        """Trains. Returns the report and the messages. Arguments replace the defaults."""
        how = {"--optimizer": "adam", "--lr": 0.05, "--epochs": 60, "--batch": 32}
        how.update(zip(arguments[::2], arguments[1::2]))
        done = self.run_program("train", "--data", data, "--out", self.model, "--json",
                                *(word for pair in how.items() for word in pair))
        return json.loads(done.stdout), done.stderr

    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.safetensors"

    def predict(self, data, *arguments):
        out = self.folder / "predicted.csv"
        done = self.run_program("predict", "--model", self.model, "--data", data, "--out", out,
                                *arguments)
        with open(out, newline="") as file:
            rows = list(csv.reader(file))
        return rows[0], rows[1:], done

    def test_text_labels_come_back_as_they_were(self):
        data = self.folder / "flowers.csv"
        write_flowers(data)
        report, said = self.train(data)
        self.assertEqual(report["classes"], sorted(FLOWERS))
        self.assertGreater(report["test_accuracy"], 0.95)
        self.assertIn("label 'flower': 3 classes, iris setosa, iris, versicolor, virginica", said)
        self.assertIn("standardised", said)
        head, rows, done = self.predict(data)
        self.assertEqual(head, ["prediction"])
        right = sum(row[0] == FLOWERS[i % 3] for i, row in enumerate(rows))
        self.assertGreater(right, 140)
        self.assertIn(f"accuracy {right / 1.5:.2f} %", done.stdout)

    def test_columns_are_found_by_name(self):
        data, new = self.folder / "flowers.csv", self.folder / "new.csv"
        write_flowers(data)
        self.train(data)
        _, expected, _ = self.predict(data)
        write_flowers(new, label=False, order=[2, 0, 3, 1], extra=True)
        _, rows, done = self.predict(new)
        self.assertEqual(rows, expected)
        self.assertIn("the column 'notes' is not known to the model and ignored", done.stderr)
        self.assertNotIn("accuracy", done.stdout)
        tested = self.run_program("predict", "--model", self.model, "--data", new, expect=1)
        self.assertIn("not all samples have labels", tested.stderr)
        text = new.read_text().split("\n")
        new.write_text("\n".join(",".join(line.split(",")[2:]) for line in text if line) + "\n")
        failed = self.run_program("predict", "--model", self.model, "--data", new, "--out",
                                  self.folder / "p.csv", expect=1)
        self.assertIn("new.csv:1: lacks the columns 'length', 'mass'", failed.stderr)
        self.assertFalse((self.folder / "p.csv").exists())
        self.assertFalse((self.folder / "p.csv.partial").exists())

    def test_probabilities_and_arrays(self):
        data = self.folder / "flowers.csv"
        write_flowers(data)
        self.train(data)
        head, rows, _ = self.predict(data, "--probabilities")
        self.assertEqual(head, ["prediction"] + [f"p_{name}" for name in sorted(FLOWERS)])
        for row in rows:
            numbers = [float(field) for field in row[1:]]
            self.assertAlmostEqual(sum(numbers), 1, places=4)
            self.assertEqual(row[0], sorted(FLOWERS)[numbers.index(max(numbers))])
        out = self.folder / "p.npy"
        self.run_program("predict", "--model", self.model, "--data", data, "--out", out)
        raw = out.read_bytes()
        size = struct.unpack("<H", raw[8:10])[0]
        self.assertIn(b"'<U16', 'fortran_order': False, 'shape': (150,)", raw[10:10 + size])
        self.assertEqual((10 + size) % 64, 0)
        words = [raw[at:at + 64].decode("utf-32-le").rstrip("\0")
                 for at in range(10 + size, len(raw), 64)]
        self.assertEqual(words, [row[0] for row in rows])
        piped = subprocess.run([PROGRAM, "predict", "--model", self.model, "--data", "-", "--out",
                                "-"], input=data.read_text(), capture_output=True, text=True,
                               check=True)
        self.assertEqual([row[0] for row in list(csv.reader(io.StringIO(piped.stdout)))[1:]], words)

    def test_text_columns_and_missing_values(self):
        data, new = self.folder / "shop.csv", self.folder / "new.csv"
        write_shop(data)
        report, said = self.train(data)
        self.assertGreater(report["test_accuracy"], 0.8)
        self.assertEqual(report["classes"], ["no", "yes"])
        self.assertIn("3 columns of numbers and 2 of text become 8 features", said)
        self.assertIn("missing: the column's median stands for a number", said)
        self.assertIn("has no name: it is taken for row numbers", said)
        write_shop(new, rows=20, seed=9, label=False, city="Rome")
        _, rows, done = self.predict(new)
        self.assertEqual(len(rows), 20)
        self.assertIn("column 'city': 'Rome' is not among the categories", done.stderr)
        indicated, said = self.train(data, "--missing", "indicator")
        self.assertIn("become 13 features", said)
        self.assertGreater(indicated["test_accuracy"], 0.8)
        refused = self.run_program("train", "--data", data, "--missing", "error", expect=1)
        self.assertRegex(refused.stderr, r"shop.csv:\d+: column \d .*: a value is missing")
        _, said = self.train(data, "--drop", "city,income")
        self.assertIn("2 columns of numbers and 1 of text become 5 features", said)

    def test_many_different_texts_are_left_out(self):
        data = self.folder / "people.csv"
        with open(data, "w") as file:
            file.write("name,height,sex\n")
            for i in range(60):
                file.write(f"person {i},{150 + i},{'f' if i < 30 else 'm'}\n")
        _, said = self.train(data)
        self.assertIn("column 'name' has 48 different texts in 48 rows: it is left out", said)
        with open(data, "a") as file:
            file.write("nobody,12o,f\n")
        refused = self.run_program("train", "--data", data, expect=1)
        self.assertIn("people.csv:62: column 1 (height): '12o' is not a number, as 60 of 61 values",
                      refused.stderr)

    def test_real_targets_are_regressed_in_their_units(self):
        data, new = self.folder / "houses.csv", self.folder / "new.csv"
        write_houses(data)
        report, said = self.train(data, "--epochs", 100)
        self.assertEqual(report["model"], "linear")
        self.assertIn("label 'price': real numbers; --task says otherwise", said)
        self.assertLess(report["test_loss"], 12000 ** 2)  # In squared dollars; noise alone is 9,000^2 / 2.
        self.assertGreater(report["test_loss"], 4000 ** 2)
        tested = self.run_json("predict", "--model", self.model, "--data", data)
        self.assertLess(tested["loss"], 12000 ** 2)
        write_houses(new, rows=5, seed=3, label=False)
        _, rows, _ = self.predict(new)
        prices = [float(row[3]) for row in list(csv.reader(data.read_text().split("\n")))[1:6]]
        for row, price in zip(rows, prices):
            self.assertLess(abs(float(row[0]) - price), 45000)
        refused = self.run_program("predict", "--model", self.model, "--data", new, "--out",
                                   self.folder / "p.csv", "--probabilities", expect=2)
        self.assertIn("--probabilities: the model linear predicts numbers", refused.stderr)

    def test_the_task_can_be_said(self):
        data = self.folder / "grades.csv"
        data.write_text("hours,sleep,grade\n" + "".join(
            f"{i * 0.37:.2f},{i % 7 + 0.5},{i % 5}\n" for i in range(200)))
        self.assertEqual(self.train(data)[0]["classes"], ["0", "1", "2", "3", "4"])
        self.assertEqual(self.train(data, "--task", "regress")[0]["model"], "linear")
        wrong = self.run_program("train", "--data", data, "--task", "regress", "--model", "softmax",
                                 expect=2)
        self.assertIn("--task regress: --model softmax chooses among classes", wrong.stderr)
        wrong = self.run_program("train", "--data", data, "--task", "regres", expect=2)
        self.assertIn("regress", wrong.stderr)

    def test_a_checkpoint_keeps_the_table(self):
        data, runs = self.folder / "shop.csv", self.folder / "runs"
        write_shop(data)
        whole, _ = self.train(data, "--missing", "indicator", "--batch", 320, "--epochs", 40)
        before = self.predict(data)[1]
        self.run_program("train", "--data", data, "--missing", "indicator", "--optimizer", "adam",
                         "--lr", 0.05, "--batch", 320, "--steps", 20, "--checkpoint", runs,
                         "--checkpoint-every", 20)
        resumed = self.run_json("train", "--data", data, "--resume", runs, "--checkpoint", runs,
                                "--steps", whole["steps"])
        self.assertEqual(resumed["resumed_from"], 20)
        self.assertAlmostEqual(resumed["test_loss"], whole["test_loss"], places=4)
        self.run_program("checkpoint", "export", runs, "--out", self.model)
        self.assertEqual(self.predict(data)[1], before)
        refused = self.run_program("train", "--data", data, "--resume", runs, "--missing", "median",
                                   expect=6)
        self.assertIn("--missing median: the job of the checkpoint has indicator", refused.stderr)

    def test_files_without_names_may_say_where_the_label_is(self):
        data, new = self.folder / "plain.csv", self.folder / "new.csv"
        draw = random.Random(8)
        rows = [(draw.gauss(y, 0.3), draw.gauss(-y, 0.3), y) for y in (0, 1) * 100]
        data.write_text("".join(f"{a:.4f},{b:.4f},{y}\n" for a, b, y in rows))
        self.train(data)
        expected = self.predict(data)[1]
        new.write_text("".join(f"{a:.4f},{b:.4f}\n" for a, b, _ in rows))
        self.assertEqual(self.predict(new)[1], expected)
        new.write_text("".join(f"{y},{a:.4f},{b:.4f}\n" for a, b, y in rows))
        _, found, done = self.predict(new, "--label", 0)
        self.assertEqual(found, expected)
        self.assertIn("accuracy 9", done.stdout.replace("100.00", "99"))
        new.write_text("".join(f"{a:.4f},{b:.4f}\n" for a, b, _ in rows))
        refused = self.run_program("predict", "--model", self.model, "--data", new, "--label", 0,
                                   "--out", self.folder / "p.csv", expect=2)
        self.assertIn("--label 0: the file has 2 columns, which are those of the features alone",
                      refused.stderr)

    def test_texts_may_have_line_ends_and_marks_stand_for_missing_values(self):
        data = self.folder / "notes.csv"
        with open(data, "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["height", "kind", "y"])
            for i in range(120):
                kind = 'the "big"\none, here' if i % 2 else "small"
                out.writerow([("-", "n.a.")[i % 2] if i % 40 < 2 else 100 + i, kind, i % 2])
        _, said = self.train(data)
        self.assertIn("column 'height': '-', 'n.a.' are each taken for a missing value", said)
        self.assertIn("1 column of numbers and 1 of text become 3 features", said)
        self.assertEqual([row[0] for row in self.predict(data)[1]], ["0", "1"] * 60)

    def test_written_numbers(self):
        data, new = self.folder / "homes.csv", self.folder / "new.csv"
        draw = random.Random(4)
        with open(data, "w") as file:
            file.write('area;"height, m";tax;price\n')
            for _ in range(200):
                area, height, tax = draw.randint(40, 300), draw.randint(220, 400), draw.randint(1, 9)
                price = 50000 + 2100 * area + 3000 * tax
                comma = f"{height / 100:.2f}".replace(".", ",")
                file.write(f"{area};{comma};{tax} %;${price:,.2f}\n")
        report, said = self.train(data, "--drop", '"height, m"')
        self.assertEqual(report["model"], "linear")
        self.assertIn("training samples of 2 features", said)
        self.assertIn("column 'tax' is read as numbers: '", said)
        self.assertIn("labels are read as numbers: '$", said)
        report, said = self.train(data)
        self.assertIn("2 columns are read as numbers: 'height, m' ('", said)
        self.assertGreater(report["test"]["r2"], 0.9)
        before = self.predict(data)[1]
        new.write_text("200;3,1;5 %\n100;2,5;5%\n")
        _, rows, done = self.predict(new)
        self.assertAlmostEqual(float(rows[0][0]) - float(rows[1][0]), 210000, delta=20000)
        self.assertIn("in the order of the model's table: area, height, m, tax", done.stderr)
        refused = self.run_program("predict", "--model", data, "--data", data, expect=1)
        self.assertIn("homes.csv: is text, such as a table, and no model. --model takes",
                      refused.stderr)
        lines = data.read_text().splitlines()
        data.write_text("\n".join([lines[0] + ";more"] + [line + ";1" for line in lines[1:]]))
        tested = self.run_program("predict", "--model", self.model, "--data", data)
        self.assertIn("the column 'more' is not known to the model and ignored", tested.stderr)
        self.assertEqual(self.predict(data)[1], before)
        for how, code, why in ((("--decimal", "pint"), 2, "--decimal 'pint' is not known"),
                               (("--drop", '"tax'), 2, "a quote is not closed"),
                               (("--label", "Price"), 3, "did you mean 'price'?")):
            with self.subTest(how):
                refused = self.run_program("train", "--data", data, *how, expect=code)
                self.assertIn(why, refused.stderr)

    def test_a_slip_among_prices_makes_no_classes_of_them(self):
        data = self.folder / "slip.csv"
        for slip, why in (("tbd", "'tbd' is not a number, and 99 of 100 different labels are"),
                          ("€95", "do not fit together: its units differ")):
            with self.subTest(slip):
                prices = [f"${50 + row}" if row != 45 else slip for row in range(100)]
                data.write_text("area,price\n" + "".join(f"{row % 17},{price}\n"
                                                          for row, price in enumerate(prices)),
                                encoding="utf-8")
                refused = self.run_program("train", "--data", data, expect=1)
                self.assertIn(why, refused.stderr)
                self.assertIn("make each label a class with --task classify", refused.stderr)
                report, _ = self.train(data, "--task", "classify", "--epochs", 1)
                self.assertEqual(report["model"], "softmax")

    def test_a_pipe_and_test_files(self):
        data, test = self.folder / "shop.csv", self.folder / "test.csv"
        write_shop(data)
        write_flowers(test)
        piped = subprocess.run([PROGRAM, "train", "--data", "-", "--json", "--epochs", "2"],
                               input=data.read_text(), capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(piped.stdout)["classes"], ["no", "yes"])
        write_shop(test, rows=50, seed=5)
        report, _ = self.train(f"{data}:test={test}")
        self.assertGreater(report["test_accuracy"], 0.75)

    def test_other_formats_say_how_to_convert(self):
        data = self.folder / "t.parquet"
        data.write_bytes(b"PAR1" + bytes(100))
        refused = self.run_program("train", "--data", data, expect=1)
        self.assertIn("pandas.read_parquet", refused.stderr)
        self.assertIn(".to_csv", refused.stderr)


if __name__ == "__main__":
    unittest.main()
