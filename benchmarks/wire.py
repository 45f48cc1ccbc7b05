#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how soon all workers have the sum of their vectors, over links of limited speed, beside the best possible.

Usage: wire.py MOTLEY_SUM [--json] [--megabytes M] [--workers N] [--links MBITS,...] [--spare MBITS,...]
[--systems NAME,...] [--congestion NAME] [--all]. Run by `./dev bench wire`. Without --workers and --links it runs
four cases: four and eight machines with links of 1 Gbit/s, four with unequal links, and four with a spare server. With
--all, training over such links (wire_training.py) and sums on one machine (sum.py) follow, and one JSON array has the
rows of all.

Each machine is a network namespace. Its link to the switch is limited in both directions. Every worker runs on a
machine of its own. A spare server is a machine without a worker, which some systems can use. A star's server runs on
the spare server with the fastest link, or beside the worker with the fastest link where there is none. Each process
compares the sum with the right one after every repetition.

The bound is the least time of any system that adds and forwards values. It counts the vectors' own bytes at the full
rate of the links. The links also carry the headers of Ethernet, IP and TCP, and therefore nothing can come closer to
the bound than 1.05 on packets of 1500 bytes. All systems send over TCP. `direct bf16` and `direct int8` round what
they send to a half or about a quarter of the bytes (`--wire` of motley-sum), so they may be below the bound, which is
that of float32.

TCP's congestion control is the system's unless --congestion names another. On a link of 50 Mbit/s that is full in
both directions, BBR reaches 85 to 89 % of the rate, and reno 93 %.

Needs root, `ip` and `tc`; exits with 77 where it cannot make limited links.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Callable

import peer_tools

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "cli" / "program" / "tools"))
from lab import Lab  # noqa: E402

PORT = 7450
CONGESTION = "net.ipv4.tcp_congestion_control"
LIMIT_S = 900  # Seconds that one system may take for one case.


class Failed(Exception):
    pass


@dataclass(frozen=True)
class Case:
    """Links in Mbit/s: one per worker, and one per spare server."""
    megabytes: float
    links: tuple
    spare: tuple = ()

    @property
    def workers(self):
        return len(self.links)

    @property
    def link_text(self):
        equal = len(set(self.links)) == 1
        text = f"{len(self.links)}x{self.links[0]:g}" if equal else ",".join(f"{link:g}" for link in self.links)
        return text + "".join(f"+{link:g}" for link in self.spare)

    def bound_seconds(self):
        """No system is faster that adds and forwards values: every worker's link carries its vector and the sum, and
        each value needs n - 1 transfers to be summed and n - 1 to be spread, over all links together. A spare server
        has no vector of its own, and its share costs it n transfers."""
        n = self.workers
        per_megabit = max(1 / min(self.links),
                          2 * n * (n - 1) / (n * sum(self.links) + (n - 2) * sum(self.spare)))
        return self.megabytes * 8 * per_megabit


CASES = (Case(100, (1000,) * 4), Case(100, (1000,) * 8), Case(100, (500, 500, 50, 50)),
         Case(100, (1000,) * 4, (1000,)))


@dataclass(frozen=True)
class System:
    """`commands(run)` returns the processes as (machine, words of the command) for one run. Exactly one of them prints
    a JSON object with "median_ms". `missing()` returns why the system cannot run here, or None. A new system is one
    more entry in SYSTEMS."""
    name: str
    commands: Callable
    missing: Callable = lambda: None


@dataclass(frozen=True)
class Run:
    case: Case
    lab: Lab  # First the workers' machines, then the spare servers.
    motley_sum: str
    folder: str  # For files of the run.
    repetitions: int
    warmups: int

    @property
    def addresses(self):
        return self.lab.addresses

    def sum_command(self, *words):
        return [self.motley_sum, "--workers", self.case.workers, "--megabytes", self.case.megabytes,
                "--repetitions", self.repetitions, "--warmups", self.warmups, *words]


def star(run):
    links = run.case.spare or run.case.links
    machine = links.index(max(links)) + (run.case.workers if run.case.spare else 0)
    server = f"tcp://{run.addresses[machine]}:{PORT}"
    return [(machine, run.sum_command("--serve", server)),
            *((i, run.sum_command("--join", server, "--index", i)) for i in range(run.case.workers))]


def collective(name):
    """Members without a server. For the hierarchical collective, each half of the members is a group."""
    def commands(run):
        members = ",".join(f"tcp://{address}:{PORT}" for address in run.addresses[:run.case.workers])
        return [(i, run.sum_command("--reduce", name, "--members", members, "--index", i))
                for i in range(run.case.workers)]
    return System(name, commands)


