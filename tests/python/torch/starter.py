# SPDX-License-Identifier: Apache-2.0
"""Imports PyTorch once, which takes most of a second, and then becomes one process of a job after the other, by fork.

Each child runs a script as the interpreter would: with its own arguments, variables, streams, signals and end. It
becomes a child of the process that started this one, which must be a subreaper (processes.py).
"""

import json
import os
import pathlib
import runpy
import socket
import sys

import motley.torch  # noqa: F401
import torch.nn.functional  # noqa: F401


def next_child(channel):
    """Returns in a child, with what it is to run; or at the end, with None."""
    while True:
        message, streams, _, _ = socket.recv_fds(channel, 1 << 16, 2)
        if not message:
            return None
        between = os.fork()
        if between == 0:
            child = os.fork()
            if child == 0:
                for stream, number in zip(streams, (1, 2)):
                    os.dup2(stream, number)
                    os.close(stream)
                channel.close()
                return json.loads(message)
            channel.send(str(child).encode())
            os._exit(0)
        for stream in streams:
            os.close(stream)
        os.waitpid(between, 0)
        channel.send(b"The child is the other process's now.")


def main():
    asked = next_child(socket.socket(fileno=int(sys.argv[1])))
    if asked is None:
        return
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = asked["command"]
    sys.path[0] = str(pathlib.Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
