# SPDX-License-Identifier: Apache-2.0
"""Finds what would make a gradient depend on which samples share a chunk, before it goes wrong."""

from __future__ import annotations

import math
from typing import Any

import torch

from .errors import Refused
from .turns import Turn

BatchNorm = torch.nn.modules.batchnorm._BatchNorm


def check_optimizer(optimizer: torch.optim.Optimizer) -> None:
    """Refuses optimizers that need more than one dense gradient for a step."""
    if isinstance(optimizer, torch.optim.LBFGS):
        raise Refused("LBFGS computes the loss several times in a step, and a step here has one gradient: use SGD, "
                      "Adam, AdamW or another optimizer that needs no closure")
    if isinstance(optimizer, torch.optim.SparseAdam):
        raise Refused("SparseAdam takes sparse gradients, and gradients travel as dense vectors: use Adam")


def check_sync(sync: Any) -> None:
    """Refuses modes of synchronisation that a script's own loop cannot run."""
    if not isinstance(sync, str) or sync == "bsp" or sync.startswith("backup:"):
        return
    raise Refused(f"sync={sync!r}: a script's own loop runs bsp, the default, and backup:B. Its optimizer.step() is "
                  "one update that all workers share, and in the other modes each worker makes updates of its own. "
                  "Leave sync out, or give sync='backup:1', so that no update waits for the last answer. motley.train "
                  "runs all modes, with a gradient function in place of the loop")


def check_model(model: torch.nn.Module) -> None:
    """Refuses modules whose gradient depends on other samples, as they are now."""
    for name, module in model.named_modules():
        if isinstance(module, BatchNorm) and module.training:
            raise Refused(batch_norm_message(name, module))
        if getattr(module, "sparse", False) is True and isinstance(
                module, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
            raise Refused(f"{name or type(module).__name__} makes sparse gradients, and gradients travel as dense "
                          "vectors: make it with sparse=False")


def batch_norm_message(name: str, module: torch.nn.Module) -> str:
    where = f"{name} ({type(module).__name__})" if name else type(module).__name__
    return (f"{where} is in training mode: its output for a sample depends on the other samples of a chunk, so the "
            "result would depend on which worker computed what. Use GroupNorm or LayerNorm, or freeze its statistics "
            "by calling .eval() on it after model.train()")


#: Losses of these types are equal to rounding if they differ by less than this part of their size.
CLOSE = {torch.float32: 1e-3, torch.float64: 1e-3}
CLOSE_IN_16_BITS = 0.02
#: Chunks whose losses are looked at, if those of the first ones show nothing.
MOST_TRIALS = 5
#: Fewer samples would make halves of one sample, which a loop may not be made for.
FEWEST_TO_HALVE = 4


def check_mean(whole: Turn, halves: list[Turn]) -> bool:
    """Refuses a loss that is no mean over samples: it differs from the mean of the losses of the chunk's halves.

    Returns False if these losses cannot show it.
    """
    own, (first, second) = whole.loss(), [half.loss() for half in halves]
    parts = [half.weight * half.loss() for half in halves]
    size = sum(abs(part) for part in parts)
    difference = abs(whole.weight * own - sum(parts))
    # Where positive and negative terms cancel, the halves differ, and rounding may be large beside what is left.
    alike = abs(first - second) <= 0.25 * (abs(first) + abs(second))
    close = max(CLOSE.get(loss.dtype, CLOSE_IN_16_BITS) for loss in whole.losses)
    if not alike or not math.isfinite(difference):
        return False
    if difference > close * size:
        raise Refused(
            f"the loss of {whole.samples} samples is {own:.6g}, and that of their halves {first:.6g} and {second:.6g}, "
            "so it is no mean over samples, and the result would depend on which worker computed what. Losses that "
            "compare the samples of a batch (contrastive losses, in-batch negatives) cannot be trained so. For a sum, "
            "take the mean. For a mean over something else, like tokens, give their number to loader.weight() before "
            "backward(). If the loss changes with every turn for another reason, give check_loss=False to the loader")
    return True


class NoScaling:
    """Refuses GradScaler until remove(): it multiplies the losses, and changes the gradients of a part of the batch."""

    def __init__(self) -> None:
        self._scaler: Any = getattr(torch.amp, "GradScaler", None) or getattr(torch.cuda.amp, "GradScaler")
        self._original = original = self._scaler.scale

        def scale(scaler: Any, outputs: Any) -> Any:
            if scaler.is_enabled():
                raise Refused("a GradScaler changes the gradients of a part of the batch: use autocast with bfloat16, "
                              "which needs none, or float32")
            return original(scaler, outputs)

        self._scaler.scale = scale

    def remove(self) -> None:
        self._scaler.scale = self._original


def watch(model: torch.nn.Module) -> list[Any]:
    """Refuses what shows only when it is used: BatchNorm in training mode, and a GradScaler.

    Returns what ends this by remove().
    """

    def hook(name: str) -> Any:
        def refuse(module: torch.nn.Module, _inputs: Any) -> None:
            if module.training:
                raise Refused(batch_norm_message(name, module))
        return refuse

    hooks = [module.register_forward_pre_hook(hook(name)) for name, module in model.named_modules()
             if isinstance(module, BatchNorm)]
    return [*hooks, NoScaling()]
