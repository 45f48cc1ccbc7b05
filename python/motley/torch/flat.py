# SPDX-License-Identifier: Apache-2.0
"""The parameters of a module as one vector of float32, which is what travels between processes."""

from __future__ import annotations

import ctypes
import dataclasses
import os
from collections.abc import Iterator
from typing import Any

import torch
from torch.multiprocessing import reductions

from ..trainer import FloatArray
from .errors import Refused

#: Types of parameters that a float32 holds exactly.
EXACT_TYPES = (torch.float32, torch.bfloat16)


def over(vector: FloatArray) -> torch.Tensor:
    """A tensor over the memory of an array, which may be read-only: torch.from_numpy would warn about it."""
    if vector.size == 0:
        return torch.empty(0)
    memory = (ctypes.c_float * vector.size).from_address(vector.ctypes.data)
    return torch.frombuffer(memory, dtype=torch.float32)


class Loan:
    """A tensor over memory that must be given back, although somebody may have kept a view of the tensor."""

    def __init__(self, vector: FloatArray) -> None:
        kind: Any = type("Memory", (ctypes.c_float * vector.size,), {})  # Only subclasses have attributes.
        memory = kind.from_address(vector.ctypes.data)
        memory.vector = vector
        self.tensor: torch.Tensor | None = torch.frombuffer(memory, dtype=torch.float32)
        self._bytes = 4 * vector.size
        tensor: Any = self.tensor  # PyTorch has no types for some of these, and 1.13 has no untyped_storage.
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage().untyped()
        weak_reference: Any = reductions.StorageWeakRef
        self._storage: Any = weak_reference(storage)

    def kept(self) -> bool:
        """Drops the tensor, and returns True if somebody else still has it or a view of it."""
        self.tensor = None
        return not bool(self._storage.expired())

    def copy(self) -> None:
        """Gives what others kept memory of its own, with the same values."""
        if _free_shared_memory() < self._bytes:
            raise Refused(f"the loop keeps p.grad, whose {self._bytes} bytes are gone after the step, and /dev/shm has "
                          "no room for a copy: keep p.grad.clone()")
        # Moves the storage of all views at once.
        torch.UntypedStorage._new_with_weak_ptr(self._storage.cdata).share_memory_()


def _free_shared_memory() -> int:
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize


@dataclasses.dataclass
class Segment:
    """Neighbours in the vector with the same type and device: they share one tensor for their values."""

    begin: int
    end: int
    values: torch.Tensor


