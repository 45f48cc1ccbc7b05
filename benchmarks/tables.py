#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `motley train --data FILE`, without other flags, with scikit-learn on ten typical tables.

usage: tables.py MOTLEY_PROGRAM FOLDER [--only NAME,...] [--models linear,mlp] [--flags FLAGS]

Needs scikit-learn (`./dev bench tables` installs it from PyPI into build/tables-venv). Each table
is cut into a training and a test file, 4 to 1, which both get. Small tables are cut five times, and
the means are shown. Figures are computed here from the predictions for the test rows: accuracy, or
R2 of real targets. For scikit-learn, columns are standardised, categories one-hot encoded and
missing values filled by hand, as its users do. Exits with 1 if Motley is more than 2 points of
accuracy, or 0.02 of R2, behind.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.compose import (TransformedTargetRegressor, make_column_selector,
                             make_column_transformer)
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

MAY_LACK = 0.02
SHARED = pathlib.Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def bundled(load, label, names=True):
    """A data set of scikit-learn, with the names of its classes as labels."""
    def make():
        found = load(as_frame=True)
        frame = found.data.copy()
        frame[label] = found.target
        if names and hasattr(found, "target_names"):
            frame[label] = [str(found.target_names[i]) for i in found.target]
        return frame, label
    return make


def digits():
    frame, label = bundled(datasets.load_digits, "digit", names=False)()
    words = "zero one two three four five six seven eight nine".split()
    frame[label] = [words[i] for i in frame[label]]
    return frame, label


def shop(rows=4000):
    draw = np.random.default_rng(1)
    job = draw.choice(["nurse", "clerk", "engineer", "teacher", "retired"], rows)
    city = draw.choice(["Oslo", "Bonn", "Lyon", "Porto"], rows)
    age, income = draw.integers(18, 85, rows), draw.lognormal(10.3, 0.4, rows)
    member = draw.random(rows) < 0.4
    score = (pd.Series(job).map({"nurse": 1.5, "clerk": -1, "engineer": 0.5, "teacher": 0,
                                 "retired": -0.5}) + (age - 50) / 12 + 2 * member
             + np.log(income) - 10.3 + draw.logistic(0, 0.3, rows))
    frame = pd.DataFrame({"job": job, "city": city, "age": age.astype(float), "income": income,
                          "member": member.astype(object)})
    frame = frame.mask(draw.random(frame.shape) < 0.1)
    frame["bought"] = np.where(score > 0.5, "yes", "no")
    return frame, "bought"


def houses(rows=4000):
    draw = np.random.default_rng(2)
    area, rooms = draw.uniform(35, 320, rows), draw.integers(1, 9, rows)
    year, lot = draw.integers(1900, 2021, rows), draw.lognormal(6.5, 0.6, rows)
    district = draw.choice(["north", "south", "east", "west"], rows)
    price = (40000 + 2300 * area + 11000 * rooms + 800 * (year - 1900) + 30 * lot
             + pd.Series(district).map({"north": 0, "south": 60000, "east": 25000, "west": 90000})
             + draw.normal(0, 45000, rows))
    return pd.DataFrame({"area": area.round(1), "rooms": rooms, "year": year, "lot": lot.round(),
                         "district": district, "price": price.round()}), "price"


def clouds():
    data, label = datasets.make_classification(3000, 30, n_informative=12, n_classes=4,
                                               class_sep=1.4, random_state=3)
    frame = pd.DataFrame(data * np.logspace(-3, 4, 30), columns=[f"v{i}" for i in range(30)])
    frame["kind"] = [("red", "green", "blue", "black")[i] for i in label]
    return frame, "kind"


def waves():
    data, target = datasets.make_regression(3000, 25, n_informative=10, noise=40, random_state=4)
    frame = pd.DataFrame(data * np.logspace(-2, 3, 25) + 7, columns=[f"v{i}" for i in range(25)])
    frame["amount"] = target * 1000 + 1e5
    return frame, "amount"


TABLES = {
    "iris": bundled(datasets.load_iris, "species"),
    "wine": bundled(datasets.load_wine, "cultivar"),
    "breast cancer": bundled(datasets.load_breast_cancer, "diagnosis"),
    "digits": digits,
    "diabetes": lambda: bundled(lambda as_frame: datasets.load_diabetes(
        as_frame=as_frame, scaled=False), "progression", names=False)(),
    "shop": shop,
    "houses": houses,
    "a9a": None,
    "clouds": clouds,
    "waves": waves,
}


def peer(kind, real):
    if kind == "mlp":
        options = {"hidden_layer_sizes": (64,), "random_state": 1, "max_iter": 200}
        if not real:
            return MLPClassifier(**options)
        return TransformedTargetRegressor(MLPRegressor(**options), transformer=StandardScaler())
    return Ridge() if real else LogisticRegression(max_iter=1000)