def direct(name, wire="float32"):
    """Each machine owns the range of the vector with which its link takes the least time."""
    def commands(run):
        members = ",".join(f"tcp://{address}:{PORT}" for address in run.addresses)
        links = [*run.case.links, *run.case.spare]
        return [(i, run.sum_command("--reduce", "direct", "--members", members, "--index", i, "--wire", wire,
                                    "--spares", len(run.case.spare), "--links", ",".join(map(str, links))))
                for i in range(len(links))]
    return System(name, commands)


def gloo(run):
    command = [peer_tools.torch_python(), HERE / "peers" / "gloo_sum.py", run.case.workers, run.case.megabytes,
               run.repetitions, "--warmups", run.warmups, "--interface", "eth",
               "--master", f"{run.addresses[0]}:{PORT}"]
    return [(i, [*command, "--rank", i]) for i in range(run.case.workers)]


def openmpi(run):
    """mpirun starts a daemon on each machine. It gets there by a script that stands for ssh. The daemons have folders
    of their own, because each believes that it is alone on its machine."""
    script = ["#!/bin/sh", "# HOST COMMAND: runs the command on the machine with this address.", "host=$1", "shift",
              'case "$host" in', *(f"  {address}) machine={machine} ;;"
                                   for address, machine in zip(run.addresses, run.lab.machines)),
              "esac", f'export TMPDIR="{run.folder}/$machine"', 'mkdir -p "$TMPDIR"',
              'exec ip netns exec "$machine" sh -c "$*"', ""]
    agent = pathlib.Path(run.folder, "agent")
    agent.write_text("\n".join(script))
    agent.chmod(0o700)
    program = peer_tools.mpi_program(HERE / "peers" / "mpi_sum.c", run.folder)
    hosts = ",".join(f"{address}:1" for address in run.addresses[:run.case.workers])
    return [(0, [*peer_tools.mpirun(run.case.workers, "tcp", "eth"), "--host", hosts, "--mca", "plm", "rsh",
                 "--mca", "plm_rsh_agent", agent, program, run.case.megabytes, run.repetitions, run.warmups])]


def no_openmpi():
    return None if peer_tools.has_mpi() else "libopenmpi-dev and openmpi-bin are not installed"


def no_torch():
    return None if peer_tools.torch_python() else "python3-torch is not installed"


SYSTEMS = (
    System("star", star),
    direct("direct"),
    *(direct(f"direct {wire}", wire) for wire in ("bf16", "int8")),
    *(collective(name) for name in ("ring", "tree", "butterfly", "hierarchical")),
    System("gloo", gloo, no_torch),
    System("openmpi", openmpi, no_openmpi),
)


def measure(system, lab, run):
    """Returns the median of the seconds from the first worker's start to the last one's sum."""
    processes = []
    with tempfile.TemporaryFile("w+") as errors, contextlib.ExitStack() as ends:
        for machine, command in system.commands(run):
            process = subprocess.Popen([*lab.on(machine), *map(str, command)], stdin=subprocess.DEVNULL, text=True,
                                       stdout=subprocess.PIPE, stderr=errors, env=peer_tools.ENVIRONMENT)
            ends.callback(process.wait)
            ends.callback(process.kill)
            processes.append(process)
        deadline = time.monotonic() + LIMIT_S
        running = list(processes)
        while running and time.monotonic() < deadline:
            time.sleep(0.02)
            running = [process for process in running if process.poll() is None]
            if any(process.returncode for process in processes):
                break
        if running or any(process.returncode for process in processes):
            errors.seek(0)
            raise Failed(errors.read().strip() or f"it did not end within {LIMIT_S} s")
        output = "".join(process.stdout.read() for process in processes)
    return json.loads(output)["median_ms"] / 1e3


def run_case(case, systems, flags):
    """Yields (name, row of the output, None), or (name, None, why it failed), for each system."""
    machines = Lab(case.workers + len(case.spare), "10.78.0.1", [*case.links, *case.spare])
    with contextlib.closing(machines) as lab, tempfile.TemporaryDirectory() as folder:
        if flags.congestion:
            for machine in range(len(lab.machines)):
                subprocess.run([*lab.on(machine), "sysctl", "-qw", f"{CONGESTION}={flags.congestion}"], check=True,
                               capture_output=True, text=True)
        run = Run(case, lab, flags.program, folder, flags.repetitions, flags.warmups)
        for system in systems:
            try:
                seconds = measure(system, lab, run)
            except Failed as error:
                yield system.name, None, str(error)
                continue
            yield system.name, {"system": system.name, "links": case.link_text, "megabytes": case.megabytes,
                                "workers": case.workers, "seconds": seconds,
                                "bound_seconds": case.bound_seconds()}, None


def numbers(text):
    try:
        values = tuple(float(word) for word in text.split(","))
    except ValueError:
        values = ()
    if not values or min(values) < 1 or max(values) > 100000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of Mbit/s from 1 to 100000, such as 500,500,50")
    return values


