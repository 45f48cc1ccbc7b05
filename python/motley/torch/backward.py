# SPDX-License-Identifier: Apache-2.0
"""Catches the loss where the loop calls backward()."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from .errors import Refused

#: Gets the loss before its backward pass, and returns the factor of its gradient (None: 1).
Caught = Callable[[torch.Tensor], "float | None"]


def _nothing() -> None:
    pass


class BackwardCalls:
    """While installed, passes the losses of this thread's backward() calls to a function.

    Tensor.backward calls torch.autograd.backward, so both are caught. Calls within a backward pass (from
    torch.utils.checkpoint) and calls of other threads are left alone.
    """

    def __init__(self, caught: Caught, passed: Callable[[], None] = _nothing) -> None:
        """`passed` is called after each such backward pass."""
        self._caught = caught
        self._passed = passed
        self._original: Any = None
        self._thread = 0
        self._within = False

    def install(self) -> None:
        if self._original is not None:
            return
        self._original, self._thread = torch.autograd.backward, threading.get_ident()
        original = self._original

        def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None,
                     create_graph: bool = False, *others: Any, **named: Any) -> None:
            if self._within or threading.get_ident() != self._thread:
                original(tensors, grad_tensors, retain_graph, create_graph, *others, **named)
                return
            loss = _one_number(tensors)
            if create_graph:
                raise Refused("backward(create_graph=True) replaces .grad, which belongs to the step here: use "
                              "torch.autograd.grad(..., create_graph=True) for gradient penalties, and then backward() "
                              "without it")
            given = _one_number(grad_tensors) if grad_tensors is not None else None
            factor = self._caught(loss if given is None else loss * given)
            if factor is not None:
                scaled = torch.full_like(loss, factor)
                given = scaled if given is None else scaled * given
            self._within = True
            try:
                original(loss, given, retain_graph, create_graph, *others, **named)
            finally:
                self._within = False
            self._passed()

        torch.autograd.backward = backward

    def remove(self) -> None:
        if self._original is not None:
            torch.autograd.backward, self._original = self._original, None


def _one_number(tensors: Any) -> torch.Tensor:
    found = tensors
    if isinstance(tensors, (tuple, list)) and len(tensors) == 1:
        found = tensors[0]
    if not isinstance(found, torch.Tensor) or found.numel() != 1:
        raise Refused("backward() was called on something else than one number: take the mean of the chunk's losses "
                      "before backward()")
    return found
