# SPDX-License-Identifier: Apache-2.0
"""receiver.py CERT KEY PORT PORT-FILE OUT: an HTTPS server that takes JSON.

Each request is a line of OUT with its path, its credential and its body; the port goes to
PORT-FILE when it listens.
"""
import http.server
import json
import os
import ssl
import sys


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        with open(sys.argv[5], 'a') as out:
            print(json.dumps({'path': self.path, 'authorization': self.headers['Authorization'],
                              'body': body}), file=out)
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, format, *args):
        pass


http.server.ThreadingHTTPServer.allow_reuse_address = True
http.server.ThreadingHTTPServer.daemon_threads = True
server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[3])), Receiver)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
with open(sys.argv[4] + '.new', 'w') as f:
    f.write(str(server.server_address[1]))
os.rename(sys.argv[4] + '.new', sys.argv[4])
server.serve_forever()
