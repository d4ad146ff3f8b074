#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Differential HTTP replay for Kubernetes-compatible API servers.

  replay.py record --kubeconfig KC [--dir open]            write DIR/golden/*.json from a real kube-apiserver
  replay.py check  --kubeconfig KC [--prefix /clusters/x]  compare a server with DIR/golden/*.json
  replay.py list   [--dir open]                            name every scenario

Python 3.11 standard library only.  The format of a scenario file is described in README.md.
Closing line of a check: 'N passed, N failed' (', N skipped' when tags were left out); exit status 0 only
when nothing failed.
"""
import argparse
import base64
import concurrent.futures
import datetime
import fnmatch
import glob
import gzip
import http.client
import http.server
import json
import os
import random
import re
import socket
import ssl
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_HEADERS = ["Content-Type", "Warning"]
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$")
JWT = re.compile(r"^eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$")
AGE = re.compile(r"^(\d+[smhdy])+$|^<invalid>$")
RV = re.compile(r"^[1-9][0-9]*$")
GEN = re.compile(r"^[bcdfghjklmnpqrstvwxz2456789]{5}$")
AGE_COLUMNS = {"age", "last seen", "first seen", "created at"}


class StepError(Exception):
    """A step could not be carried out, or an assertion about it does not hold."""


# ---------------------------------------------------------------- kubeconfig

def parse_mini_yaml(text):
    """The subset of YAML that kubeconfig files use: nested maps, lists, plain or quoted scalars."""
    lines = []
    for raw in text.splitlines():
        if not raw.strip() or raw.lstrip().startswith("#") or raw.strip() == "---":
            continue
        lines.append((len(raw) - len(raw.lstrip(" ")), raw.strip()))
    pos = 0

    def scalar(s):
        s = s.strip()
        if len(s) > 1 and s[0] == s[-1] and s[0] in "\"'":
            return json.loads(s) if s[0] == '"' else s[1:-1].replace("''", "'")
        if s in ("{}", "[]"):
            return json.loads(s)
        if s.startswith("{") and s.endswith("}"):
            pairs = (part.partition(":") for part in s[1:-1].split(","))
            return {scalar(k): scalar(v) for k, _, v in pairs}
        return {"true": True, "false": False, "null": None, "~": None, "": None}.get(s, s)

    def block(indent):
        nonlocal pos
        if lines[pos][1].startswith("- ") or lines[pos][1] == "-":
            out = []
            while pos < len(lines) and lines[pos][0] == indent and lines[pos][1].startswith("-"):
                rest = lines[pos][1][1:].strip()
                if not rest:
                    pos += 1
                    out.append(block(lines[pos][0]))
                elif re.match(r"^[^\s\"'{\[][^:]*:(\s|$)", rest):
                    lines[pos] = (indent + 2, rest)
                    out.append(block(indent + 2))
                else:
                    out.append(scalar(rest))
                    pos += 1
            return out
        out = {}
        while pos < len(lines) and lines[pos][0] == indent and not lines[pos][1].startswith("- "):
            key, _, rest = lines[pos][1].partition(":")
            pos += 1
            if rest.strip():
                out[scalar(key)] = scalar(rest)
            elif pos < len(lines) and (lines[pos][0] > indent or
                                       (lines[pos][0] == indent and lines[pos][1].startswith("-"))):
                out[scalar(key)] = block(lines[pos][0])
            else:
                out[scalar(key)] = None
        return out

    return block(lines[0][0]) if lines else {}


def load_kubeconfig(path, context=None):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    cfg = json.loads(text) if text.lstrip().startswith("{") else parse_mini_yaml(text)

    def named(kind, name):
        for item in cfg.get(kind + "s") or []:
            if item["name"] == name:
                return item[kind] or {}
        raise SystemExit(f"kubeconfig {path}: no {kind} named {name!r}")

    ctx = named("context", context or cfg.get("current-context"))
    cluster, user = named("cluster", ctx["cluster"]), named("user", ctx["user"]) if ctx.get("user") else {}
    base = os.path.dirname(os.path.abspath(path))
    tmp = tempfile.mkdtemp(prefix="replay-")

    def material(src, key):
        if src.get(key + "-data"):
            name = os.path.join(tmp, key)
            with open(name, "wb") as f:
                f.write(base64.b64decode(src[key + "-data"]))
            os.chmod(name, 0o600)
            return name
        return os.path.join(base, src[key]) if src.get(key) else None

    token = user.get("token")
    if not token and user.get("tokenFile"):
        with open(os.path.join(base, user["tokenFile"]), encoding="utf-8") as f:
            token = f.read().strip()
    return {"server": cluster["server"], "ca": material(cluster, "certificate-authority"),
            "insecure": str(cluster.get("insecure-skip-tls-verify")).lower() == "true",
            "cert": material(user, "client-certificate"), "key": material(user, "client-key"), "token": token}


# ---------------------------------------------------------------- HTTP

class Server:
    """The server under test: where it is and who the runner is there."""

    def __init__(self, server, ca=None, cert=None, key=None, token=None, insecure=False, prefix="", timeout=30.0):
        u = urllib.parse.urlsplit(server)
        self.scheme, self.host = u.scheme, u.hostname
        self.port = u.port or (443 if u.scheme == "https" else 80)
        self.prefix = u.path.rstrip("/") + ("/" + prefix.strip("/") if prefix.strip("/") else "")
        self.token, self.timeout = token, timeout
        self.with_cert = self.without_cert = None
        if self.scheme == "https":
            self.without_cert = self._context(ca, insecure)
            self.with_cert = self._context(ca, insecure)
            if cert:
                self.with_cert.load_cert_chain(cert, key)

    @staticmethod
    def _context(ca, insecure):
        ctx = ssl.create_default_context(cafile=ca)
        if insecure or not ca:
            ctx.check_hostname = False
            ctx.verify_mode = ssl.CERT_NONE
        return ctx

    def open(self, method, target, headers, body, auth="admin", timeout=None):
        """Sends one request; returns the connection and the response, whose body is still unread."""
        if self.scheme == "https":
            ctx = self.with_cert if auth == "admin" else self.without_cert
            conn = http.client.HTTPSConnection(self.host, self.port, context=ctx, timeout=timeout or self.timeout)
        else:
            conn = http.client.HTTPConnection(self.host, self.port, timeout=timeout or self.timeout)
        conn.connect()
        conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        conn.putrequest(method, self.prefix + target, skip_accept_encoding=True)
        if auth == "admin" and self.token:
            conn.putheader("Authorization", "Bearer " + self.token)
        elif auth.startswith("bearer:"):
            conn.putheader("Authorization", "Bearer " + auth[len("bearer:"):])
        elif auth.startswith("raw:"):
            conn.putheader("Authorization", auth[len("raw:"):])
        names = {k.lower() for k, _ in headers}
        if "user-agent" not in names:
            conn.putheader("User-Agent", "replay/1.0 (conformance)")
        for k, v in headers:
            conn.putheader(k, v)
        if body is not None and "content-length" not in names:
            conn.putheader("Content-Length", str(len(body)))
        try:
            conn.endheaders(body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server may answer an over-long body before it has read it
        return conn, conn.getresponse()


# ---------------------------------------------------------------- protobuf bodies

def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def protobuf(fields):
    """[[number, value], …]: a list is a message, a string is a string, a number or truth value a varint."""
    out = b""
    for number, value in fields:
        if isinstance(value, (int, bool)):
            out += varint(number << 3) + varint(int(value))
        else:
            data = protobuf(value) if isinstance(value, list) else value.encode()
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def kube_protobuf(spec):
    """The body a typed client of client-go 1.32 and later sends: magic, then runtime.Unknown around the object."""
    unknown = [[1, [[1, spec["apiVersion"]], [2, spec["kind"]]]]]
    raw = protobuf(spec["object"])
    body = protobuf(unknown) + varint(2 << 3 | 2) + varint(len(raw)) + raw + protobuf([[3, ""], [4, ""]])
    return b"k8s\x00" + body


# ---------------------------------------------------------------- JSON paths

def tokens(path):
    """'/a/b~1c/[k=v]/*' as a list of tokens."""
    if path in ("", "/"):
        return []
    return [t.replace("~1", "/").replace("~0", "~") for t in path.lstrip("/").split("/")]


def children(node, tok):
    """The keys of node that one token names."""
    if isinstance(node, dict):
        if tok == "*":
            return list(node)
        return [tok] if tok in node else []
    if isinstance(node, list):
        if tok == "*":
            return list(range(len(node)))
        m = re.match(r"^\[([^=]+)=(.*)\]$", tok)
        if m:
            return [i for i, e in enumerate(node)
                    if isinstance(e, dict) and str(e.get(m.group(1))) == m.group(2)]
        if re.match(r"^-?\d+$", tok):
            i = int(tok)
            return [i if i >= 0 else len(node) + i] if -len(node) <= i < len(node) else []
    return []


def find(doc, path):
    """Every value at path."""
    nodes = [doc]
    for tok in tokens(path):
        nodes = [n[k] for n in nodes for k in children(n, tok)]
    return nodes


def drop(doc, path):
    toks = tokens(path)
    if not toks:
        return

    def walk(node, rest):
        keys = children(node, rest[0])
        if len(rest) == 1:
            for k in sorted(keys, key=lambda k: k if isinstance(k, int) else 0, reverse=True):
                del node[k]
        else:
            for k in keys:
                walk(node[k], rest[1:])

    walk(doc, toks)


def project(doc, paths):
    """{path: value} for the paths wanted, so that extra fields elsewhere do not matter."""
    out = {}
    for p in paths:
        found = find(doc, p)
        wild = "*" in tokens(p)
        out[p] = found if wild else (found[0] if found else "<absent>")
    return out


# ---------------------------------------------------------------- normalising

class Normaliser:
    def __init__(self, replacements, prefix=""):
        self.replacements = sorted(((v, "${" + k + "}") for k, v in replacements.items() if v),
                                   key=lambda p: -len(p[0]))
        self.prefix = prefix

    def string(self, s, subs=()):
        for value, name in self.replacements:
            s = s.replace(value, name)
        m = TIME.match(s)
        if m:
            then = datetime.datetime.fromisoformat(m.group(1)).replace(tzinfo=datetime.timezone.utc)
            if abs((datetime.datetime.now(datetime.timezone.utc) - then).total_seconds()) < 3 * 86400:
                digits = len(m.group(2) or ".") - 1
                zone = "" if m.group(3) == "Z" else m.group(3)
                return "<time" + (f".{digits}" if digits else "") + zone + ">"
        if JWT.match(s):
            return "<jwt>"
        s = UUID.sub("<uid>", s)
        if self.prefix and s.startswith(self.prefix + "/"):
            s = s[len(self.prefix):]
        for pattern, to in subs:
            s = re.sub(pattern, to, s)
        return s

    def value(self, node, opts, key=""):
        if isinstance(node, dict):
            out = {}
            for k, v in node.items():
                nk = self.string(k, opts.get("subs", ()))
                if k == "managedFields" and isinstance(v, list) and key == "metadata" and not opts.get("managedFields"):
                    continue
                if k == "resourceVersion" and isinstance(v, str) and RV.match(v):
                    out[nk] = "<rv>"
                elif k == "continue" and key == "metadata" and isinstance(v, str) and v:
                    out[nk] = "<continue>"
                elif k in ("selfLink", "continue") and v == "":
                    continue
                elif v is None and (k == "creationTimestamp" or opts.get("dropNull")):
                    continue
                else:
                    out[nk] = self.value(v, opts, k)
            if key == "metadata" and isinstance(node.get("generateName"), str) and isinstance(node.get("name"), str):
                g, n = node["generateName"], node["name"]
                if g and n.startswith(g) and GEN.match(n[len(g):]):
                    out["name"] = self.string(g) + "<rand>"
            if node.get("kind") == "Table" and "rows" in node:
                self.table(node, out)
            if node.get("kind") == "Status" and "status" in node:
                self.status(out, opts)
            return out
        if isinstance(node, list):
            if key == "managedFields":
                node = sorted(node, key=lambda e: (str(e.get("manager")), str(e.get("operation")),
                                                   str(e.get("subresource", "")), str(e.get("apiVersion"))))
            return [self.value(v, opts, "metadata" if key == "metadata" else "") for v in node]
        if isinstance(node, str):
            return self.string(node, opts.get("subs", ()))
        return node

    @staticmethod
    def table(node, out):
        columns = node.get("columnDefinitions") or []
        ages = {i for i, c in enumerate(columns) if str(c.get("name", "")).lower() in AGE_COLUMNS}
        for row in out.get("rows") or []:
            cells = row.get("cells") or []
            for i in ages if columns else range(len(cells)):
                if i < len(cells) and isinstance(cells[i], str) and (AGE.match(cells[i]) or cells[i].startswith("<time")):
                    cells[i] = "<age>"
        for col in out.get("columnDefinitions") or []:
            col.pop("description", None)

    @staticmethod
    def status(out, opts):
        details = out.get("details")
        causes = details.get("causes") if isinstance(details, dict) else None
        if isinstance(causes, list):
            causes.sort(key=lambda c: (str(c.get("field")), str(c.get("reason")), str(c.get("message"))))
        if not opts.get("exactMessage"):
            if out.get("message"):
                out["message"] = "<message>"
            for c in causes or []:
                if c.get("message"):
                    c["message"] = "<message>"


def transform(doc, ops):
    """Reduces a document to what must match, before it is normalised."""
    for op in ops:
        for node in find(doc, op.get("path", "")):
            if op["op"] == "pick" and isinstance(node, list):
                keep = [e for e in node if isinstance(e, dict) and str(first(find(e, "/" + op["key"]))) in op["values"]]
                keep.sort(key=lambda e: op["values"].index(str(first(find(e, "/" + op["key"])))))
                node[:] = keep
            elif op["op"] == "keep" and isinstance(node, dict):
                for k in [k for k in node if k not in op["keys"]]:
                    del node[k]
            elif op["op"] == "has" and isinstance(node, list):
                node[:] = [v for v in op["values"] if v in node]
            elif op["op"] == "sort" and isinstance(node, list):
                node.sort(key=lambda e: json.dumps(first(find(e, "/" + op["key"])) if op.get("key") else e, sort_keys=True))
            elif op["op"] == "responseKinds" and isinstance(node, dict):
                fill_response_kinds(node)
    return doc


def fill_response_kinds(group):
    """In aggregated discovery an empty group and version of a responseKind mean those of the entry itself."""
    for version in group.get("versions") or []:
        for res in version.get("resources") or []:
            for entry in [res] + (res.get("subresources") or []):
                kind = entry.get("responseKind")
                if kind and not kind.get("group") and not kind.get("version"):
                    kind["group"] = (group.get("metadata") or {}).get("name", "")
                    kind["version"] = version.get("version", "")


def first(values, default=None):
    return values[0] if values else default


def media(value):
    """A content type with its parameters in order and the charset left out."""
    if not value:
        return value or ""
    parts = [p.strip() for p in value.split(";")]
    params = sorted(p for p in parts[1:] if p and not p.lower().startswith("charset="))
    return ";".join([parts[0].lower()] + params)


def diff(want, got, path=""):
    """Readable lines, one per difference."""
    if isinstance(want, dict) and isinstance(got, dict):
        out = []
        for k in sorted(set(want) | set(got)):
            p = f"{path}/{k}"
            if k not in got:
                out.append(f"- {p}: missing (expected {short(want[k])})")
            elif k not in want:
                out.append(f"+ {p}: not expected ({short(got[k])})")
            else:
                out += diff(want[k], got[k], p)
        return out
    if isinstance(want, list) and isinstance(got, list):
        out = []
        for i in range(max(len(want), len(got))):
            p = f"{path}/{i}"
            if i >= len(got):
                out.append(f"- {p}: missing (expected {short(want[i])})")
            elif i >= len(want):
                out.append(f"+ {p}: not expected ({short(got[i])})")
            else:
                out += diff(want[i], got[i], p)
        return out
    if type(want) is bool or type(got) is bool:
        same = want is got
    else:
        same = want == got
    return [] if same else [f"~ {path or '/'}: expected {short(want)}, got {short(got)}"]


def short(v, limit=400):
    s = json.dumps(v, sort_keys=True, ensure_ascii=False)
    return s if len(s) <= limit else s[:limit] + "…"


# ---------------------------------------------------------------- webhooks

class Webhooks:
    """An HTTPS server whose answers the scenarios set, for admission and conversion webhooks."""

    def __init__(self, host, directory):
        self.answers, self.log, self.lock = {}, {}, threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                code, reply = outer.handle(urllib.parse.urlsplit(self.path).path, body)
                data = json.dumps(reply).encode() if not isinstance(reply, bytes) else reply
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass

        self.httpd = Quiet((host, 0), Handler)
        ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        ctx.load_cert_chain(os.path.join(directory, "tls.crt"), os.path.join(directory, "tls.key"))
        self.httpd.socket = ctx.wrap_socket(self.httpd.socket, server_side=True)
        self.url = f"https://{host}:{self.httpd.server_address[1]}"
        with open(os.path.join(directory, "ca.crt"), "rb") as f:
            self.ca = base64.b64encode(f.read()).decode()
        threading.Thread(target=self.httpd.serve_forever, daemon=True).start()

    def handle(self, path, body):
        try:
            review = json.loads(body)
        except ValueError:
            return 400, {"error": "not JSON"}
        with self.lock:
            answer = self.answers.get(path)
            self.log.setdefault(path, []).append(review)
        if answer is None:
            return 404, {"error": "no answer set for " + path}
        time.sleep(answer.get("delay", 0))
        if answer.get("http"):
            return answer["http"], {"error": "set to fail"}
        request = review.get("request") or {}
        if "convert" in answer:
            response = convert(request, answer)
        else:
            response = {k: v for k, v in answer["admit"].items() if k != "patch"}
            if "patch" in answer["admit"]:
                response["patch"] = base64.b64encode(json.dumps(answer["admit"]["patch"]).encode()).decode()
                response["patchType"] = "JSONPatch"
        response.setdefault("uid", request.get("uid"))
        return 200, {"apiVersion": review.get("apiVersion"), "kind": review.get("kind"), "response": response}


def convert(request, answer):
    """A ConversionReview response: per desired version, fields moved from one path to another."""
    if answer["convert"] == "fail":
        return {"result": {"status": "Failure", "message": answer.get("message", "conversion refused")}}
    want = request.get("desiredAPIVersion", "")
    out = []
    for obj in request.get("objects") or []:
        obj = json.loads(json.dumps(obj))
        for src, dst in answer["convert"].get(want.split("/")[-1], []):
            s, d = tokens(src), tokens(dst)
            node = obj
            for t in s[:-1]:
                node = node.get(t) if isinstance(node, dict) else None
            if isinstance(node, dict) and s[-1] in node:
                value = node.pop(s[-1])
                node = obj
                for t in d[:-1]:
                    node = node.setdefault(t, {})
                node[d[-1]] = value
        obj["apiVersion"] = want
        out.append(obj)
    return {"convertedObjects": out, "result": {"status": "Success"}}


# ---------------------------------------------------------------- running a scenario

class Watch:
    """One watch kept open while later steps run."""

    def __init__(self, server, method, target, headers, auth):
        self.events, self.done, self.error, self.status = [], threading.Event(), None, None
        self.cond, self.ready = threading.Condition(), threading.Event()
        self.conn = None

        def run():
            try:
                self.conn, resp = server.open(method, target, headers, None, auth, timeout=60)
                self.status = resp.status
                self.ready.set()
                for event in stream(resp):
                    with self.cond:
                        self.events.append(event)
                        self.cond.notify_all()
            except (OSError, http.client.HTTPException, ValueError, AttributeError) as e:
                self.error = str(e)
            finally:
                self.ready.set()
                self.done.set()
                with self.cond:
                    self.cond.notify_all()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        self.ready.wait(5)

    def collect(self, count, timeout, bookmarks, settle):
        def kept():
            return kept_events(self.events, bookmarks)

        end = time.monotonic() + timeout
        with self.cond:
            while len(kept()) < count and not self.done.is_set() and time.monotonic() < end:
                self.cond.wait(max(0.01, end - time.monotonic()))
        if settle:
            time.sleep(settle)
        events = kept()
        self.close()
        return events

    def close(self):
        if self.conn and self.conn.sock:
            try:
                self.conn.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def kept_events(events, bookmarks):
    """The events to compare: when a plain bookmark comes is the server's affair, the end of the initial events is not."""
    def keep(e):
        if not isinstance(e, dict) or e.get("type") != "BOOKMARK":
            return True
        if bookmarks == "initial":
            return bool(find(e, "/object/metadata/annotations/k8s.io~1initial-events-end"))
        return bool(bookmarks)

    return [e for e in events if keep(e)]


def stream(resp):
    """The JSON values of a watch response, as they come."""
    decoder, buf = json.JSONDecoder(), ""
    while True:
        chunk = resp.read1(65536)
        if not chunk:
            break
        buf += chunk.decode("utf-8", "replace")
        while True:
            buf = buf.lstrip()
            if not buf:
                break
            try:
                value, end = decoder.raw_decode(buf)
            except ValueError:
                break
            buf = buf[end:]
            yield value
    if buf.strip():
        yield {"type": "<not JSON>", "object": buf.strip()[:400]}


class Run:
    """One scenario against one server."""

    def __init__(self, server, webhooks, scenario, defaults):
        self.server, self.webhooks, self.scenario, self.defaults = server, webhooks, scenario, defaults
        rng = random.SystemRandom()
        rnd = rng.choice("bcdfghjkmnpqrstvwxz") + "".join(rng.choice("bcdfghjkmnpqrstvwxz23456789") for _ in range(6))
        self.vars = {"rnd": rnd, "ns": "t-" + rnd}
        if webhooks:
            self.vars["webhookURL"], self.vars["webhookCA"] = webhooks.url, webhooks.ca
        self.norm = Normaliser({k: self.vars.get(k, "") for k in ("rnd", "webhookURL", "webhookCA")}, server.prefix)
        self.watches, self.results, self.failures = {}, [], []

    # -- variables

    def fill(self, node):
        if isinstance(node, str):
            m = re.fullmatch(r"\$\{([A-Za-z0-9_]+)\}", node)
            if m and m.group(1) in self.vars and not isinstance(self.vars[m.group(1)], str):
                return self.vars[m.group(1)]

            def one(m):
                name = m.group(1)
                if name.startswith("repeat:"):
                    _, text, n = name.split(":")
                    return text * int(n)
                if name not in self.vars:
                    raise StepError(f"variable {name!r} has not been captured")
                return str(self.vars[name])

            return re.sub(r"\$\{([A-Za-z0-9_:-]+)\}", one, node)
        if isinstance(node, list):
            return [self.fill(v) for v in node]
        if isinstance(node, dict):
            return {self.fill(k): self.fill(v) for k, v in node.items()}
        return node

    # -- requests

    def prepare(self, step):
        target = self.fill(step["path"])
        if step.get("query"):
            pairs = []
            for k, v in step["query"].items():
                for one in v if isinstance(v, list) else [v]:
                    pairs.append((k, str(self.fill(one))))
            target += ("&" if "?" in target else "?") + urllib.parse.urlencode(pairs)
        headers = []
        for k, v in (step.get("headers") or {}).items():
            for one in v if isinstance(v, list) else [v]:
                headers.append((k, self.fill(one)))
        who = step.get("as")
        if who is not None:
            who = {"user": who} if isinstance(who, str) else who
            if "user" in who:
                headers.append(("Impersonate-User", self.fill(who["user"])))
            for g in who.get("groups", []):
                headers.append(("Impersonate-Group", self.fill(g)))
            if "uid" in who:
                headers.append(("Impersonate-Uid", self.fill(who["uid"])))
            for k, vs in who.get("extra", {}).items():
                for v in vs:
                    headers.append(("Impersonate-Extra-" + k, self.fill(v)))
        names = {k.lower() for k, _ in headers}
        body = None
        if "raw" in step:
            body = self.fill(step["raw"]).encode()
        elif "base64" in step:
            body = base64.b64decode(step["base64"])
        elif "proto" in step:
            body = kube_protobuf(self.fill(step["proto"]))
        elif "body" in step:
            body = json.dumps(self.fill(step["body"]), ensure_ascii=False).encode()
        if body is not None and "content-type" not in names and step.get("contentType") != "":
            usual = "application/vnd.kubernetes.protobuf" if "proto" in step else "application/json"
            headers.append(("Content-Type", step.get("contentType", usual)))
        if "accept" not in names and step.get("accept") != "":
            headers.append(("Accept", step.get("accept", "application/json")))
        return step.get("method", "GET"), target, headers, body, self.fill(step.get("auth", "admin"))

    def send(self, step):
        method, target, headers, body, auth = self.prepare(step)
        conn, resp = self.server.open(method, target, headers, body, auth, timeout=step.get("httpTimeout"))
        try:
            if step.get("mode") == "events" and resp.status == 200:
                return resp, list(stream(resp)), b""
            data = resp.read()
        finally:
            conn.close()
        if (resp.getheader("Content-Encoding") or "").lower() == "gzip":
            data = gzip.decompress(data)
        kind = media(resp.getheader("Content-Type")).split(";")[0]
        if step.get("mode") in ("text", "none"):
            return resp, data.decode("utf-8", "replace"), data
        if kind == "application/json" or kind.endswith("+json") or step.get("mode") == "json":
            try:
                return resp, json.loads(data), data
            except ValueError:
                return resp, "<not JSON> " + data[:400].decode("utf-8", "replace"), data
        if kind in ("", "text/plain", "application/yaml") or kind.startswith("text/"):
            return resp, data.decode("utf-8", "replace"), data
        return resp, f"<{'some' if data else 'no'} bytes>", data

    def satisfied(self, until, status, doc):
        if "status" in until and status not in (until["status"] if isinstance(until["status"], list) else [until["status"]]):
            return False
        if "path" in until:
            found = find(doc, self.fill(until["path"])) if isinstance(doc, (dict, list)) else []
            if "equals" in until:
                return bool(found) and found[0] == self.fill(until["equals"])
            if "count" in until:
                return bool(found) and isinstance(found[0], list) and len(found[0]) == until["count"]
            if until.get("absent"):
                return not found
            return bool(found)
        if "contains" in until:
            return self.fill(until["contains"]) in (doc if isinstance(doc, str) else json.dumps(doc))
        return True

    def step(self, step):
        """Carries out one step; returns what is to be compared, or None."""
        if "sleep" in step:
            time.sleep(step["sleep"])
        if "set" in step:
            self.vars.update(self.fill(step["set"]))
        if "webhookSet" in step:
            if not self.webhooks:
                raise StepError("this scenario needs the runner's webhook server")
            self.webhooks.answers[self.fill(step["webhookSet"])] = self.fill(step["answer"])
            return None
        if "webhookLog" in step:
            path = self.fill(step["webhookLog"])
            with self.webhooks.lock:
                seen = json.loads(json.dumps(self.webhooks.log.get(path, [])))
                if step.get("clear"):
                    self.webhooks.log[path] = []
            if not step.get("compare", True):
                return None
            return self.reduced(step, {"log": seen[step.get("from", 0):]})
        if "watchStart" in step:
            method, target, headers, _, auth = self.prepare(step)
            w = Watch(self.server, method, target, headers, auth)
            self.watches[step["watchStart"]] = w
            if w.status != step.get("expectStatus", 200):
                raise StepError(f"the watch was answered {w.status} {w.error or ''}")
            return None
        if "watchStop" in step:
            events = self.watches[step["watchStop"]].collect(step["count"], step.get("timeout", 8),
                                                             step.get("bookmarks", False), step.get("settle", 0.15))
            self.capture(step, {"events": events}, None)
            return self.reduced(step, {"events": events})
        if "path" not in step:
            return None
        end = time.monotonic() + step.get("timeout", 15)
        while True:
            resp, doc, _ = self.send(step)
            if "until" not in step or self.satisfied(step["until"], resp.status, doc):
                break
            if time.monotonic() > end:
                raise StepError(f"gave up waiting for {json.dumps(step['until'])}; last answer {resp.status} {short(doc)}")
            time.sleep(step.get("every", 0.1))
        if step.get("mode") == "events" and isinstance(doc, list):
            doc = {"events": kept_events(doc, step.get("bookmarks", False))}
        self.capture(step, doc, resp)
        if "expectStatus" in step:
            want = step["expectStatus"] if isinstance(step["expectStatus"], list) else [step["expectStatus"]]
            if resp.status not in want:
                raise StepError(f"expected status {want}, got {resp.status}: {short(doc)}")
        for text in step.get("contains", []):
            blob = doc if isinstance(doc, str) else json.dumps(doc, ensure_ascii=False)
            if self.fill(text) not in blob:
                raise StepError(f"the answer does not contain {self.fill(text)!r}: {short(doc)}")
        if not step.get("compare", True):
            return None
        return self.reduced(step, doc, resp)

    def capture(self, step, doc, resp):
        for name, path in (step.get("capture") or {}).items():
            if path.startswith("header:"):
                value = resp.getheader(path[len("header:"):])
            elif path.startswith("jwt:"):
                found = find(doc, path[len("jwt:"):])
                payload = first(found, "..").split(".")[1]
                value = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)) or b"null")
            else:
                found = find(doc, self.fill(path)) if isinstance(doc, (dict, list)) else []
                value = found[0] if found else None
            if value is None:
                if name.endswith("?"):
                    continue
                raise StepError(f"nothing to capture at {path} for {name!r}; the answer was {short(doc)}")
            self.vars[name.rstrip("?")] = value

    def reduced(self, step, doc, resp=None):
        opts = {k: step.get(k, self.scenario.get(k, self.defaults.get(k))) for k in ("exactMessage", "managedFields", "dropNull")}
        opts["subs"] = step.get("subs", ())
        out = {}
        if step.get("refused"):
            return {"refused": resp.status >= 400}
        if resp is not None:
            out["status"] = resp.status
            headers = {}
            for h in step.get("compareHeaders", DEFAULT_HEADERS):
                values = resp.headers.get_all(h) or []
                if h.lower() == "content-type":
                    values = [media(v) for v in values]
                if values:
                    headers[h] = [self.norm.string(v, opts["subs"]) for v in values]
            for h in step.get("presentHeaders", []):
                headers[h] = "<present>" if resp.getheader(h) else "<absent>"
            out["headers"] = headers
        if step.get("mode") == "none":
            return out
        if isinstance(doc, (dict, list)):
            doc = json.loads(json.dumps(doc))
            if step.get("transform"):
                doc = transform(doc, self.fill(step["transform"]))
            doc = self.norm.value(doc, opts)
            for p in self.defaults.get("ignore", []) + self.scenario.get("ignore", []) + step.get("ignore", []):
                drop(doc, p)
            if "only" in step:
                doc = project(doc, step["only"])
        elif isinstance(doc, str):
            doc = self.norm.string(doc, opts["subs"])
        out["body"] = doc
        return out

    def asserts(self, step):
        for kind, a, *rest in step.get("asserts", []):
            a = self.fill(a)
            b = self.fill(rest[0]) if rest else None
            ok = {"eq": lambda: a == b, "ne": lambda: a != b,
                  "rv": lambda: bool(RV.match(str(a))),
                  "gt": lambda: int(a) > int(b), "ge": lambda: int(a) >= int(b),
                  "match": lambda: re.search(b, str(a)) is not None}[kind]()
            if not ok:
                raise StepError(f"assertion {kind} {short(a)} {short(b) if rest else ''} does not hold")

    def run(self, golden=None):
        """Runs every step; with a golden, compares as it goes and stops at the first step that cannot go on."""
        try:
            if self.scenario.get("namespace", True):
                self.make_namespace()
            for i, step in enumerate(self.scenario["steps"]):
                name = step.get("id") or f"{i}"
                where = f"{name} {step.get('method', 'GET')} {step['path']}" if "path" in step else name
                try:
                    got = self.step(step)
                    self.asserts(step)
                except StepError as e:
                    self.failures.append((where, [str(e)]))
                    break
                except (OSError, http.client.HTTPException) as e:
                    self.failures.append((where, [f"no answer: {e!r}"]))
                    break
                if got is None:
                    continue
                self.results.append({"id": name, **got})
                if golden is not None:
                    want = next((g for g in golden if g["id"] == name), None)
                    if want is None:
                        self.failures.append((where, ["the golden has no such step; record again"]))
                        continue
                    lines = diff({k: v for k, v in want.items() if k != "id"}, got)
                    if lines:
                        self.failures.append((where, lines))
        except StepError as e:
            self.failures.append(("set-up", [str(e)]))
        except (OSError, http.client.HTTPException) as e:
            self.failures.append(("set-up", [f"no answer: {e!r}"]))
        except Exception:  # a server's answer of a shape nobody thought of is a failure, not the end of the run
            self.failures.append(("runner", traceback.format_exc().splitlines()[-6:]))
        finally:
            self.clean()

    def make_namespace(self):
        resp, doc, _ = self.send({"method": "POST", "path": "/api/v1/namespaces",
                                  "body": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "${ns}"}}})
        if resp.status != 201:
            raise StepError(f"could not create the scenario's namespace: {resp.status} {short(doc)}")

    def clean(self):
        for w in self.watches.values():
            w.close()
        steps = list(self.scenario.get("cleanup", []))
        if self.scenario.get("namespace", True):
            steps.append({"method": "DELETE", "path": "/api/v1/namespaces/${ns}"})
        for step in steps:
            try:
                self.send(step)
            except (StepError, OSError, http.client.HTTPException):
                pass


# ---------------------------------------------------------------- commands

def load(directory, only):
    files = []
    for path in sorted(glob.glob(os.path.join(directory, "scenarios", "*.json"))):
        with open(path, encoding="utf-8") as f:
            doc = json.load(f)
        name = os.path.splitext(os.path.basename(path))[0]
        chosen = [s for s in doc["scenarios"]
                  if not only or any(fnmatch.fnmatch(f"{name}/{s['name']}", p) or fnmatch.fnmatch(name, p) for p in only)]
        names = [s["name"] for s in doc["scenarios"]]
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            raise SystemExit(f"{path}: scenarios named twice: {sorted(twice)}")
        files.append((name, doc, chosen))
    if not files:
        raise SystemExit(f"no scenario files under {directory}/scenarios")
    return files


def connect(args):
    cfg = load_kubeconfig(args.kubeconfig, args.context) if args.kubeconfig else {}
    server = args.server or cfg.get("server")
    if not server:
        raise SystemExit("say where the server is: --kubeconfig or --server")
    return Server(server, ca=args.ca or cfg.get("ca"), cert=args.client_cert or cfg.get("cert"),
                  key=args.client_key or cfg.get("key"), token=args.token or cfg.get("token"),
                  insecure=args.insecure or cfg.get("insecure", False), prefix=args.prefix, timeout=args.request_timeout)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("command", choices=["record", "check", "list"])
    p.add_argument("patterns", nargs="*", help="FILE or FILE/SCENARIO patterns; all when none is given")
    p.add_argument("--dir", action="append", help="folder holding scenarios/ and golden/ (default: open; may repeat)")
    p.add_argument("--kubeconfig")
    p.add_argument("--context")
    p.add_argument("--server", help="base URL, in place of the kubeconfig's")
    p.add_argument("--prefix", default="", help="path put before every request path, such as /clusters/demo")
    p.add_argument("--token")
    p.add_argument("--ca")
    p.add_argument("--client-cert")
    p.add_argument("--client-key")
    p.add_argument("--insecure", action="store_true", help="do not verify the server's certificate")
    p.add_argument("--jobs", type=int, default=4, help="scenarios run at once (default 4)")
    p.add_argument("--skip-tag", action="append", default=[], help="leave out scenarios with this tag (may repeat)")
    p.add_argument("--webhook-host", default="127.0.0.1", help="address for the runner's webhook server; '' for none")
    p.add_argument("--request-timeout", type=float, default=30.0)
    p.add_argument("--max-diff", type=int, default=12, help="difference lines shown per step (default 12)")
    p.add_argument("--report", help="write a JSON report here")
    p.add_argument("-q", "--quiet", action="store_true", help="print failures only")
    args = p.parse_intermixed_args()
    dirs = [d if os.path.isdir(os.path.join(d, "scenarios")) else os.path.join(HERE, d) for d in (args.dir or ["open"])]
    loaded = [(d, name, doc, chosen) for d in dirs for name, doc, chosen in load(d, args.patterns)]
    if args.command == "list":
        for d, name, doc, chosen in loaded:
            for s in chosen:
                print(f"{os.path.basename(d)}/{name}/{s['name']}" + (f"  [{', '.join(s['tags'])}]" if s.get("tags") else ""))
        return 0

    server = connect(args)
    webhooks = Webhooks(args.webhook_host, os.path.join(HERE, "webhook")) if args.webhook_host else None
    passed = failed = skipped = 0
    report, golden_out = [], {}
    jobs = []
    for d, name, doc, chosen in loaded:
        gpath = os.path.join(d, "golden", name + ".json")
        golden = {}
        if os.path.exists(gpath):
            with open(gpath, encoding="utf-8") as f:
                golden = json.load(f)
        elif args.command == "check":
            raise SystemExit(f"{gpath} is missing: record first")
        golden_out[gpath] = golden
        for s in chosen:
            if set(s.get("tags", [])) & set(args.skip_tag):
                skipped += 1
                continue
            want = golden.get("scenarios", {}).get(s["name"])
            jobs.append((gpath, name, s, doc.get("defaults", {}), want))

    def one(job):
        gpath, name, s, defaults, want = job
        if args.command == "check" and want is None:
            run = Run(server, webhooks, {"namespace": False, "steps": []}, {})
            run.failures.append(("golden", ["no golden for this scenario; record first"]))
            return job, run, 0.0
        start = time.monotonic()
        run = Run(server, webhooks, s, defaults)
        run.run(want if args.command == "check" else None)
        return job, run, time.monotonic() - start

    parallel = [j for j in jobs if not j[2].get("serial")]
    serial = [j for j in jobs if j[2].get("serial")]

    def finish(result):
        nonlocal passed, failed
        job, run, seconds = result
        gpath, name, s, _, _ = job
        label = f"{name}/{s['name']}"
        if run.failures:
            failed += 1
            print(f"FAIL {label}", flush=True)
            for where, lines in run.failures:
                print(f"     at {where}")
                for line in lines[:args.max_diff]:
                    print(f"       {line}")
                if len(lines) > args.max_diff:
                    print(f"       … and {len(lines) - args.max_diff} more")
        else:
            passed += 1
            if not args.quiet:
                print(f"ok   {label} ({seconds:.1f}s)", flush=True)
        if args.command == "record" and not run.failures:
            golden_out[gpath].setdefault("scenarios", {})[s["name"]] = run.results
        report.append({"scenario": label, "ok": not run.failures, "seconds": round(seconds, 2),
                       "failures": [{"at": w, "lines": ls} for w, ls in run.failures]})

    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        for result in pool.map(one, parallel):
            finish(result)
    for job in serial:
        finish(one(job))

    if args.command == "record":
        version = ""
        try:
            conn, resp = server.open("GET", "/version", [], None)
            version = json.loads(resp.read()).get("gitVersion", "")
            conn.close()
        except (OSError, ValueError, http.client.HTTPException):
            pass
        for d, name, doc, _ in loaded:
            gpath = os.path.join(d, "golden", name + ".json")
            out = golden_out[gpath]
            known = {s["name"] for s in doc["scenarios"]}
            out["recordedFrom"] = version
            out["scenarios"] = {k: v for k, v in sorted(out.get("scenarios", {}).items()) if k in known}
            os.makedirs(os.path.dirname(gpath), exist_ok=True)
            with open(gpath, "w", encoding="utf-8") as f:
                json.dump({"recordedFrom": out["recordedFrom"], "scenarios": out["scenarios"]}, f, indent=1,
                          sort_keys=True, ensure_ascii=False)
                f.write("\n")
    if args.report:
        with open(args.report, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=1)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
