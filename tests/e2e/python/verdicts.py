# SPDX-License-Identifier: Apache-2.0
"""Two webhooks in one process: /tokens answers TokenReviews, /rights SubjectAccessReviews.

    verdicts.py DIR [PORT]      with tls.crt, tls.key and ca.crt (of clients) of DIR, on a free port

A token known is a file DIR/tokens/TOKEN with the status to answer; a right is a file DIR/rights/USER.
/tokens wants a client certificate, /rights the bearer token of DIR/secret.  DIR/slow makes answers
wait, DIR/redirect sends them elsewhere.  What is asked is written to DIR/log; the port to DIR/port.
"""

import http.server
import json
import os
import ssl
import sys
import time


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = ""

    def log_message(self, *args):
        pass

    def file(self, *names):
        return os.path.join(self.folder, *names)

    def answer(self, code, body=None, headers=()):
        raw = json.dumps(body or {}).encode()
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def is_let_in(self, path):
        if path == "/tokens":
            return bool(self.connection.getpeercert())
        with open(self.file("secret")) as f:
            return self.headers.get("Authorization") == "Bearer " + f.read().strip()

    def status(self, path, spec):
        if path == "/tokens":
            name = self.file("tokens", os.path.basename(spec["token"]))
            if not os.path.exists(name):
                return {"authenticated": False}
            with open(name) as f:
                return json.load(f)
        allowed = os.path.exists(self.file("rights", os.path.basename(spec["user"])))
        return {"allowed": allowed, "reason": "the webhook says so"}

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        with open(self.file("log"), "a") as f:
            f.write(path + " " + json.dumps(review["spec"]) + "\n")
        if os.path.exists(self.file("slow")):
            time.sleep(30)
        if os.path.exists(self.file("redirect")):
            self.answer(302, headers=[("Location", self.path)])
        elif not self.is_let_in(path):
            self.answer(401)
        else:
            review["status"] = self.status(path, review["spec"])
            self.answer(201, review)


def main(argv):
    folder = argv[1]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(folder, "tls.crt"), os.path.join(folder, "tls.key"))
    context.load_verify_locations(os.path.join(folder, "ca.crt"))
    context.verify_mode = ssl.CERT_OPTIONAL
    Handler.folder = folder
    server = Server(("127.0.0.1", int(argv[2]) if len(argv) > 2 else 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True,
                                        do_handshake_on_connect=False)
    with open(os.path.join(folder, "port.new"), "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
    server.serve_forever()


main(sys.argv)
