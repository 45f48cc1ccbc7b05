# SPDX-License-Identifier: Apache-2.0
"""Tests saved models, and predicts with them."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from ._library import ffi, lib, new
from .data import Data, DataFile
from .errors import check, c_text, text
from .event import Events, read_event


@dataclasses.dataclass(frozen=True, slots=True)
class Evaluation:
    """Scores of a model on labelled samples. Scores that do not apply to the model are NaN."""

    classifies: bool  #: False: regression.
    count: int  #: Number of samples.
    loss: float  #: Mean of what training minimises; for regression half of the squared error.
    accuracy: float  #: Within 0 and 1; 0 for regression.
    f1: float  #: The mean over the classes.
    log_loss: float  #: Models whose scores are probabilities (all but hinge).
    auc: float  #: Two classes: area under the ROC curve.
    r2: float  #: Regression: 1 - squared errors / squared deviations of the labels.
    rmse: float  #: Regression: root of the mean squared error.
    mae: float  #: Regression: mean absolute error.
    details: dict[str, Any]  #: What `motley predict --json` prints, with the confusion matrix.


@dataclasses.dataclass(frozen=True, slots=True)
class Prediction:
    """Predictions in the samples' order."""

    values: npt.NDArray[Any]  #: Classes or numbers, or N x classes probabilities.
    evaluation: Evaluation | None  #: If all samples have labels.


def evaluate(model: str | os.PathLike[str], data: Data, *, label: str | None = None) -> Evaluation:
    """Tests the model in a safetensors file on labelled samples, or on the data's test samples if it has some.

    NotFound: a file is missing. DataError: a file's content does not fit.
    """
    made, source = new("motley_evaluation"), DataFile(data)
    try:
        check(lib.motley_evaluate(c_text("model", model), c_text("data", source.path),
                                  ffi.NULL if label is None else c_text("label", label), made))
    finally:
        source.close()
    return _read(made)


def predict(model: str | os.PathLike[str], data: Data | npt.ArrayLike, *, label: str | None = None,
            probabilities: bool = False, out: str | os.PathLike[str] | None = None,
            events: Events | None = None) -> Prediction:
    """Predicts each sample's class, written as in the training data, or its number in a regression.

    `data` is a path, (features, labels) or an array of N x D features. `out` also keeps the predictions: "FILE.npy" as
    NPY, any other name as CSV. `probabilities` gives those of all classes instead, in the order of the training's
    classes. `events` gets the notices. Raises as evaluate() does; InvalidArgument: the data has neither columns nor
    names that fit.
    """
    made, evaluation, count = new("motley_predict_options"), new("motley_evaluation"), ffi.new("uint64_t *")
    source = DataFile(data, labelled=False)
    with tempfile.TemporaryDirectory(prefix="motley-") as folder:
        array = pathlib.Path(folder) / "predictions.npy"
        failures: list[BaseException] = []

        def notice(_context: Any, event: Any) -> None:
            try:
                if events is not None and not failures:
                    events(read_event(event))
            except BaseException as error:  # It must not pass through C.
                failures.append(error)

        texts = {"model": c_text("model", model), "data": c_text("data", source.path),
                 "out": c_text("out", array), "label": ffi.NULL if label is None else c_text("label", label)}
        for name, chars in texts.items():
            setattr(made, name, chars)
        made.probabilities = probabilities
        callback = ffi.callback("motley_event_callback", notice)
        made.notice = callback
        try:
            check(lib.motley_predict(made, evaluation, count))
            found = _read(evaluation) if evaluation.count > 0 else None
            if out is not None and not failures:
                kept = c_text("out", out)
                made.out, made.notice = kept, ffi.NULL
                check(lib.motley_predict(made, ffi.NULL, ffi.NULL))
        finally:
            source.close()
        if failures:
            raise failures[0]
        return Prediction(np.load(array), found)


def _read(evaluation: Any) -> Evaluation:
    details = lib.motley_last_evaluation()
    names = [field.name for field in dataclasses.fields(Evaluation) if field.name not in ("classifies", "details")]
    return Evaluation(classifies=bool(evaluation.classifies), **{name: getattr(evaluation, name) for name in names},
                      details={} if details == ffi.NULL else json.loads(text(details)))
