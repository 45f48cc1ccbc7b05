# SPDX-License-Identifier: Apache-2.0
"""Cuts a worker's work into chunks for the user's loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from ..step import Step
from ..trainer import IndexArray

#: Chunks of fewer samples waste more time than they save.
FEWEST_SAMPLES = 32
#: Seconds that a chunk should take: a worker notices this often that nobody needs its work any more.
CHUNK_SECONDS = 0.05


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Samples for one turn of the loop. They have the same weights in each of the work's vectors."""

    positions: IndexArray
    run: int  #: Loss and weight are recorded at this run.
    weights: tuple[float, ...]
    draws: tuple[int, ...] | None  #: Seeds of random numbers, beside the job's; None: the chunk draws none.


class Pace:
    """How many samples a chunk should have, from the time that earlier ones took."""

    def __init__(self, fixed: int | None) -> None:
        self._fixed = fixed
        self._seconds_of_sample = 0.0

    @property
    def samples(self) -> int:
        if self._fixed is not None:
            return self._fixed
        if self._seconds_of_sample == 0:
            return FEWEST_SAMPLES
        return max(FEWEST_SAMPLES, int(CHUNK_SECONDS / self._seconds_of_sample))

    def took(self, samples: int, seconds: float) -> None:
        measured = max(seconds / samples, 1e-9)
        before = self._seconds_of_sample or measured
        self._seconds_of_sample = before + 0.2 * (measured - before)


def cut(positions: IndexArray, most: int) -> list[IndexArray]:
    """Pieces of at most `most` samples, as equal as possible."""
    pieces = -(-len(positions) // most)
    ends = [len(positions) * piece // pieces for piece in range(pieces + 1)]
    return [positions[begin:end] for begin, end in zip(ends, ends[1:])]


def halves(chunk: Chunk) -> list[Chunk]:
    return [dataclasses.replace(chunk, positions=part) for part in cut(chunk.positions, -(-len(chunk.positions) // 2))]


def by_parts(positions: IndexArray, samples: int, partitions: int) -> list[IndexArray]:
    """The batch's samples in each part of the data set, which the library cuts into parts of equal size.

    The first parts have one sample more if the size is not whole. Some may have none in the batch.
    """
    part = np.arange(partitions + 1)
    ends = samples // partitions * part + np.minimum(samples % partitions, part)
    begins = np.searchsorted(positions, ends)
    return [positions[begin:end] for begin, end in zip(begins, begins[1:])]


def whole_groups(work: Step, pace: Pace) -> Iterator[Chunk]:
    """Chunks across the partitions of a group, for loops that draw no random numbers."""
    groups: dict[int, list[int]] = {}
    for number, run in enumerate(work.runs):
        groups.setdefault(run.group, []).append(number)
    for numbers in groups.values():
        runs = [work.runs[number] for number in numbers]
        left = np.concatenate([work.samples[run.first:run.first + run.count] for run in runs])
        while len(left) > 0:
            count = len(cut(left, pace.samples)[0])
            yield Chunk(left[:count], numbers[0], runs[0].weights, None)
            left = left[count:]


def by_partition(work: Step, most: int | None) -> Iterator[Chunk]:
    """Chunks within partitions, whose cut is the same on every worker."""
    for number, run in enumerate(work.runs):
        positions = work.samples[run.first:run.first + run.count]
        for piece, draws in within(positions, work.step, run.partition, most):
            yield Chunk(piece, number, run.weights, draws)


def within(positions: IndexArray, step: int, partition: int,
           most: int | None) -> Iterator[tuple[IndexArray, tuple[int, ...]]]:
    """Chunks of one partition's samples, each with the numbers that seed its random numbers beside the job's seed."""
    if len(positions) > 0:
        for number, piece in enumerate(cut(positions, most or len(positions))):
            yield piece, (step, partition, number)