def run_motley(program, kind, train, test, folder, flags):
    model, out = folder / "model.safetensors", folder / "predictions.csv"
    command = [program, "train", "--data", f"{train}:test={test}", "--out", model, "-q", "--json",
               *flags.split()]
    begun = time.monotonic()
    done = subprocess.run(command + (["--model", "mlp:64"] if kind == "mlp" else []), check=False,
                          capture_output=True, text=True)
    seconds = time.monotonic() - begun
    if done.returncode != 0:
        return None, seconds, (done.stderr.strip() or json.loads(done.stdout)["error"]["message"])
    subprocess.run([program, "predict", "--model", model, "--data", test, "--out", out],
                   check=True, capture_output=True)
    return pd.read_csv(out, keep_default_na=False)["prediction"], seconds, ""


def texts(frame):
    """Turns True, False and missing values into words, which scikit-learn's encoder needs."""
    return frame.apply(lambda column: column.astype(str) if column.dtype == object else column)


def split_table(name, folder, seed):
    """Returns the paths of both files, and the features and labels of each for scikit-learn. None: the
    table is not here, or it has no cut of this seed (small tables have five, others one)."""
    if name == "a9a":
        paths = SHARED / "a9a" / "a9a", SHARED / "a9a" / "a9a.t"
        if seed > 0 or not all(path.exists() for path in paths):
            return None
        return *paths, *(datasets.load_svmlight_file(str(path), n_features=123) for path in paths)
    frame, label = TABLES[name]()
    if seed >= (5 if len(frame) < 1000 else 1):
        return None
    parts = train_test_split(frame, test_size=0.2, random_state=seed)
    paths = [folder / f"{name.replace(' ', '-')}-{part}.csv" for part in ("train", "test")]
    for part, path in zip(parts, paths):
        part.to_csv(path, index=False)
    return *paths, *((texts(part.drop(columns=label)), part[label]) for part in parts)


def run_peer(kind, train, test, real):
    if hasattr(train[0], "dtypes"):
        columns = make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
             make_column_selector(dtype_include=np.number)),
            (OneHotEncoder(handle_unknown="ignore"),
             make_column_selector(dtype_exclude=np.number)))
    else:
        columns = MaxAbsScaler()  # Sparse, between 0 and 1.
    pipeline = make_pipeline(columns, peer(kind, real))
    begun = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipeline.fit(*train)
    return pipeline.predict(test[0]), time.monotonic() - begun


def compare(name, kind, given):
    """Prints a line; returns false if Motley is behind."""
    real = name in ("diabetes", "houses", "waves")
    score = r2_score if real else accuracy_score
    lines = []
    while (table := split_table(name, given.folder, len(lines))) is not None:
        train_path, test_path, train, test = table
        expected, peer_seconds = run_peer(kind, train, test, real)
        found, seconds, why = run_motley(given.program, kind, train_path, test_path, given.folder,
                                         given.flags)
        if found is None:
            print(f"| {name} | {kind} | {score(test[1], expected):.4f} | failed: {why} | | |")
            return False
        truth = np.asarray(test[1])
        lines.append((score(truth, expected), score(truth, found if real else
                                                    found.astype(truth.dtype)),
                      peer_seconds, seconds))
    if not lines:
        print(f"| {name} | {kind} | skipped: there is no {SHARED}/{name} | | | |", flush=True)
        return True
    wanted, got, peer_seconds, seconds = np.mean(lines, axis=0)
    print(f"| {name} | {kind} | {wanted:.4f} | {got:.4f} | {wanted - got:+.4f} | "
          f"{peer_seconds:.2f} / {seconds:.2f} |", flush=True)
    return wanted - got <= MAY_LACK


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("program")
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--only", default=",".join(TABLES), help="names, separated by commas")
    arguments.add_argument("--models", default="linear,mlp")
    arguments.add_argument("--flags", default="", help="more flags for motley train: --flags='--lr 0.1'")
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    behind = []
    print("| table | model | scikit-learn | motley | behind by | seconds, scikit-learn / motley |")
    print("|---|---|---|---|---|---|")
    for name in given.only.split(","):
        if name not in TABLES:
            sys.exit(f"tables.py: there is no table '{name}': {', '.join(TABLES)}")
        for kind in given.models.split(","):
            if not compare(name, kind, given):
                behind.append(f"{name} ({kind})")
    if behind:
        sys.exit(f"behind by more than {MAY_LACK}: {', '.join(behind)}")


if __name__ == "__main__":
    main()