def system_list(text):
    known = {system.name: system for system in SYSTEMS}
    unknown = [name for name in text.split(",") if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no system '{unknown[0]}': {', '.join(known)}")
    return [known[name] for name in text.split(",")]


def congestion(name):
    """The kernel allows some algorithms in all namespaces, and others only in the first."""
    allowed = pathlib.Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()
    if name not in allowed:
        raise argparse.ArgumentTypeError(f"'{name}' is not allowed in namespaces here: {', '.join(allowed)}")
    return name


def cases_of(flags):
    """The cases that the command line asks for."""
    if not flags.links and not flags.workers and not flags.spare:
        return [Case(flags.megabytes or case.megabytes, case.links, case.spare) for case in CASES]
    links = flags.links or (1000.0,)
    if len(links) == 1:
        links = links * (flags.workers or 4)
    if len(links) != (flags.workers or len(links)) or len(links) < 2:
        raise ValueError(f"--links has {len(links)} numbers: it needs one for each of at least 2 workers, or one for "
                         "all of them")
    return [Case(flags.megabytes or 100, links, flags.spare)]


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", help="motley-sum")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--all", action="store_true", help="also training and sum, for 40 minutes; prints JSON")
    parser.add_argument("--megabytes", type=float, help="of float32 per worker; 100 if not given")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--links", type=numbers, help="Mbit/s of each worker's machine, or one number for all")
    parser.add_argument("--spare", type=numbers, default=(), help="Mbit/s of machines without a worker")
    parser.add_argument("--systems", type=system_list, default=list(SYSTEMS), help="names, separated by commas")
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--warmups", type=int, default=1)
    parser.add_argument("--congestion", type=congestion, help="TCP's congestion control; the system's if not given")
    flags = parser.parse_args(words)
    flags.json |= flags.all
    try:
        flags.cases = cases_of(flags)
    except ValueError as error:
        parser.error(str(error))
    return flags


def print_row(row, json_follows):
    """To stderr if the array comes at the end, so that a long run shows how far it is."""
    print(f"{row['system']:<14}{row['links']:<22}{row['megabytes']:>6g} MB{row['seconds']:>9.3f} s"
          f"{row['seconds'] / row['bound_seconds']:>8.2f} x the bound of {row['bound_seconds']:.3f} s", flush=True,
          file=sys.stderr if json_follows else sys.stdout)


def run_cases(flags, systems):
    """Returns the rows, and the names of systems that failed."""
    rows, failed = [], set()
    for case in flags.cases:
        for name, row, why in run_case(case, systems, flags):
            if why:
                failed.add(name)
                print(f"wire.py: {name} failed with links of {case.link_text}: {why}", file=sys.stderr)
                continue
            rows.append(row)
            print_row(row, flags.json)
    return rows, failed


def others(motley_sum):
    """Runs training over limited links, and sums on this machine. Returns the rows, and what failed. The program
    `motley` lies beside `motley-sum`."""
    # These modules need this one, or few runs need them.
    import sum as loopback
    import wire_training
    rows, failed = [], set()
    try:
        rows = wire_training.run(wire_training.parse([str(pathlib.Path(motley_sum).with_name("motley")), "--json"]))
        if wire_training.failed(rows):
            failed.add("training")
    except (OSError, subprocess.SubprocessError) as error:
        print(f"wire_training.py: {error}", file=sys.stderr)
        failed.add("training")
    for size in ((), ("--workers", "8", "--megabytes", "1")):
        flags = loopback.parse([motley_sum, *size])
        print(f"sums on this machine: {flags.megabytes:g} MB, {flags.workers} processes", file=sys.stderr, flush=True)
        try:
            medians, left_out = loopback.measure(flags)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"sum.py: {error}", file=sys.stderr)
            failed.add("sum")
            continue
        for name, why in left_out.items():
            print(f"sum.py: {name} is left out: {why}", file=sys.stderr)
        rows += loopback.rows(flags, medians)
    return rows, failed


def main():
    flags = parse(sys.argv[1:])
    # Ends by an exception, so that processes and namespaces are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    left_out = {system.name: why for system in flags.systems if (why := system.missing())}
    for name, why in left_out.items():
        print(f"wire.py: {name} is left out: {why}", file=sys.stderr)
    try:
        rows, failed = run_cases(flags, [system for system in flags.systems if system.name not in left_out])
    except (OSError, subprocess.CalledProcessError) as error:
        why = (getattr(error, "stderr", None) or str(error)).strip()
        print(f"wire.py: skipped: machines with limited links need root, ip and tc: {why}", file=sys.stderr)
        sys.exit(77)
    if flags.all:
        more, more_failed = others(flags.program)
        rows, failed = rows + more, failed | more_failed
    if flags.json:
        print(json.dumps(rows, indent=2))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
