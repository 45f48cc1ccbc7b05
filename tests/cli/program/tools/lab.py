# SPDX-License-Identifier: Apache-2.0
"""Machines of a small network: network namespaces joined by a switch. They need root and Linux."""

import json
import os
import subprocess

PREFIX = f"mv{os.getpid() % 10000}"


def ip(*words, inside=None):
    command = ["ip", *(["-n", inside] if inside else []), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Lab:
    """Machines at one switch; the first has the address `first`, such as "10.77.0.1". `limits` has the Mbit/s of
    each machine's link, the same in both directions. Raises OSError or CalledProcessError if namespaces cannot be
    made."""

    def __init__(self, machines, first, limits=()):
        network, number = first.rsplit(".", 1)
        self.switch = f"{PREFIX}s"
        self.machines = [f"{PREFIX}m{i}" for i in range(machines)]
        self.addresses = [f"{network}.{int(number) + i}" for i in range(machines)]
        try:
            self._build()
            for i, mbits in enumerate(limits):
                self._limit("eth", self.machines[i], mbits)
                self._limit(f"p{i}", self.switch, mbits)
        except BaseException:  # An interrupt must not leave namespaces behind, either.
            self.close()
            raise

    def _build(self):
        for space in [self.switch, *self.machines]:
            ip("netns", "add", space)
        ip("link", "add", "name", "sw0", "type", "bridge", inside=self.switch)
        ip("link", "set", "sw0", "up", inside=self.switch)
        for i, machine in enumerate(self.machines):
            ip("link", "add", "name", f"p{i}", "netns", self.switch, "type", "veth", "peer", "name",
               "eth", "netns", machine)
            ip("link", "set", f"p{i}", "master", "sw0", "up", inside=self.switch)
            ip("addr", "add", f"{self.addresses[i]}/24", "dev", "eth", inside=machine)
            ip("link", "set", "eth", "up", inside=machine)
            ip("link", "set", "lo", "up", inside=machine)
        # Some containers can make namespaces, but not run anything in them (no mount of /sys).
        subprocess.run([*self.on(0), "true"], check=True, capture_output=True)

    @staticmethod
    def _limit(device, space, mbits):
        """The limit counts whole Ethernet frames. A burst is 2 ms of the link, and at least one large packet."""
        burst = max(int(mbits * 1e6 / 8 * 0.002), 1 << 16)
        subprocess.run(["ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate",
                        f"{int(mbits * 1e6)}bit", "burst", str(burst), "latency", "50ms"],
                       check=True, capture_output=True)

    def on(self, machine):
        """The words before a command that runs on this machine."""
        return ["ip", "netns", "exec", self.machines[machine]]

    def sent_by(self, machine):
        """Bytes that the machine's port of the switch has received."""
        port = json.loads(ip("-s", "-j", "link", "show", f"p{machine}", inside=self.switch))[0]
        return port["stats64"]["rx"]["bytes"]

    def close(self):
        for space in [self.switch, *self.machines]:
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)
