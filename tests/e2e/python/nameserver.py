# SPDX-License-Identifier: Apache-2.0
"""A name server that answers every question for an IPv4 address with one: nameserver.py ADDRESS ANSWER

It listens at port 53 of ADDRESS.
"""

import socket
import struct
import sys

A, IN = 1, 1

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
while True:
    question, asker = server.recvfrom(512)
    end = question.index(b"\0", 12) + 5
    found = struct.unpack(">HH", question[end - 4 : end]) == (A, IN)
    answer = struct.pack(">HHHIH", 0xC00C, A, IN, 1, 4) + socket.inet_aton(sys.argv[2])
    head = question[:2] + struct.pack(">HHHHH", 0x8180, 1, found, 0, 0)
    server.sendto(head + question[12:end] + (answer if found else b""), asker)
