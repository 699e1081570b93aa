"""QUIC server and clients for `cargo xtask record quic`; needs `pip install aioquic`.

    quic.py serve CERTIFICATE KEY READY PORT RETRY_PORT ADDRESS...
    quic.py visit PLAN

A line of the plan is one connection: seconds to its start, the server's address, its port, version 1 or 2, the length of
the hello (`short` or `long`, in two datagrams), and its streams as UPLOAD:PIECES:BYTES:PAUSE. In each, the client sends
that many bytes, and the server that many pieces of that many bytes, with a pause of so many milliseconds between them.
"""

import asyncio
import pathlib
import ssl
import struct
import sys

from aioquic.asyncio import connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.packet import QuicProtocolVersion

WISH = struct.Struct(">III")
IDLE_S = 10
# Longer than any visit takes.
PATIENCE_S = 40
VERSIONS = {"1": QuicProtocolVersion.VERSION_1, "2": QuicProtocolVersion.VERSION_2}


async def answer(reader, writer):
    pieces, size, pause_ms = WISH.unpack((await reader.read())[: WISH.size])
    for piece in range(pieces):
        if piece > 0:
            await asyncio.sleep(pause_ms / 1000)
        writer.write(b"." * size)
    writer.write_eof()


def accept(reader, writer):
    asyncio.ensure_future(answer(reader, writer))


async def listen(certificate, key, ready, port, retry_port, *addresses):
    configuration = QuicConfiguration(is_client=False, idle_timeout=IDLE_S)
    configuration.load_cert_chain(certificate, key)
    for address in addresses:
        for at, retry in [(port, False), (retry_port, True)]:
            await serve(address, int(at), configuration=configuration, retry=retry, stream_handler=accept)
    pathlib.Path(ready).touch()
    await asyncio.Event().wait()


async def visit(start, address, port, version, hello, *streams):
    await asyncio.sleep(float(start))
    configuration = QuicConfiguration(
        server_name="dwell.test",
        verify_mode=ssl.CERT_NONE,
        idle_timeout=IDLE_S,
        original_version=VERSIONS[version],
        supported_versions=[VERSIONS[version]],
        quantum_readiness_test=hello == "long",
    )
    async with asyncio.timeout(PATIENCE_S), connect(address, int(port), configuration=configuration) as connection:
        for stream in streams:
            upload, *wish = map(int, stream.split(":"))
            reader, writer = await connection.create_stream()
            writer.write(WISH.pack(*wish) + b"." * upload)
            writer.write_eof()
            await reader.read()


async def visits(plan):
    lines = pathlib.Path(plan).read_text().splitlines()
    # Connections that fail are part of the traffic.
    await asyncio.gather(*(visit(*line.split()) for line in lines), return_exceptions=True)


asyncio.run({"serve": listen, "visit": visits}[sys.argv[1]](*sys.argv[2:]))
