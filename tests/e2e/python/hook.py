# SPDX-License-Identifier: Apache-2.0
"""An admission webhook that says what a file says.

    hook.py DIR     with tls.crt and tls.key of DIR, on a free port, which is written to DIR/port

A question to /NAME is answered by the response in DIR/NAME.json, with a patch in plain JSON, or
allowed where there is none.  What is asked is written to DIR/log, a line each.

A ConversionReview moves fields: {"v1": {"size": "spec.size"}, "v2": {"size": "spec.box.size"}} says
where each version has them.  It fails where there is no file.
"""

import base64
import http.server
import json
import os
import ssl
import sys


def take(obj, path):
    *above, last = path.split(".")
    for name in above:
        obj = obj.get(name, {})
    return obj.pop(last, None)


def put(obj, path, value):
    *above, last = path.split(".")
    for name in above:
        obj = obj.setdefault(name, {})
    obj[last] = value


def trimmed(value):
    if not isinstance(value, dict):
        return value
    inside = {name: trimmed(v) for name, v in value.items()}
    return {name: v for name, v in inside.items() if v != {}}


def converted(obj, to, places):
    had = places[obj["apiVersion"].partition("/")[2]]
    values = {name: take(obj, path) for name, path in had.items()}
    for name, path in places[to.partition("/")[2]].items():
        if values.get(name) is not None:
            put(obj, path, values[name])
    return dict(trimmed(obj), apiVersion=to)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = ""

    def log_message(self, *args):
        pass

    def response(self):
        name = os.path.join(self.folder, os.path.basename(self.path.partition("?")[0]) + ".json")
        if not os.path.exists(name):
            return {"allowed": True}
        with open(name) as f:
            said = json.load(f)
        if "patch" in said:
            said["patch"] = base64.b64encode(json.dumps(said["patch"]).encode()).decode()
            said["patchType"] = "JSONPatch"
        return said

    def admission(self, review, asked):
        self.log("%s %s %s/%s %s" % (review["apiVersion"], asked["operation"],
                                     asked["resource"]["resource"], asked.get("subResource", ""),
                                     (asked["object"] or {}).get("kind")))
        return self.response()

    def conversion(self, asked):
        to = asked["desiredAPIVersion"]
        self.log("%d to %s" % (len(asked["objects"]), to))
        places = self.response()
        if "allowed" in places:
            return {"result": {"status": "Failed", "message": "not today"}}
        return {"result": {"status": "Success"},
                "convertedObjects": [converted(o, to, places) for o in asked["objects"]]}

    def log(self, line):
        with open(os.path.join(self.folder, "log"), "a") as f:
            f.write(line + "\n")

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = review["request"]
        said = self.conversion(asked) if "objects" in asked else self.admission(review, asked)
        answer = dict(review, response=dict(said, uid=asked["uid"]))
        del answer["request"]
        raw = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def main():
    Handler.folder = sys.argv[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(Handler.folder, "tls.crt"),
                            os.path.join(Handler.folder, "tls.key"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(os.path.join(Handler.folder, "port.new"), "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(os.path.join(Handler.folder, "port.new"), os.path.join(Handler.folder, "port"))
    server.serve_forever()


main()
