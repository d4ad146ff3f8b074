# SPDX-License-Identifier: Apache-2.0
"""Asks for a WebSocket and sends some bytes through it, which must come back; prints the status line.

    python3 upgrade.py HOST:PORT PATH CA CERT KEY
"""

import os
import socket
import ssl
import sys

address, path, ca, cert, key = sys.argv[1:]
host, port = address.rsplit(":", 1)
context = ssl.create_default_context(cafile=ca)
context.load_cert_chain(cert, key)
connection = context.wrap_socket(socket.create_connection((host, int(port))), server_hostname=host)
connection.settimeout(20)
connection.sendall(
    (
        "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        % (path, address)
    ).encode()
)
head = b""
while b"\r\n\r\n" not in head:
    part = connection.recv(1)
    if not part:
        break
    head += part
print(head.split(b"\r\n")[0].decode())
if b" 101 " not in head.split(b"\r\n")[0]:
    while connection.recv(65536):  # it is closed behind the answer
        pass
    sys.exit(0)
sent = os.urandom(200000)
connection.sendall(sent)
got = b""
while len(got) < len(sent):
    part = connection.recv(65536)
    if not part:
        sys.exit("closed after %d bytes" % len(got))
    got += part
sys.exit(0 if got == sent else "other bytes came back")
