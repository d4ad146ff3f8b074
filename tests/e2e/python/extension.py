# SPDX-License-Identifier: Apache-2.0
"""An API server that serves a part of an instance's API: loads.metrics.example.com, which says who asks.

    python3 extension.py CERT KEY FRONT-PROXY-CA ALLOWED-NAME

It believes X-Remote-User of whoever shows a certificate of that authority with that name, and of
nobody else, as the library of Kubernetes' API servers does.  Prints its port.
"""

import base64
import hashlib
import http.server
import json
import ssl
import sys
import time

GROUP = "metrics.example.com"
RESOURCES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": GROUP + "/v1",
    "resources": [
        {
            "name": "loads",
            "singularName": "load",
            "namespaced": True,
            "kind": "Load",
            "shortNames": ["ld"],
            "verbs": ["get", "list", "watch"],
        }
    ],
}
OPENAPI = {
    "openapi": "3.0.0",
    "info": {"title": "loads", "version": "1"},
    "paths": {
        "/apis/%s/v1/namespaces/{namespace}/loads/{name}" % GROUP: {
            "get": {
                "responses": {"200": {"description": "OK"}},
                "x-kubernetes-action": "get",
                "x-kubernetes-group-version-kind": {"group": GROUP, "version": "v1", "kind": "Load"},
            }
        }
    },
    "components": {
        "schemas": {
            "com.example.metrics.v1.Load": {
                "type": "object",
                "description": "How much there is to do.",
                "properties": {"user": {"type": "string", "description": "Who asked."}},
                "x-kubernetes-group-version-kind": [
                    {"group": GROUP, "version": "v1", "kind": "Load"}
                ],
            }
        }
    },
}


def load(namespace, name, user):
    return {
        "kind": "Load",
        "apiVersion": GROUP + "/v1",
        "metadata": {"name": name, "namespace": namespace, "resourceVersion": "1"},
        "user": user,
    }


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, code, value, headers=()):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, text in headers:
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def trusted(self):
        subject = dict(x[0] for x in (self.connection.getpeercert() or {}).get("subject", ()))
        return subject.get("commonName") == allowed

    def watch(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(3):
            event = {"type": "MODIFIED", "object": load("default", "w%d" % i, self.user)}
            text = (json.dumps(event) + "\n").encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            self.wfile.flush()
            time.sleep(0.2)
        self.wfile.write(b"0\r\n\r\n")

    def upgrade(self):
        """An echo of bytes behind a WebSocket's handshake."""
        key = self.headers.get("Sec-WebSocket-Key", "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header(
            "Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        )
        self.end_headers()
        self.close_connection = True
        while True:
            data = self.connection.recv(65536)
            if not data:
                return
            self.connection.sendall(data)

    def do_GET(self):
        path, _, query = self.path.partition("?")
        parts = path.strip("/").split("/")
        self.user = self.headers.get("X-Remote-User", "")
        if not self.trusted():
            self.answer(401, {"kind": "Status", "status": "Failure", "code": 401})
        elif path == "/apis/%s/v1" % GROUP:
            self.answer(200, RESOURCES)
        elif path == "/openapi/v3":
            url = "/openapi/v3/apis/%s/v1?hash=1" % GROUP
            self.answer(200, {"paths": {"apis/%s/v1" % GROUP: {"serverRelativeURL": url}}})
        elif path == "/openapi/v3/apis/%s/v1" % GROUP:
            self.answer(200, OPENAPI)
        elif path.endswith("/echo") and "upgrade" in self.headers.get("Connection", "").lower():
            self.upgrade()
        elif path.endswith("/away"):
            self.answer(302, {}, [("Location", "https://example.com/")])
        elif len(parts) == 7:
            self.answer(200, load(parts[4], parts[6], self.user))
        elif "watch=" in query:
            self.watch()
        else:
            items = [load("default", "now", self.user)]
            self.answer(
                200,
                {
                    "kind": "LoadList",
                    "apiVersion": GROUP + "/v1",
                    "metadata": {"resourceVersion": "1"},
                    "items": items,
                },
            )


cert, key, ca, allowed = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
context.load_verify_locations(ca)
context.verify_mode = ssl.CERT_OPTIONAL
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
