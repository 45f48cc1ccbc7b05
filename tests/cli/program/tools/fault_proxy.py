# SPDX-License-Identifier: Apache-2.0
"""A TCP relay that injects faults of networks: delays, cuts, half-open connections, black holes, a switch
that restarts. Its random choices follow from its seed."""

import asyncio
import contextlib
import random
import socket
import struct
import threading

CHUNK = 64 * 1024


class Connection:
    """One client and its connection to the target."""

    def __init__(self, client, server):
        self.writers = {"client": client, "server": server}
        self.tasks = []

    def reset(self, end):
        writer = self.writers[end]
        # Closing then sends RST at once instead of an orderly end.
        with contextlib.suppress(OSError):  # The socket may be closed already.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                                       struct.pack("ii", 1, 0))
        writer.transport.abort()

    def close(self, end):
        self.writers[end].close()


class FaultProxy:
    """Listens at `address` until `stop`. Any thread may call its methods, which take effect before they
    return."""

    def __init__(self, target, seed, delay_s=0):
        host, port = target.rsplit(":", 1)
        self.target = (host, int(port))
        self.seed = seed
        self.random = random.Random(seed)
        self.delay_s = delay_s  # For each chunk, each way.
        self.connections = []
        self.flows = {"client": True, "server": True}  # True if data from this end are passed on.
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.port = 0
        self._do(self._listen())
        self.address = f"127.0.0.1:{self.port}"

    def _do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    async def _listen(self):
        self.server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _accept(self, reader, writer):
        try:
            to_reader, to_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.close()
            return
        connection = Connection(writer, to_writer)
        self.connections.append(connection)
        connection.tasks = [
            asyncio.create_task(self._carry(connection, "client", reader, "server")),
            asyncio.create_task(self._carry(connection, "server", to_reader, "client"))]

    async def _carry(self, connection, end, reader, other):
        writer = connection.writers[other]
        # A delay does not reduce bandwidth: the next chunk is read meanwhile.
        queue = asyncio.Queue()
        send = asyncio.create_task(self._send(end, queue, writer))
        try:
            while chunk := await reader.read(CHUNK):
                queue.put_nowait((self.loop.time() + self.delay_s, chunk))
        except OSError:
            pass
        queue.put_nowait(None)
        await send
        connection.close(other)
        if connection in self.connections:
            self.connections.remove(connection)

    async def _send(self, end, queue, writer):
        while (item := await queue.get()) is not None:
            due, chunk = item
            if (wait := due - self.loop.time()) > 0:
                await asyncio.sleep(wait)
            while not self.flows[end]:
                await asyncio.sleep(0.01)
            try:
                writer.write(chunk)
                await writer.drain()
            except OSError:
                return

    async def _cut(self):
        for connection in self.connections:
            for end in ("client", "server"):
                connection.reset(end) if self.random.random() < 0.5 else connection.close(end)
        self.connections.clear()

    async def _half_open(self):
        for connection in self.connections:
            connection.reset("client")
            connection.tasks[0].cancel()  # Keeps the other side open.
            connection.tasks[1].cancel()

    async def _set(self, **changes):
        self.flows.update(changes)

    async def _go_down(self):
        self.server.close()
        await self._cut()

    def cut(self):
        """Ends every connection, each side by FIN or RST."""
        self._do(self._cut())

    def half_open(self):
        """The clients lose their connections, and the target does not notice."""
        self._do(self._half_open())

    def vanish(self, *ends):
        """Drops all data from these ends (default: both). No connection ends, and new ones are still
        accepted."""
        self._do(self._set(**{end: False for end in ends or ("client", "server")}))

    def heal(self):
        self._do(self._set(client=True, server=True))

    def go_down(self):
        """Acts as a switch that restarts: cuts all connections and refuses new ones until `come_up`."""
        self._do(self._go_down())

    def come_up(self):
        self._do(self._listen())

    async def _end(self):
        await self._go_down()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    def stop(self):
        self._do(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
