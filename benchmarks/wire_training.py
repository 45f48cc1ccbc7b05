#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains an MLP of 23 million parameters on machines with links of limited speed, beside PyTorch DDP over gloo.

Usage: wire_training.py MOTLEY [--json] [--links MBITS,...] [--hidden N,N] [--batch B] [--steps N] [--systems NAME,...]
[--faults NAME,...] [--local H] [--ahead K] [--optimizer NAME] [--rate X] [--data PATH[:test=FILE]]
[--checkpoint-every N] [--wire FORMAT]. Run by `./dev bench training`.

Each machine is a network namespace, and its link to the switch is limited in both directions. Every worker has a
machine of its own, and so has Motley's server. The faults all strike one worker, which owns a part of the vector:

    none    nothing
    pause   it stands still for 2 s in every 10 s (SIGSTOP), first after 3 s
    slow    it has a fifth of its time (SIGSTOP for 80 of every 100 ms)
    kill    it is killed after a third of the steps

The system `local` is Motley with `--sync local:H,K`: its steps are rounds of H steps of every worker,
on batches that together have B samples.

Prints steps per second, over all steps, and for Motley the samples per second, and the bytes that
leave all machines for a sample, both from the first step that it reports to the last. DDP waits for
its slowest member, and it ends or hangs when one is killed. With `--data`, Motley trains on these
samples instead of random ones, and its rows have the `test_loss` (mean log loss) at the end. JSON: an array of
`system, fault, links, megabytes, workers, seconds, bound_seconds, outcome`; `seconds` is the mean
time of a step, and `bound_seconds` the least time that a sum of these vectors takes on these links
(benchmarks/wire.py). Motley's rows also have `samples_per_second` and `bytes_per_sample`. With
`--checkpoint-every N`, `seconds_after_checkpoint` has N medians: the time of the step whose version
is saved, of the next step, and so on.

Needs root, `ip` and `tc`; exits with 77 where it cannot make limited links.
"""

import argparse
import contextlib
import json
import pathlib
import random
import re
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

import peer_tools
from wire import Case, Lab, numbers

HERE = pathlib.Path(__file__).parent
PORT = 7460
INPUTS, CLASSES, SAMPLES = 784, 10, 2048
FAULTS = ("none", "pause", "slow", "kill")
TOKEN = "bench-wire-training"


class Failed(Exception):
    pass


class Disturber(peer_tools.Striker):
    """Strikes one process with a fault until it is closed."""

    def __init__(self, fault, process):
        super().__init__(process, {"pause": (3, 2, 8), "slow": (0, 0.08, 0.02)}.get(fault))
        self.fault = fault

    def step(self, step, steps):
        if self.fault == "kill" and step >= steps // 3:
            self.signal(signal.SIGKILL)


def start(lab, machine, words, ends, **options):
    environment = dict(peer_tools.ENVIRONMENT, MOTLEY_TOKEN=TOKEN)
    process = subprocess.Popen([*lab.on(machine), *map(str, words)], stdin=subprocess.DEVNULL, text=True,
                               env=environment, **options)
    ends.callback(process.wait)
    ends.callback(process.kill)
    return process


def samples(folder):
    """A folder in MNIST's layout with random pixels and labels."""
    random.seed(7)
    for part, count in (("train", SAMPLES), ("t10k", 64)):
        header = struct.pack(">4I", 0x803, count, 28, 28)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(header + random.randbytes(count * INPUTS))
        labels = bytes(random.randrange(CLASSES) for _ in range(count))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, count) + labels)
    return folder


def size(parameters, links):
    """The columns of a row that a model of so many parameters decides."""
    megabytes = parameters * 4 / 1e6
    return {"megabytes": round(megabytes, 1), "bound_seconds": Case(megabytes, tuple(links)).bound_seconds()}


def bytes_sent(lab, machines):
    read = "cat /sys/class/net/eth/statistics/tx_bytes"
    return sum(int(subprocess.run([*lab.on(machine), "sh", "-c", read], check=True, capture_output=True).stdout)
               for machine in machines)


def train_local(lab, flags, fault, folder):
    workers = len(flags.links)
    return train_motley(lab, flags, fault, folder, flags.batch // workers, flags.batch * flags.local,
                        ["--sync", f"local:{flags.local},{flags.ahead}"])


def after_checkpoint(log, every):
    """The median times of steps by their distance from the last checkpoint. The first two steps are left out."""
    ends = {row["step"]: row["seconds"] for row in map(json.loads, log) if row["kind"] == "step"}
    times = [[] for _ in range(every)]
    for step, end in ends.items():
        if step > 2 and step - 1 in ends:
            times[step % every].append(end - ends[step - 1])
    return [statistics.median(each) if each else None for each in times]


