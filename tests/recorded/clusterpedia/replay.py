#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Differential scenarios for a Clusterpedia-compatible search API.

  replay.py load     --member c1=KUBECONFIG --member c2=... --member c3=...   create the data set in the member clusters
  replay.py register --kubeconfig KC --member c1=... [--prefix P]             create the PediaClusters in the search server
  replay.py wait     --kubeconfig KC [--prefix P] [--seconds N]               until the search server shows the whole data set
  replay.py record   --kubeconfig KC [--set open|heldout|all]                 write SET/golden/*.json from a real Clusterpedia
  replay.py check    --kubeconfig KC [--prefix P] [--set open] [--only GLOB] [--as-reference] [-v]
  replay.py list     [--set open]                                             name every request

Python 3.11 standard library only.  The format of the files is described in README.md.
Closing line of a check: 'N passed, N failed' (', N skipped' where requests were left out); exit status 0 only
when nothing failed.
"""
import argparse
import base64
import copy
import datetime
import fnmatch
import glob
import http.client
import json
import os
import re
import ssl
import sys
import tempfile
import time
import urllib.parse

import dataset

HERE = os.path.dirname(os.path.abspath(__file__))
BASE = "/apis/clusterpedia.io/v1beta1"
CLUSTER_NOTE = "shadow.clusterpedia.io/cluster-name"
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
AGE = re.compile(r"^(\d+[smhdy])+$|^<invalid>$|^<unknown>$")
PLACE = re.compile(r"\{(uid|ts|tsms|rfc|dt|date):([^}+-]*(?:-[^}+]*?)?)([+-]\d+)?\}")


# ---------------------------------------------------------------- kubeconfig and HTTP

def mini_yaml(text):
    """The subset of YAML (or JSON) that kubeconfig files use."""
    if text.lstrip().startswith("{"):
        return json.loads(text)
    lines = []
    for raw in text.splitlines():
        if raw.strip() and not raw.lstrip().startswith("#") and raw.strip() != "---":
            lines.append([len(raw) - len(raw.lstrip(" ")), raw.strip()])
    pos = 0

    def scalar(s):
        s = s.strip()
        if s.startswith("{") and s.endswith("}"):
            d = {}
            for part in filter(None, (p.strip() for p in s[1:-1].split(","))):
                k, v = part.split(":", 1)
                d[k.strip()] = scalar(v)
            return d
        if s in ("[]",):
            return []
        if len(s) > 1 and s[0] == s[-1] and s[0] in "'\"":
            return s[1:-1]
        return {"true": True, "false": False, "null": None, "": None}.get(s, s)

    def block(indent):
        nonlocal pos
        if lines[pos][1].startswith("- ") or lines[pos][1] == "-":
            res = []
            while pos < len(lines) and lines[pos][0] == indent and lines[pos][1].startswith("-"):
                rest = lines[pos][1][1:].strip()
                if not rest:
                    pos += 1
                    res.append(block(lines[pos][0]))
                elif re.match(r"^[^\s'\"{]+:(\s|$)", rest):
                    lines[pos] = [indent + 2, rest]
                    res.append(block(indent + 2))
                else:
                    pos += 1
                    res.append(scalar(rest))
            return res
        res = {}
        while pos < len(lines) and lines[pos][0] == indent and not lines[pos][1].startswith("- "):
            k, _, v = lines[pos][1].partition(":")
            k = k.strip().strip("'\"")
            pos += 1
            if v.strip():
                res[k] = scalar(v)
            elif pos < len(lines) and (lines[pos][0] > indent or (lines[pos][0] == indent and lines[pos][1].startswith("- "))):
                res[k] = block(lines[pos][0])
            else:
                res[k] = None
        return res

    return block(lines[0][0]) if lines else {}


class Server:
    def __init__(self, kubeconfig, prefix=""):
        with open(kubeconfig) as f:
            kc = mini_yaml(f.read())
        base = os.path.dirname(os.path.abspath(kubeconfig))
        byname = lambda items, n: next(i for i in items or [] if i["name"] == n)
        ctxs = kc.get("contexts") or []
        ctx = byname(ctxs, kc["current-context"])["context"] if kc.get("current-context") else (ctxs[0]["context"] if ctxs else {
            "cluster": kc["clusters"][0]["name"], "user": kc["users"][0]["name"]})
        cluster = byname(kc["clusters"], ctx["cluster"])["cluster"]
        user = (byname(kc.get("users"), ctx["user"])["user"] if ctx.get("user") else {}) or {}
        u = urllib.parse.urlparse(cluster["server"])
        self.tls, self.host = u.scheme == "https", u.hostname
        self.port = u.port or (443 if self.tls else 80)
        self.prefix = u.path.rstrip("/") + "/" + prefix.strip("/") if prefix.strip("/") else u.path.rstrip("/")
        data = lambda m, k: base64.b64decode(m[k + "-data"]) if m.get(k + "-data") else (open(os.path.join(base, m[k]), "rb").read() if m.get(k) else None)
        self.headers = {}
        if self.tls:
            ca = data(cluster, "certificate-authority")
            self.ctx = ssl.create_default_context(cadata=ca.decode() if ca else None)
            if cluster.get("insecure-skip-tls-verify") in (True, "true"):
                self.ctx.check_hostname, self.ctx.verify_mode = False, ssl.CERT_NONE
            if cluster.get("tls-server-name"):
                self.ctx.check_hostname = False
            cert, key = data(user, "client-certificate"), data(user, "client-key")
            if cert and key:
                with tempfile.NamedTemporaryFile("wb", suffix=".pem", delete=False) as f:
                    f.write(cert + b"\n" + key)
                try:
                    self.ctx.load_cert_chain(f.name)
                finally:
                    os.unlink(f.name)
        token = user.get("token") or (open(os.path.join(base, user["tokenFile"])).read().strip() if user.get("tokenFile") else None)
        if token:
            self.headers["Authorization"] = "Bearer " + token
        elif user.get("username"):
            self.headers["Authorization"] = "Basic " + base64.b64encode(("%s:%s" % (user["username"], user.get("password", ""))).encode()).decode()
        self.conn = None

    def call(self, method, path, body=None, headers=None):
        h = {"Accept": "application/json", **self.headers, **(headers or {})}
        if body is not None:
            h.setdefault("Content-Type", "application/json")
            body = json.dumps(body)
        for attempt in (0, 1):
            try:
                if self.conn is None:
                    self.conn = (http.client.HTTPSConnection(self.host, self.port, context=self.ctx, timeout=60) if self.tls
                                 else http.client.HTTPConnection(self.host, self.port, timeout=60))
                self.conn.request(method, self.prefix + path, body=body, headers=h)
                r = self.conn.getresponse()
                raw = r.read()
                if r.will_close:
                    self.conn.close()
                    self.conn = None
                return r.status, {k.lower(): v for k, v in r.getheaders()}, raw
            except (http.client.HTTPException, OSError):
                self.conn = None
                if attempt or method != "GET":
                    raise

    def json(self, method, path, body=None, headers=None):
        st, h, raw = self.call(method, path, body, headers)
        try:
            return st, json.loads(raw)
        except ValueError:
            return st, {"raw": raw.decode("utf-8", "replace")}


def members(args):
    res = {}
    for m in args.member or []:
        n, _, p = m.partition("=")
        res[n] = p
    return res


# ---------------------------------------------------------------- load, register, wait

def do_load(args):
    srv = {n: Server(p) for n, p in members(args).items()}
    missing = [c for c in dataset.CLUSTERS if c not in srv]
    if missing:
        sys.exit("--member is missing for " + ", ".join(missing))
    uids = {}

    def fill(cl, o):
        if isinstance(o, dict):
            return {k: fill(cl, v) for k, v in o.items()}
        if isinstance(o, list):
            return [fill(cl, v) for v in o]
        if isinstance(o, str) and o.startswith("$uid:"):
            return uids[(cl, o[5:])]
        return o

    made = kept = 0
    for s in dataset.steps():
        if s["op"] == "tick":
            # begin just after a whole second, and never in the second of the last creation
            time.sleep(1.0 - time.time() % 1.0 + 0.05)
            continue
        c, cl = srv[s["cluster"]], s["cluster"]
        if s["op"] == "create":
            st, o = c.json("POST", s["path"], fill(cl, s["object"]))
            full = s["path"] + "/" + s["object"]["metadata"]["name"]
            if st == 409:
                st, o = c.json("GET", full)
                kept += 1
            elif st == 201:
                made += 1
            if st not in (200, 201):
                sys.exit("%s POST %s: %s %s" % (cl, s["path"], st, json.dumps(o)))
            uids[(cl, full)] = o["metadata"]["uid"]
        elif s["op"] in ("status", "update"):
            p = s["path"] + ("/status" if s["op"] == "status" else "")
            st, o = c.json("PATCH", p, {"status": s["status"]} if s["op"] == "status" else s["patch"], {"Content-Type": "application/merge-patch+json"})
            if st != 200:
                sys.exit("%s PATCH %s: %s %s" % (cl, p, st, json.dumps(o)))
        elif s["op"] == "delete":
            st, o = c.json("DELETE", s["path"])
            if st not in (200, 202, 404):
                sys.exit("%s DELETE %s: %s %s" % (cl, s["path"], st, json.dumps(o)))
        elif s["op"] == "crd":
            for i in range(200):
                st, o = c.json("GET", s["path"])
                if st == 200:
                    break
                time.sleep(0.1)
            else:
                sys.exit("%s: %s does not answer 200" % (cl, s["path"]))
    print("%d created, %d already there" % (made, kept))


def do_register(args):
    c = Server(args.kubeconfig, args.prefix)
    for n, p in members(args).items():
        with open(p, "rb") as f:
            kc = base64.b64encode(f.read()).decode()
        o = {"apiVersion": "cluster.clusterpedia.io/v1alpha2", "kind": "PediaCluster", "metadata": {"name": n}, "spec": {"kubeconfig": kc, "syncResources": dataset.SYNC}}
        st, r = c.json("POST", "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters", o)
        print(n, st, r.get("message", "") if st not in (201,) else "")


def identity(o):
    m = o.get("metadata") or {}
    return "%s/%s/%s" % ((m.get("annotations") or {}).get(CLUSTER_NOTE, ""), m.get("namespace", ""), m.get("name", ""))


def do_wait(args):
    c = Server(args.kubeconfig, args.prefix)
    end = time.time() + args.seconds
    want = dataset.expected()
    while True:
        behind = []
        for t in dataset.TYPES:
            st, o = c.json("GET", BASE + "/resources" + t + "?labelSelector=suite%3Dpedia")
            got = sorted(identity(i) for i in o.get("items") or []) if st == 200 else None
            if got != want[t]:
                behind.append("%s: %s of %d" % (t, len(got) if got is not None else "status %s" % st, len(want[t])))
        st, o = c.json("GET", BASE + "/resources/clusters/c2/api/v1/namespaces/blog/configmaps/changing")
        if st != 200 or o.get("data", {}).get("v") != "2":
            behind.append("c2/blog/changing is not updated")
        # per-cluster discovery may come later than the objects
        for cl in dataset.CLUSTERS:
            for gv, names in (("apis/apps/v1", {"deployments", "replicasets", "statefulsets", "daemonsets"}), ("apis/shop.example.com/v1", {"widgets", "regions"}), ("api/v1", {"nodes", "pods"}), ("apis/batch/v1", {"jobs", "cronjobs"})):
                for pre in ("", "clusters/%s/" % cl):
                    st, o = c.json("GET", "%s/resources/%s%s" % (BASE, pre, gv))
                    if st != 200 or names - {r.get("name") for r in o.get("resources") or []}:
                        behind.append("discovery %s%s" % (pre, gv))
        # the status patches
        st, o = c.json("GET", BASE + "/resources/clusters/c2/api/v1/namespaces/shop/pods/nightly-1-sssss")
        if st != 200 or o.get("status", {}).get("phase") != "Succeeded":
            behind.append("c2/shop/nightly-1-sssss is not updated")
        if not behind:
            # events are synced last; a server that does not sync them is not held up for long
            for _ in range(20):
                st, o = c.json("GET", BASE + "/resources/api/v1/pods?clusters=c1&names=web-rs1-aaaaa&labelSelector=search.clusterpedia.io%2Finject-events%3Dtrue")
                if st == 200 and o.get("items") and o["items"][0]["metadata"].get("annotations", {}).get("shadow.clusterpedia.io/events", "").count('"reason"') == 2:
                    print("complete")
                    return
                time.sleep(0.5)
            print("complete, without events")
            return
        if time.time() > end:
            sys.exit("not complete: " + "; ".join(behind))
        time.sleep(0.5)


# ---------------------------------------------------------------- requests

def resolve(srv, text, cache):
    """{uid:c1/apis/apps/v1/namespaces/shop/deployments/web} and {ts:…±seconds} are read from the server under test."""
    def one(m):
        kind, ref, delta = m.group(1), m.group(2), int(m.group(3) or 0)
        if ref not in cache:
            cl, _, p = ref.partition("/")
            st, o = srv.json("GET", "%s/resources/clusters/%s/%s" % (BASE, cl, p))
            if st != 200:
                raise LookupError("placeholder %s: status %s" % (m.group(0), st))
            cache[ref] = (o["metadata"]["uid"], o["metadata"]["creationTimestamp"])
        uid, ct = cache[ref]
        if kind == "uid":
            return uid
        t = datetime.datetime.fromisoformat(ct.replace("Z", "+00:00")) + datetime.timedelta(seconds=delta)
        return {"ts": "%d" % t.timestamp(), "tsms": "%d000" % t.timestamp(), "rfc": t.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "dt": t.strftime("%Y-%m-%d %H:%M:%S"), "date": t.strftime("%Y-%m-%d")}[kind]
    return PLACE.sub(one, text)


def url_of(srv, r, cache):
    path = resolve(srv, r["path"], cache)
    if not path.startswith("/"):
        path = BASE + "/" + path
    path = urllib.parse.quote(path, safe="/:%")
    q = [(k, resolve(srv, str(v), cache)) for k, v in (r.get("query") or [])]
    if r.get("rawquery"):
        return path + "?" + resolve(srv, r["rawquery"], cache)
    return path + ("?" + urllib.parse.urlencode(q, quote_via=urllib.parse.quote) if q else "")


ACCEPT = {
    "json": "application/json",
    "table": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "meta": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
    "metalist": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
    "yaml": "application/yaml",
    "discovery": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
}


def normal(o, key=None, parent=None):
    """Replace what differs from one run to the next."""
    if isinstance(o, dict):
        # "creationTimestamp": null is how older Go types print an absent time
        return {k: normal(v, k, o) for k, v in o.items() if k != "managedFields" and not (k == "creationTimestamp" and v is None)}
    if isinstance(o, list):
        return [normal(v, key) for v in o]
    if isinstance(o, str):
        if key == "resourceVersion" and o:
            return "<rv>"
        if key == "shadow.clusterpedia.io/events":
            try:
                return sorted(({k: e.get(k) for k in ("type", "reason", "message", "count")} for e in json.loads(o)), key=sortkey)
            except (ValueError, AttributeError):
                return o
        if key == "cells" and AGE.match(o):
            return "<age>"
        o = UUID.sub("<uid>", TIME.sub("<time>", o))
        if key == "message":
            o = re.sub(r"\b1[0-9]{9}([0-9]{3})?\b", "<unix>", o)
            o = re.sub(r"\b20\d\d-\d\d-\d\d( \d\d:\d\d:\d\d)?", "<date>", o)
        return o
    return o


def view(r, st, headers, raw):
    """The judged part of an answer."""
    res = {"status": st, "contentType": headers.get("content-type", "").replace(" ", "")}
    if headers.get("warning"):
        res["warning"] = UUID.sub("<uid>", headers["warning"])
    try:
        body = json.loads(raw)
    except ValueError:
        res["text"] = raw.decode("utf-8", "replace") if r.get("compare") == "full" or st >= 400 else "<%s>" % ("empty" if not raw else "text")
        return res
    how = r.get("compare", "keys")
    if not isinstance(body, dict):
        res["body"] = normal(body)
        return res
    if st >= 400 or how == "full":
        res["body"] = normal(body)
        if r.get("order") != "exact":
            b = res["body"]
            for k in ("items", "rows", "resources", "groups", "resourceTypes"):
                if isinstance(b.get(k), list):
                    b[k].sort(key=sortkey)
        return res
    if how == "status":
        return res
    for k in ("kind", "apiVersion"):
        res[k] = body.get(k)
    meta = dict(body.get("metadata") or {})
    top = {k: body[k] for k in ("continue", "remainingItemCount") if k in body}
    if body.get("kind", "").endswith("List") or "items" in body or body.get("kind") in ("Table", "CollectionResource"):
        meta.pop("creationTimestamp", None)
        res["metadata"] = normal(meta)
        res["top"] = top
        if "resourceTypes" in body:
            rts = [normal(x) for x in body["resourceTypes"] or []]
            res["resourceTypes"] = sorted(rts, key=sortkey)
        if body.get("kind") == "Table":
            res["columns"] = [c.get("name") for c in body.get("columnDefinitions") or []]
            items = [{"cells": normal(x.get("cells"), "cells"), "object": x.get("object", {}).get("kind")} for x in body.get("rows") or []]
        else:
            items = []
            for i in body.get("items") or []:
                e = {"id": identity(i)}
                for k in ("kind", "apiVersion"):
                    if i.get(k):
                        e[k] = i[k]
                shadow = {k: normal(v, k) for k, v in ((i.get("metadata") or {}).get("annotations") or {}).items() if k.startswith("shadow.clusterpedia.io/") and k != CLUSTER_NOTE}
                if shadow:
                    e["shadow"] = shadow
                e["fields"] = sorted(i)
                items.append(e)
        res["count"] = len(items)
        if how == "page":
            # which objects a page holds is not defined without an order: judge the number only
            pass
        else:
            if r.get("order") != "exact":
                items.sort(key=sortkey)
            res["items"] = items
    else:
        res["id"] = identity(body)
        res["fields"] = sorted(body)
    return res


def sortkey(x):
    return json.dumps(x, sort_keys=True)


def differences(want, got, at=""):
    if isinstance(want, dict) and isinstance(got, dict):
        res = []
        for k in sorted(set(want) | set(got)):
            if k not in got:
                res.append("%s/%s: missing, expected %s" % (at, k, short(want[k])))
            elif k not in want:
                res.append("%s/%s: not expected: %s" % (at, k, short(got[k])))
            else:
                res += differences(want[k], got[k], at + "/" + k)
        return res
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return ["%s: %d entries instead of %d; expected %s, got %s" % (at, len(got), len(want), short(want), short(got))]
        res = []
        for i, (a, b) in enumerate(zip(want, got)):
            res += differences(a, b, "%s[%d]" % (at, i))
        return res
    return [] if want == got and type(want) is type(got) else ["%s: expected %s, got %s" % (at, short(want), short(got))]


def short(x):
    if isinstance(x, list) and x and isinstance(x[0], dict) and "id" in x[0]:
        x = [e["id"] for e in x]
    s = json.dumps(x, ensure_ascii=False)
    return s if len(s) < 400 else s[:400] + "…"


def ids(body):
    if body.get("kind") == "Table":
        return ["%s/%s/%s" % (x["cells"][0], (x.get("object") or {}).get("metadata", {}).get("namespace", ""), (x.get("object") or {}).get("metadata", {}).get("name", "")) for x in body.get("rows") or []]
    return [identity(i) for i in body.get("items") or []]


def sane(alternatives, st, headers, raw):
    """Judge an answer by written expectations; any one of them is enough."""
    try:
        body = json.loads(raw)
    except ValueError:
        body = {}
    why = []
    for e in alternatives if isinstance(alternatives, list) else [alternatives]:
        bad = []
        if st != e.get("status", 200):
            bad.append("status %s instead of %s" % (st, e.get("status", 200)))
        if "reason" in e and body.get("reason") != e["reason"]:
            bad.append("reason %r instead of %r" % (body.get("reason"), e["reason"]))
        if "contains" in e and e["contains"] not in body.get("message", ""):
            bad.append("message %r does not contain %r" % (body.get("message"), e["contains"]))
        if "items" in e:
            got = ids(body)
            if (got if e.get("order") == "exact" else sorted(got)) != (e["items"] if e.get("order") == "exact" else sorted(e["items"])):
                bad.append("items %s instead of %s" % (short(got), short(e["items"])))
        if "count" in e and len(ids(body)) != e["count"]:
            bad.append("%d items instead of %d" % (len(ids(body)), e["count"]))
        for k in ("continue", "remainingItemCount"):
            if k in e:
                v = (body.get("metadata") or {}).get(k, body.get(k))
                if v != e[k]:
                    bad.append("%s %r instead of %r" % (k, v, e[k]))
        if "itemFields" in e:
            for i in body.get("items") or []:
                if set(i) - set(e["itemFields"]):
                    bad.append("item has the fields %s" % sorted(set(i) - set(e["itemFields"])))
                    break
        if "events" in e:
            got = [len(json.loads(i["metadata"].get("annotations", {}).get("shadow.clusterpedia.io/events", "[]"))) for i in body.get("items") or []]
            if got != [e["events"]] * len(got):
                bad.append("injected events %s instead of %s each" % (got, e["events"]))
        if "kind" in e and body.get("kind") != e["kind"]:
            bad.append("kind %r instead of %r" % (body.get("kind"), e["kind"]))
        if "columns" in e:
            got = [c.get("name") for c in body.get("columnDefinitions") or []]
            if got != e["columns"]:
                bad.append("columns %s instead of %s" % (got, e["columns"]))
        if not bad:
            return []
        why.append("; ".join(bad))
    return [" | or: ".join(why)]


def scenario_files(sets):
    for s in sets:
        for f in sorted(glob.glob(os.path.join(HERE, s, "scenarios", "*.json"))):
            with open(f) as fh:
                yield s, os.path.basename(f)[:-5], json.load(fh)


def run(srv, r, cache):
    h = {"Accept": ACCEPT.get(r.get("accept", "json"), r.get("accept", "json"))}
    h.update(r.get("headers") or {})
    return srv.call(r.get("method", "GET"), url_of(srv, r, cache), None, h)


def sets_of(args):
    return ["open", "heldout"] if args.set == "all" else [args.set]


def do_list(args):
    n = 0
    for s, name, sc in scenario_files(sets_of(args)):
        for r in sc["requests"]:
            print("%s/%s/%s%s" % (s, name, r["id"], "  [sane]" if r.get("judge") == "sane" else ""))
            n += 1
    print("%d requests" % n)


def do_record(args):
    srv, cache, total = Server(args.kubeconfig, args.prefix), {}, 0
    for s, name, sc in scenario_files(sets_of(args)):
        gold = {}
        for r in sc["requests"]:
            if r.get("record") == "never":
                continue
            gold[r["id"]] = view(r, *run(srv, r, cache))
            total += 1
        d = os.path.join(HERE, s, "golden")
        os.makedirs(d, exist_ok=True)
        with open(os.path.join(d, name + ".json"), "w") as f:
            json.dump(gold, f, indent=1, sort_keys=True, ensure_ascii=False)
            f.write("\n")
    print("%d requests recorded" % total)


def do_check(args):
    srv, cache = Server(args.kubeconfig, args.prefix), {}
    passed = failed = skipped = 0
    for s, name, sc in scenario_files(sets_of(args)):
        with open(os.path.join(HERE, s, "golden", name + ".json")) as f:
            gold = json.load(f)
        for r in sc["requests"]:
            full = "%s/%s" % (name, r["id"])
            if args.only and not fnmatch.fnmatch(full, args.only):
                continue
            if r.get("judge") == "sane" and args.as_reference and (r.get("unstable") or r.get("record") == "never"):
                skipped += 1
                continue
            if set(r.get("needs") or []) & set(args.without or []):
                skipped += 1
                continue
            try:
                st, h, raw = run(srv, r, cache)
                if r.get("judge") == "sane" and not args.as_reference:
                    bad = sane(r["expect"], st, h, raw)
                else:
                    want, got = copy.deepcopy(gold[r["id"]]), view(r, st, h, raw)
                    if args.ignore_content_type:
                        want.pop("contentType", None), got.pop("contentType", None)
                    bad = differences(want, got)
            except Exception as e:  # a request that cannot be sent is a failure, not an end
                bad = ["%s: %s" % (type(e).__name__, e)]
            if bad:
                failed += 1
                print("FAIL %s  %s" % (full, r.get("about", "")))
                for b in bad[:6]:
                    print("     " + b)
            else:
                passed += 1
                if args.verbose:
                    print("ok   %s" % full)
    print("%d passed, %d failed%s" % (passed, failed, ", %d skipped" % skipped if skipped else ""))
    return 1 if failed else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = ap.add_subparsers(dest="cmd", required=True)
    for n in ("load", "register", "wait", "record", "check", "list"):
        p = sub.add_parser(n)
        if n in ("load", "register"):
            p.add_argument("--member", action="append", required=True, metavar="NAME=KUBECONFIG")
        if n not in ("load", "list"):
            p.add_argument("--kubeconfig", required=True)
            p.add_argument("--prefix", default="", help="put before every path, e.g. /clusters/x")
        if n == "wait":
            p.add_argument("--seconds", type=float, default=120)
        if n in ("record", "check", "list"):
            p.add_argument("--set", choices=("open", "heldout", "all"), default="open")
        if n == "check":
            p.add_argument("--only", metavar="GLOB", help="only requests whose SCENARIO/ID matches")
            p.add_argument("--as-reference", action="store_true", help="the server is Clusterpedia itself: judge 'sane' requests by the recorded answers, skip the unstable ones")
            p.add_argument("--without", action="append", help="skip requests that need this (see \"needs\")")
            p.add_argument("--ignore-content-type", action="store_true")
            p.add_argument("-v", "--verbose", action="store_true")
    args = ap.parse_args()
    return globals()["do_" + args.cmd](args)


if __name__ == "__main__":
    sys.exit(main())