def trained_parameters(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[torch.nn.Parameter]:
    """The parameters that the optimizer changes, in the order of its groups. Refused: one cannot be sent."""
    found = [parameter for group in optimizer.param_groups for parameter in group["params"] if parameter.requires_grad]
    if not found:
        raise Refused("the optimizer has no parameter that requires a gradient: give it model.parameters()")
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    seen: dict[Any, str] = {}
    for number, parameter in enumerate(found):
        name = names.get(id(parameter), f"parameter {number} of the optimizer")
        _check(parameter, name, seen)
    return found


def _check(parameter: torch.nn.Parameter, name: str, seen: dict[Any, str]) -> None:
    if isinstance(parameter, torch.nn.parameter.UninitializedParameter):
        raise Refused(f"{name} has no shape yet: run the model once on a sample before you make the loader")
    if parameter.layout != torch.strided:
        raise Refused(f"{name} is sparse: only dense parameters can be trained")
    if parameter.dtype not in EXACT_TYPES:
        kind = str(parameter.dtype).replace("torch.", "")
        raise Refused(f"{name} is {kind}, and parameters travel as float32: call model.float(), or model.bfloat16()")
    if parameter.numel() > 0:
        place = (parameter.device, parameter.data_ptr())
        if place in seen:
            raise Refused(f"{name} and {seen[place]} are two parameters over the same memory: to share weights, assign "
                          "the same torch.nn.Parameter to both modules")
        seen[place] = name


def _dense(parameter: torch.Tensor) -> bool:
    """True if the elements fill their memory without gaps, in any order of the dimensions (channels_last)."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(parameter.stride(), parameter.shape) if size > 1):
        if stride != expected:
            return False
        expected *= size
    return True


def view_of(flat: torch.Tensor, begin: int, parameter: torch.Tensor) -> torch.Tensor:
    """The parameter's part of a flat tensor, in its shape and order in memory."""
    if parameter.is_contiguous() or not _dense(parameter):
        return flat[begin:begin + parameter.numel()].view(parameter.shape)
    return flat.as_strided(parameter.shape, parameter.stride(), begin)


class FlatParameters:
    """Moves parameters into flat tensors: every `p.data` is a view of them.

    Every `p.grad` is one, too, from own_gradients() or place_gradients() to drop_gradients(). Parameters keep their
    identity, type and device, so optimizers and hooks go on working. One thread at a time.
    """

    def __init__(self, parameters: list[torch.nn.Parameter]) -> None:
        self._parameters = parameters
        self.segments: list[Segment] = []
        self._own: list[torch.Tensor] = []  # Gradients by segment, if own_gradients() was called.
        self._placed: list[torch.Tensor] = []  # Where the gradients are now, by segment.
        self._gradients: list[torch.Tensor] = []  # Their views, by parameter.
        self._views: list[torch.Tensor] = []
        self._spots: list[tuple[int, int]] = []  # The segment and the place in it, by view.
        begin = 0
        with torch.no_grad():
            for group in _alike(parameters):
                count = sum(parameter.numel() for parameter in group)
                values = torch.empty(count, dtype=group[0].dtype, device=group[0].device)
                segment = Segment(begin, begin + count, values)
                at = 0
                for parameter in group:
                    view = view_of(values, at, parameter)
                    view.copy_(parameter)
                    parameter.data = view
                    self._views.append(view)
                    self._spots.append((len(self.segments), at))
                    at += parameter.numel()
                self.segments.append(segment)
                begin += count
        self.count = begin
        self.devices = {segment.values.device for segment in self.segments}

    @property
    def all_float32(self) -> bool:
        return all(segment.values.dtype == torch.float32 for segment in self.segments)

    @property
    def travels_as_it_is(self) -> bool:
        """The parameters are one vector of float32 in the processor's memory."""
        return self.count > 0 and self.all_float32 and self.devices == {torch.device("cpu")}

    def load(self, vector: FloatArray) -> None:
        """Sets the parameters from `count` floats."""
        source = over(vector)
        for segment in self.segments:
            segment.values.copy_(source[segment.begin:segment.end])

    def store(self, vector: FloatArray) -> None:
        """Writes the parameters into `count` floats."""
        target = over(vector)
        for segment in self.segments:
            target[segment.begin:segment.end].copy_(segment.values)

    def load_gradients(self, vector: FloatArray) -> None:
        """Sets the gradients from `count` floats, and makes every p.grad its view."""
        self.own_gradients(clear=False)
        source = over(vector)
        for segment, gradients in zip(self.segments, self._placed):
            gradients.copy_(source[segment.begin:segment.end])

    def check(self) -> None:
        """Refuses parameters that are no longer views: they would neither be read nor changed."""
        for number, (parameter, view) in enumerate(zip(self._parameters, self._views)):
            if (parameter.data_ptr(), parameter.shape, parameter.stride()) != (view.data_ptr(), view.shape,
                                                                               view.stride()):
                raise Refused(f"parameter {number} of the optimizer got other memory after the loader was made, by "
                              "`p.data = ...`, model.to() or vector_to_parameters(): use p.copy_() under "
                              "torch.no_grad(), and call model.to() before the loader is made")

    def mark(self) -> int:
        """A number that almost surely is another one after any change of the parameters: the sum of their bits."""
        whole = {torch.float32: torch.int32, torch.bfloat16: torch.int16}
        return sum(int(segment.values.view(whole[segment.values.dtype]).sum()) for segment in self.segments)

    def own_gradients(self, clear: bool = True) -> None:
        """Makes every p.grad a view of this object's memory."""
        if not self._own:
            self._own = [torch.zeros_like(segment.values) for segment in self.segments]
        elif clear:
            for gradients in self._own:
                gradients.zero_()
        self._place(self._own)

    def place_gradients(self, vector: FloatArray) -> Loan:
        """Makes every p.grad a view of `count` floats, if the parameters travel as they are.

        The loan may end after drop_gradients().
        """
        loan = Loan(vector)
        assert loan.tensor is not None
        self._place([loan.tensor])
        return loan

    def _place(self, gradients: list[torch.Tensor]) -> None:
        if self._placed is not gradients:
            self._placed = gradients
            self._gradients = [view_of(gradients[segment], begin, view)
                               for (segment, begin), view in zip(self._spots, self._views)]
        for parameter, view in zip(self._parameters, self._gradients):
            parameter.grad = view

    def clear_gradients(self) -> None:
        for gradients in self._placed:
            gradients.zero_()

    def bind_gradients(self) -> None:
        """Makes every p.grad its view. Gradients that others made meanwhile are added to the views."""
        with torch.no_grad():
            for parameter, view in zip(self._parameters, self._gradients):
                found = parameter.grad
                if found is view:
                    continue
                if found is not None:
                    view.add_(found)
                parameter.grad = view

    def drop_gradients(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None
        if self._placed is not self._own:
            self._placed, self._gradients = [], []

    def changes(self) -> int:
        """A number that grows with every change of the gradients in place."""
        return sum(gradients._version for gradients in self._placed)

    def add_gradients(self, vector: FloatArray, factor: float) -> None:
        """Adds factor * gradients to `count` floats."""
        target = over(vector)
        for segment, placed in zip(self.segments, self._placed):
            gradients = placed.to(device="cpu", dtype=torch.float32)
            target[segment.begin:segment.end].add_(gradients, alpha=factor)


def _alike(parameters: list[torch.nn.Parameter]) -> Iterator[list[torch.nn.Parameter]]:
    """The parameters in order, cut where the type or the device changes."""
    group: list[torch.nn.Parameter] = []
    for parameter in parameters:
        if group and (group[0].dtype, group[0].device) != (parameter.dtype, parameter.device):
            yield group
            group = []
        group.append(parameter)
    yield group
