#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A graphics card as a worker: steps per second of three models, alone and beside the processor under two codes, with
and without audits, beside a plain PyTorch loop in float32 on the same card.

Usage: card.py MOTLEY [--json] [--device cuda:0] [--rounds N] [--seconds S]. Behind `./dev bench card`;
about two minutes. Before a figure is printed, each model is trained for a few steps on the card and on
the processor: their losses must agree to 1e-4. PyTorch is left out where it does not see the card.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import ddp
import peer_tools

MODELS = {"mlp:1024,1024": 1024, "mlp:4096,4096": 4096, "cnn:16,32": 1024}  # And their batches.
# Code, rate of audits (None: the default), and whether the processor is a second worker.
RUNS = [("none", 0, False), ("none", None, False), ("adaptive", 0, True), ("heterogeneous", 0, True)]
LOSS_TOLERANCE = 1e-4
DECODE_TOLERANCE = 1e-4  # The audits': the server's sums come from another device.
CHECKED_STEPS = 3
HERE = pathlib.Path(__file__).parent


def train(motley, folder, model, steps, devices, code="none", audit=None, evaluate=False):
    audits = [] if audit is None else ["--audit", str(audit)]
    judged = ["--evaluate-training"] if evaluate else []
    return peer_tools.run_json(
        [motley, "train", "--data", str(folder), "--model", model, "--batch", str(MODELS[model]), "--optimizer", "sgd",
         "--lr", "0.01", "--steps", str(steps), "--code", code, "--workers", str(len(devices)), "--devices",
         ",".join(devices), "--json", "--quiet", "--seed", "1", *audits, *judged], dict(os.environ))


def check(motley, folder, model, device):
    """The loss of a few steps on the card, which is that of the processor."""
    losses = [train(motley, folder, model, CHECKED_STEPS, [where], evaluate=True)["final_loss"]
              for where in (device, "cpu")]
    if not abs(losses[0] - losses[1]) <= LOSS_TOLERANCE * max(1, abs(losses[1])):
        sys.exit(f"{model}: the loss is {losses[0]} on {device} and {losses[1]} on the processor")
    return losses[0]


def rates(motley, folder, model, devices, code, audit, seconds):
    first = train(motley, folder, model, 50, devices, code, audit)
    steps = max(50, int(seconds / first["step_seconds"]["median"]))
    run = train(motley, folder, model, steps, devices, code, audit)
    if any(worker["lost"] for worker in run["workers"]) or not run["max_decode_error"] <= DECODE_TOLERANCE:
        sys.exit(f"{model}, {code}: a device was given up, or the gradient is off by {run['max_decode_error']}")
    return run["steps_per_second"], run["step_seconds"]["median"]


def torch_rates(folder, seconds):
    python = next((p for p in ("python3", sys.executable, "/usr/bin/python3") if subprocess.run(
        [p, "-c", "import torch; raise SystemExit(not torch.cuda.is_available())"],
        capture_output=True, check=False).returncode == 0), None)
    if python is None:
        return {}
    subprocess.run([python, "-c", ddp.CONVERT, str(folder)], check=True)
    return {model: peer_tools.run_json([python, str(HERE / "peers" / "card_train.py"), str(folder / "samples.npz"),
                                        model, str(batch), str(seconds)], dict(os.environ))
            for model, batch in MODELS.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("motley")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2)
    flags = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ddp.write_samples(folder)
        peers = torch_rates(folder, flags.seconds)
        for model, batch in MODELS.items():
            loss = check(flags.motley, folder, model, flags.device)
            for code, audit, with_cpu in RUNS:
                devices = [flags.device, "cpu"] if with_cpu else [flags.device]
                runs = [rates(flags.motley, folder, model, devices, code, audit, flags.seconds)
                        for _ in range(flags.rounds)]
                rows.append({"model": model, "batch": batch, "devices": devices, "code": code, "audit": audit,
                             "loss": loss, "steps_per_second": statistics.median(run[0] for run in runs),
                             "median_step_seconds": statistics.median(run[1] for run in runs),
                             "pytorch": peers.get(model)})
                if not flags.json:
                    print_row(rows[-1])
    if flags.json:
        print(json.dumps(rows, indent=1))


def print_row(row):
    peer = row["pytorch"]
    beside = ""
    if peer:
        beside = (f"; PyTorch {peer['steps_per_second']:.1f} ({row['steps_per_second'] / peer['steps_per_second']:.2f} "
                  f"times), with TF32 {peer['tf32_steps_per_second']:.1f}")
    audits = "audits" if row["audit"] is None else "no audits"
    print(f"{row['model']}, batch {row['batch']}, {' and '.join(row['devices'])}, {row['code']}, {audits}: "
          f"{row['steps_per_second']:.1f} steps/s (median step {1e3 * row['median_step_seconds']:.2f} ms){beside}",
          flush=True)


if __name__ == "__main__":
    main()
