#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The systemd unit of a worker: systemd accepts it, and its command works."""

import pathlib
import shlex
import shutil
import signal
import subprocess
import unittest

from tools.program import PROGRAM, ProgramTest, Running

ROOT = pathlib.Path(__file__).parents[3]
UNIT = ROOT / "packaging" / "systemd" / "motley-worker@.service"


def settings():
    """The values of each key, grouped by section."""
    found, section = {}, None
    for line in UNIT.read_text().splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            key, value = line.split("=", 1)
            section.setdefault(key, []).append(value)
    return found


class Service(ProgramTest):
    def test_systemd_takes_the_unit(self):
        analyze = shutil.which("systemd-analyze")
        if analyze is None:
            self.skipTest("systemd-analyze is not installed")
        unit = self.folder / "motley-worker@lab.service"  # In this place a colon would mean an alias.
        unit.write_text(UNIT.read_text().replace("ExecStart=motley ", f"ExecStart={PROGRAM} "))
        done = subprocess.run([analyze, "verify", "--man=no", str(unit)], text=True,
                              capture_output=True, timeout=60)
        of_it = [line for line in (done.stdout + done.stderr).splitlines() if "motley" in line]
        self.assertEqual(of_it, [])
        unit.write_text(unit.read_text().replace("RestartSec=10", "RestartSex=10"))
        done = subprocess.run([analyze, "verify", "--man=no", str(unit)], text=True,
                              capture_output=True, timeout=60)
        self.assertIn("RestartSex", done.stderr, "it would have said so")

    def test_the_unit_keeps_its_promises(self):
        """Does not need systemd."""
        found = settings()
        self.assertEqual(set(found), {"Unit", "Service", "Install"})
        service = found["Service"]
        self.assertEqual(service["EnvironmentFile"], ["/etc/motley/worker.env"])
        self.assertNotIn("TOKEN", "".join(service["Environment"] + service["ExecStart"]))
        self.assertEqual(service["Restart"], ["on-failure"])
        for key in ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "ProtectHome"):
            self.assertEqual(service[key], ["yes"])
        how = (ROOT / "docs" / "how-to" / "service.md").read_text()
        self.assertIn("install -m 0600 /dev/null /etc/motley/worker.env", how)
        self.assertIn("systemctl enable --now motley-worker@", how)

    def test_its_command_serves_jobs_until_it_is_stopped(self):
        line, = settings()["Service"]["ExecStart"]
        job = Running(self, "train", "--data", self.data, "--steps", 20, "--remote",
                      "--no-local-worker", "--workers", 1, "--listen", "127.0.0.1:0")
        address = job.wait_for(r"motley worker --server (\S+)")[1]
        words = shlex.split(line.replace("%i", address))
        self.assertEqual(words[0], "motley")
        worker = Running(self, *words[1:])
        self.assertEqual(job.finish()[0], 0, job.text())
        worker.wait_for("waiting for the next job at")
        worker.send(signal.SIGTERM)
        self.assertEqual(worker.finish()[0], 0, "systemd does not start it again")

    def test_a_command_that_makes_no_sense_is_not_tried_again(self):
        again = settings()["Service"]["RestartPreventExitStatus"]
        worker = Running(self, "worker", "--server", "127.0.0.1:1", "--forever", token="")
        self.assertEqual([str(worker.finish()[0])], again)


if __name__ == "__main__":
    unittest.main()
