# SPDX-License-Identifier: Apache-2.0
"""Motley trains one model on machines that are not alike: exact gradients, and no step waits for a slow worker.

* train: a built-in model, or a gradient in NumPy
* Job: every role and option, events and numbers during the run
* evaluate, predict: saved models
* checkpoint: list, verify, restore and export checkpoints
* motley.sklearn: scikit-learn's estimators over the built-in models
"""

from . import checkpoint
from ._library import abi_version, version
from .data import Data
from .errors import (
    CallbackError,
    Cancelled,
    Conflict,
    DataError,
    Error,
    InternalError,
    InvalidArgument,
    NotDecodable,
    NotFound,
    PermissionDenied,
    ResourceError,
    Unavailable,
    last_error,
    status_name,
)
from .event import Event, EventKind
from .job import Job
from .metrics import Metrics, WorkerMetrics, WorkerState
from .model import Evaluation, Prediction, evaluate, predict
from .options import JobOptions
from .step import Group, Run, Step, StepKind, batch_samples
from .train import train
from .trainer import Batch, Trainer

__version__ = version()
__all__ = [
    "Batch", "CallbackError", "Cancelled", "Conflict", "Data", "DataError", "Error", "Evaluation",
    "Event", "EventKind", "Group", "InternalError", "InvalidArgument", "Job", "JobOptions", "Metrics",
    "NotDecodable", "NotFound", "PermissionDenied", "Prediction", "ResourceError", "Run", "Step",
    "StepKind", "Trainer", "Unavailable", "WorkerMetrics", "WorkerState", "abi_version",
    "batch_samples", "checkpoint", "evaluate", "last_error", "predict", "status_name", "train",
    "version",
]
