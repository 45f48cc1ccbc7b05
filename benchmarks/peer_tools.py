# SPDX-License-Identifier: Apache-2.0
"""Finds and runs the other systems that benchmarks compare with, and says why one is left out."""

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import threading

ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")


class Striker:
    """Strikes one process. With `times` it stands still again and again until close(): after the first number of
    seconds, for the second one of every round, and then it runs for the third."""

    def __init__(self, process, times=None):
        self.process, self.times = process, times
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def _run(self):
        if self.times is None:
            return
        first, stop, run = self.times
        self.ended.wait(first)
        while not self.ended.is_set():
            self.signal(signal.SIGSTOP)
            self.ended.wait(stop)
            self.signal(signal.SIGCONT)
            self.ended.wait(run)

    def close(self):
        self.ended.set()
        self.thread.join()


def openblas_core():
    """The core name with which Debian's older OpenBLAS uses all of this processor's instructions."""
    with open("/proc/cpuinfo") as info:
        flags = next((line.split() for line in info if line.startswith("flags")), [])
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"} <= set(flags):
        return "SkylakeX"
    return "Haswell" if "avx2" in flags and "fma" in flags else None


def torch_python():
    """A Python that has PyTorch with gloo, or None. Tries Debian's own first: others may not see its packages."""
    for python in ("/usr/bin/python3", sys.executable):
        check = "import torch.distributed as d; raise SystemExit(not d.is_gloo_available())"
        try:
            found = subprocess.run([python, "-c", check], capture_output=True, timeout=120).returncode == 0
        except OSError:
            found = False
        if found:
            return python
    return None


def has_reference_blas(maps):
    """True if a process, by its /proc/self/maps, multiplies matrices with the reference BLAS."""
    files = [line.split()[-1] for line in maps.splitlines() if "/" in line]
    fast = ("openblas", "mkl", "blis", "atlas")
    return any("libblas.so" in file for file in files) and not any(name in file for file in files for name in fast)


def refuse_reference_blas(python):
    """Ends the program if this Python's PyTorch would be no baseline."""
    multiply = "import torch; torch.ones(8, 8) @ torch.ones(8, 8); print(open('/proc/self/maps').read())"
    maps = subprocess.run([python, "-c", multiply], capture_output=True, text=True, check=True, timeout=120).stdout
    if has_reference_blas(maps):
        sys.exit("PyTorch multiplies matrices with the reference BLAS here, fifty times slower than it can, and would "
                 "be no baseline: apt-get install libopenblas0-pthread, or choose it with "
                 "update-alternatives --config libblas.so.3-x86_64-linux-gnu")


def has_mpi():
    return bool(shutil.which("mpicc")) and is_open_mpi()


def mpi_program(source, folder):
    """Compiles the MPI program and returns its path."""
    program = os.path.join(folder, "mpi_program")
    subprocess.run(["mpicc", "-O3", "-o", program, source], check=True)
    return program


def is_open_mpi():
    """The mpirun of this machine is that of Open MPI, whose options mpirun() gives."""
    if shutil.which("mpirun") is None:
        return False
    return "Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout


def mpirun(workers, transport, interface="lo"):
    """Processes that wait give up the processor, since there may be more of them than cores."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", *root, "--oversubscribe", "--mca", "oob_tcp_if_include", interface, "-n", str(workers),
            "--mca", "btl", f"{transport},self", "--mca", "btl_tcp_if_include", interface,
            "--mca", "mpi_yield_when_idle", "1"]


def run_json(command, environment=None):
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment or ENVIRONMENT,
                         timeout=600)
    return json.loads(run.stdout)


def by_turns(commands, rounds, key):
    """Runs each command once per round, so that all meet the same disturbances; returns {name: median of `key`}."""
    values = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            values[name].append(run_json(command)[key])
    return {name: statistics.median(all_values) for name, all_values in values.items()}