def train_motley(lab, flags, fault, folder, batch=None, samples_of_step=None, how=()):
    """Returns the figures of a row. The machine behind the workers' has the server."""
    workers = len(flags.links)
    batch = batch or flags.batch
    samples_of_step = samples_of_step or flags.batch
    data = flags.data or samples(pathlib.Path(folder))
    server = f"{lab.addresses[workers]}:{PORT}"
    log = pathlib.Path(folder) / "steps.jsonl"
    saving = []
    if flags.checkpoint_every:
        saving = ["--checkpoint", tempfile.mkdtemp(dir=folder), "--checkpoint-every", flags.checkpoint_every, "--log",
                  log]
    with contextlib.ExitStack() as ends:
        errors = ends.enter_context(open(pathlib.Path(folder) / "server.log", "w+"))
        job = start(lab, workers, [
            flags.program, "train", "--data", data, "--model", "mlp:" + ",".join(map(str, flags.hidden)), "--batch",
            batch, "--steps", flags.steps, "--workers", workers, "--remote", "--no-local-worker", "--listen",
            server, "--reduce", flags.reduce, "--optimizer", flags.optimizer, "--lr", flags.rate, "--seed", 7, "--json",
            "--wire", flags.wire, *saving, *how, *(["--code", flags.code] if flags.code and not how else [])], ends,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        joined, steps, marks = threading.Semaphore(0), [], []
        figures = {}

        def read():
            for line in job.stderr:
                errors.write(line)
                if " joined from " in line:
                    joined.release()
                if found := re.search(r": (\d+) parameters;", line):
                    figures.update(size(int(found[1]), flags.links))
                if found := re.match(r"step (\d+)/", line):
                    steps.append(int(found[1]))
                    marks.append((int(found[1]), time.monotonic(), bytes_sent(lab, range(workers + 1))))

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        members = []
        time.sleep(0.5)
        for i in range(workers):  # One after the other, so that each has its own number.
            members.append(start(lab, i, [flags.program, "worker", "--server", server, "--name", f"w{i}"], ends,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            if not joined.acquire(timeout=30):
                raise Failed("a worker did not join")
        disturber = Disturber(fault, members[-1])
        ends.callback(disturber.close)
        deadline = time.monotonic() + flags.limit
        while job.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
            disturber.step(steps[-1] if steps else 0, flags.steps)
        if job.poll() is None:
            raise Failed(f"not done within {flags.limit:g} s")
        output = job.stdout.read()
        reader.join()
        if job.returncode != 0:
            errors.seek(0)
            raise Failed("ended: " + errors.read().strip().split("\n")[-1])
    report = json.loads(output)
    if report["steps"] != flags.steps:
        raise Failed(f"ended after {report['steps']} steps")
    figures["seconds"] = report["wall_seconds"] / flags.steps
    if flags.data and "test" in report:
        figures["test_loss"] = report["test"]["log_loss"]
    if len(marks) > 1:
        samples_between = (marks[-1][0] - marks[0][0]) * samples_of_step
        figures["samples_per_second"] = samples_between / (marks[-1][1] - marks[0][1])
        figures["bytes_per_sample"] = (marks[-1][2] - marks[0][2]) / samples_between
    if flags.checkpoint_every:
        figures["seconds_after_checkpoint"] = after_checkpoint(log.read_text().splitlines(), flags.checkpoint_every)
    return figures


def train_ddp(lab, flags, fault, _):
    workers = len(flags.links)
    widths = ",".join(map(str, [INPUTS, *flags.hidden, CLASSES]))
    python = peer_tools.torch_python()
    with tempfile.TemporaryFile("w+") as errors, contextlib.ExitStack() as ends:
        ranks = [start(lab, i, [python, HERE / "peers" / "ddp_links.py", i, workers, f"{lab.addresses[0]}:{PORT}",
                                "eth", flags.batch, flags.steps, widths], ends, stdout=subprocess.PIPE, stderr=errors)
                 for i in range(workers)]
        lines = []
        began = threading.Event()

        def read():
            for line in ranks[0].stdout:
                lines.append(line)
                began.set()
            began.set()

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        began.wait(60)  # Faults strike members that train, and not those that still import PyTorch.
        disturber = Disturber(fault, ranks[-1])
        ends.callback(disturber.close)
        deadline = time.monotonic() + flags.limit
        while ranks[0].poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
            disturber.step(len(lines), flags.steps)
        if ranks[0].poll() is None:
            raise Failed(f"not done within {flags.limit:g} s")
        reader.join()
        if ranks[0].returncode != 0:
            errors.seek(0)
            raise Failed("ended: " + errors.read().strip().split("\n")[-1])
        times = json.loads(lines[-1])["seconds"]
    return {"seconds": sum(times) / len(times)}


SYSTEMS = {"motley": train_motley, "local": train_local, "ddp": train_ddp}


def names(known):
    def read(text):
        unknown = [word for word in text.split(",") if word not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no '{unknown[0]}': {', '.join(known)}")
        return text.split(",")
    return read


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", help="motley")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--links", type=numbers, default=(1000.0,) * 4, help="Mbit/s of each worker's machine")
    parser.add_argument("--hidden", type=lambda text: [int(word) for word in text.split(",")], default=[4400, 4400])
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--code", help="Motley's; auto if not given")
    parser.add_argument("--reduce", default="auto")
    parser.add_argument("--wire", default="float32", help="Motley's")
    parser.add_argument("--optimizer", default="sgd", help="Motley's")
    parser.add_argument("--rate", type=float, default=0.01, help="Motley's learning rate")
    parser.add_argument("--data", metavar="PATH[:test=FILE]", help="samples that Motley trains on, as for motley train")
    parser.add_argument("--checkpoint-every", type=int, default=0, metavar="N", help="Motley saves every N steps")
    parser.add_argument("--limit", type=float, default=300, help="seconds that one run may take")
    parser.add_argument("--local", type=int, default=16, help="H of the system `local`")
    parser.add_argument("--ahead", type=int, default=0, help="its K: steps while vectors travel")
    parser.add_argument("--systems", type=names(SYSTEMS), default=["motley", "ddp"])
    parser.add_argument("--faults", type=names(FAULTS), default=list(FAULTS))
    return parser.parse_args(words)


def text_of(row):
    text = f"{1 / row['seconds']:.2f} steps/s" if row["seconds"] else row["outcome"]
    if "bytes_per_sample" in row:
        text += f"  {row['samples_per_second']:.1f} samples/s  {row['bytes_per_sample'] / 1e6:.3f} MB/sample"
    if "test_loss" in row:
        text += f"  test loss {row['test_loss']:.4f}"
    if "seconds_after_checkpoint" in row:
        text += "  s after a checkpoint:" + "".join(f" {time:.3f}" for time in row["seconds_after_checkpoint"] if time)
    return f"{row['system']:<8}{row['fault']:<7}{row['links']:<12}{row['megabytes']:>6.1f} MB  {text}"


def run(flags):
    """Returns the rows. Prints each row as soon as it is measured, to stderr if JSON follows."""
    rows = []
    widths = [INPUTS, *flags.hidden, CLASSES]
    usual = size(sum((a + 1) * b for a, b in zip(widths, widths[1:])), flags.links)
    case = Case(usual["megabytes"], tuple(flags.links))
    with contextlib.closing(Lab(case.workers + 1, "10.78.0.1", [*case.links, max(case.links)])) as lab, \
            tempfile.TemporaryDirectory() as folder:
        for name in flags.systems:
            if name == "ddp" and not peer_tools.torch_python():
                print("wire_training.py: ddp is left out: python3-torch is not installed", file=sys.stderr)
                continue
            for fault in flags.faults:
                row = {"system": name, "fault": fault, "links": case.link_text, **usual, "workers": case.workers,
                       "seconds": None, "outcome": "done"}
                try:
                    row.update(SYSTEMS[name](lab, flags, fault, folder))
                except Failed as error:
                    row["outcome"] = str(error)
                rows.append(row)
                print(text_of(row), flush=True, file=sys.stderr if flags.json else sys.stdout)
    return rows


def failed(rows):
    """True if a run of Motley did not end well. DDP may."""
    return any(row["system"] != "ddp" and row["outcome"] != "done" for row in rows)


def main():
    flags = parse(sys.argv[1:])
    # Ends by an exception, so that processes and namespaces are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        rows = run(flags)
    except (OSError, subprocess.CalledProcessError) as error:
        why = (getattr(error, "stderr", None) or str(error)).strip()
        print(f"wire_training.py: skipped: machines with limited links need root, ip and tc: {why}", file=sys.stderr)
        sys.exit(77)
    if flags.json:
        print(json.dumps(rows, indent=2))
    sys.exit(1 if failed(rows) else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
