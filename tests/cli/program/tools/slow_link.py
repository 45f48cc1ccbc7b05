# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy on this machine with a given bandwidth and latency."""

import queue
import socket
import threading
import time

CHUNK = 16 << 10


class SlowLink:
    """Connections to `address` reach `target`, both "HOST:PORT"."""

    def __init__(self, target, bytes_per_second, latency_s):
        self.target = target
        self.rate = bytes_per_second
        self.latency = latency_s
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen()
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.open = [self.listener]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        for each in self.open:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def accept(self):
        host, port = self.target.rsplit(":", 1)
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection((host, int(port)))
            except OSError:
                return
            self.open += [near, far]
            for source, sink in ((near, far), (far, near)):
                # Holds as many bytes as the queues of a network.
                waiting = queue.Queue(maxsize=16)
                threading.Thread(target=self.read, args=(source, waiting), daemon=True).start()
                threading.Thread(target=self.write, args=(sink, waiting), daemon=True).start()

    def read(self, source, waiting):
        free = 0.0  # Time at which the link is free.
        while True:
            try:
                chunk = source.recv(CHUNK)
            except OSError:
                chunk = b""
            if chunk:
                free = max(free, time.monotonic()) + len(chunk) / self.rate
                time.sleep(max(0.0, free - time.monotonic()))
            waiting.put((time.monotonic() + self.latency, chunk))
            if not chunk:
                return

    @staticmethod
    def write(sink, waiting):
        while True:
            due, chunk = waiting.get()
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                if not chunk:
                    sink.shutdown(socket.SHUT_WR)
                    return
                sink.sendall(chunk)
            except OSError:
                return
