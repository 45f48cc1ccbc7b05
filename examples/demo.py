#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demonstration of `./dev demo`: four unequal workers, compared with all-reduce.

One worker is paused for two seconds and another is killed. Motley really trains this way, with leases
(`--code adaptive`). All-reduce is calculated: its workers have equal shares, and each step takes as long as the
slowest of them. A short run with equal shares and no late workers checks the calculation.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).parent / "data" / "digits.csv.gz"
SPEEDS = [1, 1, 0.5, 0.25]
SAMPLES, BATCH, STEPS, SAMPLE_MS = 1438, 128, 240, 1
PAUSED_AT, PAUSE_S, KILLED_AT = STEPS // 4, 2, STEPS // 2
PAUSED, KILLED = 1, 2
STEPS_PER_EPOCH = -(-SAMPLES // BATCH)
COMMON = ["--data", str(DATA), "--split", "0.8", "--model", "mlp:256", "--optimizer", "nag",
          "--batch", str(BATCH), "--seed", "7", "--workers", str(len(SPEEDS)),
          "--worker-speeds", ",".join(map(str, SPEEDS)), "--sample-time", f"{SAMPLE_MS}ms"]
TARGET = 0.95


def train(motley, title, *options):
    """Returns the result, and the seconds between the updates of consecutive steps (none for step 0)."""
    print(f"\n{title}", flush=True)
    command = [motley, "train", *COMMON, *options]
    print("  motley " + " ".join(command[1:]), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "run.jsonl"
        run = subprocess.run([*command, "--log", log, "--json"], stdout=subprocess.PIPE, text=True)
        if run.returncode != 0:
            sys.exit(run.returncode)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    ends = [line["seconds"] for line in lines if line["kind"] == "step"]
    return json.loads(run.stdout), [None] + [after - before for before, after in zip(ends, ends[1:])]


def batch_of(step):
    """Samples of a step; an epoch's last step has the rest."""
    last = step % STEPS_PER_EPOCH == STEPS_PER_EPOCH - 1
    return SAMPLES - (STEPS_PER_EPOCH - 1) * BATCH if last else BATCH


def all_reduce_step(step):
    """Seconds of a step with equal shares. It waits for the slowest worker, even a paused one."""
    seconds = batch_of(step) / len(SPEEDS) * SAMPLE_MS / 1e3 / min(SPEEDS)
    return seconds + (PAUSE_S if step == PAUSED_AT else 0)


def ideal_step(speeds):
    """Seconds of a whole batch if the work were divided without any loss."""
    return BATCH * SAMPLE_MS / 1e3 / sum(speeds)


def table(result):
    print(f"\n  {'worker':<10}{'speed':>7}{'share':>8}{'in time':>9}{'late':>6}  lost")
    total = sum(w["samples"] for w in result["workers"]) or 1
    for worker in result["workers"]:
        share = worker["samples"] / total
        print(f"  {worker['name']:<10}{worker['relative_speed']:>7.2f}{share:>8.0%}"
              f"{worker['steps_in_time']:>9}{worker['late']:>6}  {'yes' if worker['lost'] else 'no'}")


def full_steps(seconds, begin, end):
    """Median milliseconds of steps with a whole batch."""
    return 1e3 * statistics.median(seconds[step] for step in range(begin, end)
                                   if seconds[step] and batch_of(step) == BATCH)


def compare(result, seconds):
    left = [speed for worker, speed in enumerate(SPEEDS) if worker != KILLED]
    longest = max(seconds[PAUSED_AT:PAUSED_AT + STEPS_PER_EPOCH])
    before = full_steps(seconds, 1, PAUSED_AT)
    after = full_steps(seconds, KILLED_AT + STEPS_PER_EPOCH, STEPS)
    all_steps = sum(map(all_reduce_step, range(STEPS)))
    rows = [
        ("nothing goes wrong", f"{1e3 * all_reduce_step(0):.0f} ms a step", f"{before:.0f} ms a step",
         f"{1e3 * ideal_step(SPEEDS):.0f} ms"),
        (f"one worker pauses for {PAUSE_S} s",
         f"one step takes {1e3 * all_reduce_step(PAUSED_AT):.0f} ms",
         f"no step takes more than {1e3 * longest:.0f} ms", ""),
        ("one worker is killed", "the job ends or hangs", f"{after:.0f} ms a step",
         f"{1e3 * ideal_step(left):.0f} ms"),
        (f"{STEPS} steps", f"{all_steps:.0f} s, if nobody dies",
         f"{result['wall_seconds']:.0f} s", ""),
    ]
    print(f"\n  {'':<28}{'all-reduce, calculated':<26}{'Motley, measured':<34}the best possible")
    for what, theirs, ours, best in rows:
        print(f"  {what:<28}{theirs:<26}{ours:<34}{best}".rstrip())


def main():
    motley = sys.argv[1]
    result, seconds = train(
        motley,
        f"Motley on workers of speeds {SPEEDS}. Each gets work in proportion to its speed. Worker\n"
        f"{PAUSED} is stopped for {PAUSE_S} s at step {PAUSED_AT}, and worker {KILLED} is killed at "
        f"step {KILLED_AT}: others take over the\nwork they have not begun.",
        "--steps", str(STEPS), "--code", "adaptive",
        "--fault", f"pause:{PAUSED}@step={PAUSED_AT},{PAUSE_S}s",
        "--fault", f"kill:{KILLED}@step={KILLED_AT}")
    table(result)
    equal, equal_seconds = train(
        motley,
        "To check the calculation: equal shares, as in all-reduce, for three epochs without late\n"
        "workers.",
        "--steps", str(3 * STEPS_PER_EPOCH), "--code", "none", "--shares", "equal", "--quiet")
    measured = full_steps(equal_seconds, STEPS_PER_EPOCH, equal["steps"])
    print(f"  {measured:.0f} ms a step, {1e3 * all_reduce_step(0):.0f} ms calculated")
    compare(result, seconds)
    print(f"\n  {result['steps']} steps were done and {result['discarded_steps']} discarded. The "
          f"gradients agree with direct sums to {result['max_decode_error']:.0e}:\n"
          f"  the model is the same whichever workers answered. Its test accuracy is "
          f"{result['test_accuracy']:.1%}.\n\n"
          "  Nothing was computed twice. Codes that protect each step against missing workers compute\n"
          "  everything twice or more: motley help choosing-codes.")
    if result["test_accuracy"] < TARGET:
        print(f"demo: test accuracy is below {TARGET:.0%}: please report this.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
