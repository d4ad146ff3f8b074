#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Differential scenarios for Karmada-compatible control planes.

  replay.py record --kubeconfig CP --member m1=KC --member m2=KC ... [--dir open]   write DIR/golden/*.json
  replay.py check  --kubeconfig CP --member m1=KC --member m2=KC ... [--dir open]   compare with DIR/golden/*.json
  replay.py prepare --kubeconfig CP --member m1=KC ...                              only nodes and Cluster properties
  replay.py list   [--dir open]                                                     name every scenario

Options: --only GLOB[,GLOB]  --skip-tag TAG  -j N (scenarios at once)  --timeout-scale F  --keep  --no-prepare
Environment: KUBECTL (default kubectl), KARMADACTL (optional: then cordon/uncordon use it).
Python 3.11 standard library only.  Scenario format: README.md.
Closing line of a check: 'N passed, N failed'; exit status 0 only when nothing failed.
"""
import argparse
import base64
import concurrent.futures
import fnmatch
import glob
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
KUBECTL = os.environ.get("KUBECTL", "kubectl")
KARMADACTL = os.environ.get("KARMADACTL", "")
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
AGE = re.compile(r"^(\d+(ms|[smhdy]))+$")
URL = re.compile(r"https?://[\w.\-]+(:\d+)?")

# The four members: what the runner writes on the Cluster objects and which nodes it makes in the members.
LAYOUT = {
    "m1": {"labels": {"env": "prod", "size": "large"}, "provider": "p1", "region": "r1", "zones": ["z1a", "z1b"],
           "nodes": [{"cpu": "16", "memory": "64Gi", "pods": "110"}, {"cpu": "16", "memory": "64Gi", "pods": "110"}]},
    "m2": {"labels": {"env": "prod", "size": "small"}, "provider": "p1", "region": "r2", "zones": ["z2a"],
           "nodes": [{"cpu": "4", "memory": "16Gi", "pods": "50"}, {"cpu": "4", "memory": "16Gi", "pods": "50"}]},
    "m3": {"labels": {"env": "dev", "size": "large"}, "provider": "p2", "region": "r2", "zones": ["z2b"],
           "nodes": [{"cpu": "16", "memory": "64Gi", "pods": "75"}]},
    "m4": {"labels": {"env": "dev", "size": "small"}, "provider": "p2", "region": "r3", "zones": ["z3a"],
           "nodes": []},
}
LAYOUT_LABELS = {"env", "size"}
OWN_TAINTS = ("cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable", "cluster.karmada.io/terminating")


class StepError(Exception):
    """A step could not be carried out."""


# ---------------------------------------------------------------- API access

class Api:
    """One endpoint, read with plain HTTPS (kubectl is used for all writes that a user would do)."""

    def __init__(self, name, kubeconfig, tmp):
        self.name, self.kubeconfig = name, kubeconfig
        out = subprocess.run([KUBECTL, "config", "view", "--kubeconfig", kubeconfig, "--raw", "--minify", "--flatten", "-o", "json"],
                             capture_output=True, text=True, check=True).stdout
        cfg = json.loads(out)
        cl, us = cfg["clusters"][0]["cluster"], cfg["users"][0]["user"]
        u = urllib.parse.urlsplit(cl["server"])
        self.https, self.host, self.port = u.scheme == "https", u.hostname, u.port or (443 if u.scheme == "https" else 80)
        self.prefix = u.path.rstrip("/")
        self.headers = {"Accept": "application/json"}
        self.ctx = None
        if self.https:
            self.ctx = ssl.create_default_context()
            if cl.get("insecure-skip-tls-verify"):
                self.ctx.check_hostname, self.ctx.verify_mode = False, ssl.CERT_NONE
            elif cl.get("certificate-authority-data"):
                self.ctx.load_verify_locations(cadata=base64.b64decode(cl["certificate-authority-data"]).decode())
            if cl.get("tls-server-name"):
                self.ctx.check_hostname = False
            if us.get("client-certificate-data"):
                fn = os.path.join(tmp, name + ".pem")
                with open(os.open(fn, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as f:
                    f.write(base64.b64decode(us["client-certificate-data"]) + b"\n" + base64.b64decode(us["client-key-data"]))
                self.ctx.load_cert_chain(fn)
        if us.get("token"):
            self.headers["Authorization"] = "Bearer " + us["token"]
        self.local = threading.local()
        self.disc = {}
        self.cache = os.path.join(tmp, "cache-" + name)

    def request(self, method, path, body=None, ctype="application/json"):
        data = None if body is None else json.dumps(body).encode()
        h = dict(self.headers)
        if data is not None:
            h["Content-Type"] = ctype
        for attempt in (0, 1, 2):
            c = getattr(self.local, "conn", None)
            if c is None:
                c = (http.client.HTTPSConnection(self.host, self.port, context=self.ctx, timeout=30) if self.https
                     else http.client.HTTPConnection(self.host, self.port, timeout=30))
                self.local.conn = c
            try:
                c.request(method, self.prefix + path, body=data, headers=h)
                r = c.getresponse()
                raw = r.read()
                break
            except (OSError, http.client.HTTPException):
                self.local.conn = None
                c.close()
                if attempt == 2:
                    raise
        try:
            return r.status, json.loads(raw)
        except ValueError:
            return r.status, {"raw": raw.decode("utf-8", "replace")}

    def get(self, path):
        st, obj = self.request("GET", path)
        if st == 404:
            return None
        if st != 200:
            raise StepError("%s GET %s: %s %s" % (self.name, path, st, json.dumps(obj)[:300]))
        return obj

    def resource(self, gv, kind):
        for again in (False, True):
            if gv not in self.disc or again:
                self.disc[gv] = self.get("/api/v1" if gv == "v1" else "/apis/" + gv) or {"resources": []}
            for r in self.disc[gv].get("resources", []):
                if r["kind"] == kind and "/" not in r["name"]:
                    return r["name"], r["namespaced"]
        return None

    def path(self, gv, kind, ns, name=None):
        r = self.resource(gv, kind)
        if r is None:
            return None
        p = "/api/v1" if gv == "v1" else "/apis/" + gv
        if r[1]:
            p += "/namespaces/" + ns
        return p + "/" + r[0] + ("/" + name if name else "")

    def kubectl(self, args, stdin=None, timeout=120):
        cmd = [KUBECTL, "--kubeconfig", self.kubeconfig, "--cache-dir", self.cache] + args
        p = subprocess.run(cmd, input=stdin, capture_output=True, text=True, timeout=timeout)
        return p.returncode, p.stdout, p.stderr


# ---------------------------------------------------------------- values

def mask(v):
    if isinstance(v, str):
        return TIME.sub("<time>", UUID.sub("<uuid>", v))
    if isinstance(v, list):
        return [mask(x) for x in v]
    if isinstance(v, dict):
        return {k: ("<generation>" if GENKEY.search(k) and isinstance(x, (int, str)) else
                    "<port>" if k in ("nodePort", "healthCheckNodePort") else mask(x)) for k, x in v.items()}
    return v


# how often an object was written before it settled is nobody's business; '@observed' compares the two numbers
GENKEY = re.compile(r"(^|[./])(generation|observedGeneration|resourceTemplateGeneration)$")
TOKEN = re.compile(r'\.?([^.\[\]]+)|\["([^"]+)"\]|\[(\d+)\]')


def field(obj, path):
    if path in ("", "."):
        return obj
    for m in TOKEN.finditer(path):
        if obj is None:
            return None
        key, quoted, idx = m.groups()
        if idx is not None:
            obj = obj[int(idx)] if isinstance(obj, list) and int(idx) < len(obj) else None
        else:
            k = key if quoted is None else quoted
            obj = obj.get(k) if isinstance(obj, dict) else None
    return obj


def diff(exp, got, path, out):
    if isinstance(exp, dict) and isinstance(got, dict):
        for k in sorted(set(exp) | set(got)):
            p = path + "." + k if path else k
            if k not in got:
                out.append("%s: missing, expected %s" % (p, short(exp[k])))
            elif k not in exp:
                out.append("%s: unexpected %s" % (p, short(got[k])))
            else:
                diff(exp[k], got[k], p, out)
    elif isinstance(exp, list) and isinstance(got, list) and len(exp) == len(got):
        for i, (a, b) in enumerate(zip(exp, got)):
            diff(a, b, "%s[%d]" % (path, i), out)
    elif exp != got:
        out.append("%s: expected %s, got %s" % (path, short(exp), short(got)))


def short(v):
    s = json.dumps(v, sort_keys=True)
    return s if len(s) <= 400 else s[:397] + "..."


def conditions(obj, only=None):
    r = {}
    for c in field(obj, "status.conditions") or []:
        if only is None or c["type"] in only:
            r[c["type"]] = "%s/%s" % (c.get("status"), c.get("reason", ""))
    return r


def table(text):
    """kubectl's columns, split by the header's column starts, with ages and addresses masked."""
    lines = text.rstrip("\n").split("\n")
    starts = [m.start() for m in re.finditer(r"\S+(?: \S+)*", lines[0])]
    rows = []
    for ln in lines:
        cells = [ln[a:b].strip() for a, b in zip(starts, starts[1:] + [None])]
        rows.append(["<age>" if AGE.match(c) else URL.sub("<url>", mask(c)) for c in cells])
    if rows:
        ver = rows[0].index("VERSION") if "VERSION" in rows[0] else -1
        if ver >= 0:
            rows = [rows[0]] + [[("<version>" if i == ver and c else c) for i, c in enumerate(r)] for r in rows[1:]]
    return rows


# ---------------------------------------------------------------- observations

class Env:
    def __init__(self, control, members, args):
        self.control, self.members, self.args = control, members, args

    def api(self, on):
        return self.control if on in (None, "control") else self.members[on]


def select(obj, item):
    """The part of an object that an item asks for."""
    if obj is None:
        return None
    fields = item.get("fields")
    if fields is None:
        r = "present"
    elif fields == "full":
        r = json.loads(json.dumps(obj))
        for k in ("managedFields", "resourceVersion", "uid", "creationTimestamp", "selfLink"):
            r.get("metadata", {}).pop(k, None)
    else:
        r = {}
        for f in fields:
            if f == "@observed":
                v = (field(obj, "status.observedGeneration") or 0) >= (field(obj, "metadata.generation") or 0)
            else:
                v = field(obj, f)
            if v is not None:
                r[f] = v
    if item.get("conditions") is not None and isinstance(r, dict):
        only = item["conditions"]
        r["conditions"] = conditions(obj, None if only is True else only)
    return mask(r)


def observe_item(env, ns, it):
    kind = it["type"]
    if kind in ("rb", "crb"):
        p = ("/apis/work.karmada.io/v1alpha2/namespaces/%s/resourcebindings/" % ns) if kind == "rb" else "/apis/work.karmada.io/v1alpha2/clusterresourcebindings/"
        o = env.control.get(p + it["name"])
        if o is None:
            return None
        cl = {c["name"]: c.get("replicas", 0) for c in field(o, "spec.clusters") or []}
        how = it.get("clusters", "full")
        if how == "names":
            cl = sorted(cl)
        elif how == "multiset":
            cl = sorted(cl.values(), reverse=True)
        elif how == "count":
            cl = len(cl)
        r = {"clusters": cl}
        if it.get("conditions", True):
            only = it.get("conditions", True)
            r["conditions"] = conditions(o, None if only is True else only)
        if it.get("aggregated"):
            r["aggregated"] = {a["clusterName"]: {k: v for k, v in a.items() if k in ("applied", "appliedMessage", "health") or (k == "status" and it["aggregated"] == "status")}
                               for a in field(o, "status.aggregatedStatus") or []}
        if it.get("fields"):
            r.update(select(o, {"fields": it["fields"]}))
        return mask(r)
    if kind == "works":
        r = {}
        for m in sorted(env.members):
            st, lst = env.control.request("GET", "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-%s/works" % m)
            here = {}
            for w in lst.get("items", []) if st == 200 else []:
                for man in field(w, "spec.workload.manifests") or []:
                    md = man.get("metadata", {})
                    if it.get("name") and md.get("name") != it["name"]:
                        continue
                    if it.get("kind"):
                        if man.get("kind") != it["kind"]:
                            continue
                        if md.get("namespace") and md.get("namespace") != ns:
                            continue
                    elif md.get("namespace") != ns:
                        continue
                    e = {"object": "%s/%s" % (man.get("kind"), md.get("name"))}
                    if it.get("conditions", True):
                        only = it.get("conditions", True)
                        e["conditions"] = conditions(w, None if only is True else only)
                    if it.get("manifest"):
                        e["manifest"] = select(man, {"fields": it["manifest"]})
                    if it.get("fields"):
                        e.update(select(w, {"fields": it["fields"]}))
                    if it.get("health"):
                        e["health"] = [s.get("health") for s in field(w, "status.manifestStatuses") or []]
                    if w["metadata"].get("deletionTimestamp"):
                        e["deleting"] = True
                    here[w["metadata"]["name"]] = e
            if here:
                r[m] = here
        return mask(r)
    if kind in ("object", "member"):
        gv, k = it["object"].rsplit("/", 1)
        names = ["control"] if kind == "object" else it.get("members", sorted(env.members))
        r = {}
        for m in names:
            api = env.api(m)
            p = api.path(gv, k, it.get("namespace", ns), it["name"])
            r[m] = select(api.get(p), it) if p else None
        return r["control"] if kind == "object" else r
    if kind == "names":
        gv, k = it["object"].rsplit("/", 1)
        r = {}
        for m in (["control"] if it.get("on") == "control" else it.get("members", sorted(env.members))):
            api = env.api(m)
            p = api.path(gv, k, it.get("namespace", ns))
            lst = api.get(p) if p else None
            r[m] = sorted(o["metadata"]["name"] for o in (lst or {}).get("items", [])
                          if fnmatch.fnmatch(o["metadata"]["name"], it.get("match", "*")))
        return r
    if kind == "events":
        where = it.get("namespace", ns)
        lst = env.control.get("/api/v1/namespaces/%s/events?fieldSelector=%s" % (
            where, urllib.parse.quote("involvedObject.kind=%s,involvedObject.name=%s" % (it["kind"], it["name"])))) or {}
        return sorted({e.get("reason") for e in lst.get("items", []) if e.get("reason") in it["reasons"]})
    if kind == "enabled":
        r = {}
        for m in it["clusters"]:
            o = env.control.get("/apis/cluster.karmada.io/v1alpha1/clusters/" + m)
            r[m] = any(e["groupVersion"] == it["groupVersion"] and any(x["kind"] == it["kind"] for x in e.get("resources", []))
                       for e in field(o, "status.apiEnablements") or [])
        return r
    if kind == "text":
        rc, out, err = env.api(it.get("on")).kubectl((["-n", ns] if it.get("namespaced", True) else []) + it["args"])
        return {"rc": rc, "table": table(out)} if rc == 0 else {"rc": rc, "error": mask(err.strip())}
    raise StepError("unknown item type " + kind)


def observe(env, ns, items):
    r = []
    for it in items:
        try:
            v = observe_item(env, ns, it)
        except (OSError, http.client.HTTPException) as e:
            v = {"unreadable": str(e)}
        r.append(v)
    return json.loads(json.dumps(r))


def wanted(env, exp):
    """What an observation is to be: the recorded value, or where Kairship deviates on purpose, `ours`."""
    if exp is None:
        return None
    return exp["value"] if env.args.recorded_only else exp.get("ours", exp)["value"]


def settle(env, ns, step, golden):
    """record: unchanged for 'stable' seconds and every 'until' holds.  check: equal to golden for 'hold' seconds."""
    t0, scale = time.time(), env.args.timeout_scale
    limit = step.get("timeout", 60) * scale
    last, since = None, t0
    if golden is not None and env.failed_here():
        limit = min(limit, 12 * scale)
    while True:
        v = observe(env, ns, step["items"])
        now = time.time()
        if v != last:
            last, since = v, now
        if golden is not None:
            if v == golden and now - since >= step.get("hold", 0.3):
                return v, now - t0
            if now - t0 > limit and v != golden:
                return v, None
        else:
            ok = all(v_at(v, u[0]) == u[1] for u in step.get("until", []))
            if ok and now - since >= step.get("stable", 3) and now - t0 >= step.get("hold", 0):
                return v, now - t0
            if now - t0 > limit:
                raise StepError("observation '%s' did not settle in %ds: %s" % (step["observe"], limit, json.dumps(v)[:1500]))
        time.sleep(0.25 if now - t0 < 10 else 0.5)


def v_at(v, path):
    head, _, rest = path.partition("/")
    v = v[int(head)]
    for k in rest.split("/") if rest else []:
        k = k.replace("~1", "/")
        v = v.get(k) if isinstance(v, dict) else (v[int(k)] if isinstance(v, list) else None)
        if v is None:
            return None
    return v


# ---------------------------------------------------------------- steps

def patch_cluster(env, name, patch):
    for _ in range(10):
        st, o = env.control.request("PATCH", "/apis/cluster.karmada.io/v1alpha1/clusters/" + name, patch, "application/merge-patch+json")
        if st == 200:
            return
        if st != 409:
            break
        time.sleep(0.2)
    raise StepError("patch of cluster %s: %s %s" % (name, st, json.dumps(o)[:300]))


def set_taints(env, name, taints):
    o = env.control.get("/apis/cluster.karmada.io/v1alpha1/clusters/" + name)
    keep = [t for t in field(o, "spec.taints") or [] if t["key"] in OWN_TAINTS]
    patch_cluster(env, name, {"spec": {"taints": (keep + taints) or None}})


def reset_clusters(env):
    for m in sorted(env.members):
        lay = LAYOUT[m]
        o = env.control.get("/apis/cluster.karmada.io/v1alpha1/clusters/" + m)
        if o is None:
            raise StepError("cluster %s is not joined" % m)
        labels = {k: None for k in field(o, "metadata.labels") or {} if "karmada.io" not in k}
        labels.update(lay["labels"])
        patch_cluster(env, m, {"metadata": {"labels": labels}, "spec": {"provider": lay["provider"], "region": lay["region"], "zones": lay["zones"]}})
        if [t for t in field(o, "spec.taints") or [] if t["key"] not in OWN_TAINTS]:
            set_taints(env, m, [])


def prepare(env):
    for m, api in sorted(env.members.items()):
        want = {"kg-%d" % i: n for i, n in enumerate(LAYOUT[m]["nodes"])}
        have = {n["metadata"]["name"]: n for n in (api.get("/api/v1/nodes") or {}).get("items", [])}
        for n in have:
            if n not in want or field(have[n], "status.allocatable.cpu") != want[n]["cpu"] or field(have[n], "status.allocatable.pods") != want[n]["pods"]:
                api.request("DELETE", "/api/v1/nodes/" + n)
                have = {k: v for k, v in have.items() if k != n}
        for n, cap in want.items():
            if n in have:
                continue
            st, o = api.request("POST", "/api/v1/nodes", {
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": n, "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
                             "labels": {"type": "kwok", "kubernetes.io/hostname": n, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}},
                "status": {"allocatable": cap, "capacity": cap}})
            if st not in (200, 201):
                raise StepError("node %s in %s: %s" % (n, m, o))
    reset_clusters(env)
    end = time.time() + 120
    while True:
        bad = []
        for m in sorted(env.members):
            o = env.control.get("/apis/cluster.karmada.io/v1alpha1/clusters/" + m)
            if conditions(o).get("Ready", "").split("/")[0] != "True":
                bad.append(m + " is not Ready")
            if (field(o, "status.nodeSummary.readyNum") or 0) != len(LAYOUT[m]["nodes"]):
                bad.append("%s: nodeSummary.readyNum %s, want %d" % (m, field(o, "status.nodeSummary.readyNum"), len(LAYOUT[m]["nodes"])))
        if not bad:
            return
        if time.time() > end:
            raise StepError("; ".join(bad))
        time.sleep(0.5)


def wait_idle(env, timeout):
    """Until no pod is counted in any Cluster's resourceSummary and all have their nodes."""
    end = time.time() + timeout
    while True:
        busy = []
        for m in sorted(env.members):
            o = env.control.get("/apis/cluster.karmada.io/v1alpha1/clusters/" + m)
            rs = field(o, "status.resourceSummary") or {}
            pods = sum(int(rs.get(k, {}).get("pods", "0") or 0) for k in ("allocated", "allocating"))
            live = len((env.members[m].get("/api/v1/pods?limit=5") or {}).get("items", []))
            want = str(sum(int(n["pods"]) for n in LAYOUT[m]["nodes"]))
            have = rs.get("allocatable", {}).get("pods", "0")
            cpu, wcpu = rs.get("allocatable", {}).get("cpu", "0"), str(sum(int(n["cpu"]) for n in LAYOUT[m]["nodes"]))
            if pods or live or have != want or cpu != wcpu:
                busy.append("%s: %d pods in the summary, %d live, allocatable pods %s of %s, cpu %s of %s" % (m, pods, live, have, want, cpu, wcpu))
        if not busy:
            return
        if time.time() > end:
            raise StepError("members not idle: " + "; ".join(busy))
        time.sleep(0.5)


def wait_for(fn, what, timeout):
    end = time.time() + timeout
    while not fn():
        if time.time() > end:
            raise StepError("timeout: " + what)
        time.sleep(0.2)


def subst(v, ns):
    if isinstance(v, str):
        return v.replace("${ns}", ns)
    if isinstance(v, list):
        return [subst(x, ns) for x in v]
    if isinstance(v, dict):
        return {subst(k, ns): subst(x, ns) for k, x in v.items()}
    return v


def run_kubectl(env, step, args, stdin=None):
    rc, out, err = env.api(step.get("on")).kubectl(args, stdin)
    res = {"rc": rc, "out": mask(out.strip()), "err": URL.sub("<url>", mask(err.strip()))}
    if not step.get("record") and rc != 0:
        for _ in range(3):          # conflicts and webhooks that are just starting
            time.sleep(1)
            rc, out, err = env.api(step.get("on")).kubectl(args, stdin)
            if rc == 0:
                break
        else:
            raise StepError("kubectl %s: %s" % (" ".join(args), err.strip()))
    return res


def run_step(env, ns, step, saved, applied):
    """One step that is not an observation; returns a value to compare when the step says record."""
    if "apply" in step or "create" in step:
        verb = "apply" if "apply" in step else "create"
        docs = step[verb]
        if step.get("on") in (None, "control"):
            applied.extend(docs)
        stdin = "\n---\n".join(json.dumps(d) for d in docs)
        return run_kubectl(env, step, ["-n", ns, verb, "-f", "-"] + step.get("args", []), stdin)
    if "patch" in step:
        p = step["patch"]
        args = ["-n", p.get("namespace", ns), "patch", p["resource"], "--type", p.get("type", "merge"), "-p", json.dumps(p["patch"])]
        if p.get("subresource"):
            args += ["--subresource", p["subresource"]]
        return run_kubectl(env, step, args)
    if "scale" in step:
        s = step["scale"]
        return run_kubectl(env, step, ["-n", ns, "scale", s["resource"], "--replicas", str(s["replicas"])])
    if "delete" in step:
        return run_kubectl(env, step, ["-n", ns, "delete", step["delete"], "--wait=%s" % ("true" if step.get("wait") else "false")])
    if "kubectl" in step:
        return run_kubectl(env, step, ["-n", ns] + step["kubectl"])
    if "taint" in step:
        set_taints(env, step["taint"]["cluster"], step["taint"]["taints"])
    elif "cluster" in step:
        patch_cluster(env, step["cluster"]["name"], step["cluster"]["patch"])
    elif "cordon" in step or "uncordon" in step:
        verb = "cordon" if "cordon" in step else "uncordon"
        if KARMADACTL:
            p = subprocess.run([KARMADACTL, "--kubeconfig", env.control.kubeconfig, verb, step[verb]], capture_output=True, text=True)
            if p.returncode:
                raise StepError(p.stderr)
        else:
            set_taints(env, step[verb], [{"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"}] if verb == "cordon" else [])
    elif "sleep" in step:
        time.sleep(step["sleep"])
    elif "waitIdle" in step:
        wait_idle(env, 150 * env.args.timeout_scale)
    elif "waitGone" in step:
        gv, k = step["waitGone"]["object"].rsplit("/", 1)
        api = env.api(step.get("on"))
        wait_for(lambda: api.get(api.path(gv, k, ns, step["waitGone"]["name"])) is None, "still there: %s" % step["waitGone"], 60 * env.args.timeout_scale)
    elif "unjoin" in step:
        m = step["unjoin"]
        o = env.control.get("/apis/cluster.karmada.io/v1alpha1/clusters/" + m)
        secrets = [env.control.get("/api/v1/namespaces/%s/secrets/%s" % (r["namespace"], r["name"]))
                   for r in (field(o, "spec.secretRef"), field(o, "spec.impersonatorSecretRef")) if r]
        saved[m] = (o, [s for s in secrets if s])
        st, e = env.control.request("DELETE", "/apis/cluster.karmada.io/v1alpha1/clusters/" + m)
        if st not in (200, 202):
            raise StepError("delete cluster: %s" % e)
    elif "rejoin" in step:
        rejoin(env, step["rejoin"], saved)
    else:
        raise StepError("unknown step %s" % sorted(step))
    return None


def rejoin(env, m, saved):
    """Puts the saved Cluster and its secrets back (the member's service accounts were not touched)."""
    o, secrets = saved.pop(m)
    wait_for(lambda: env.control.get("/apis/cluster.karmada.io/v1alpha1/clusters/" + m) is None, "cluster %s still there" % m, 120)
    def clean(x):
        md = x["metadata"]
        x["metadata"] = {k: md[k] for k in ("name", "namespace", "labels", "annotations") if k in md}
        x.pop("status", None)
        return x
    for s in secrets:
        path = "/api/v1/namespaces/%s/secrets" % s["metadata"]["namespace"]
        wait_for(lambda: env.control.get(path + "/" + s["metadata"]["name"]) is None or time.sleep(1) or True, "", 30)
        env.control.request("DELETE", path + "/" + s["metadata"]["name"])
        st, e = env.control.request("POST", path, clean(s))
        if st not in (201, 409):
            raise StepError("secret: %s" % e)
    o["spec"].pop("taints", None)
    st, e = env.control.request("POST", "/apis/cluster.karmada.io/v1alpha1/clusters", clean(o))
    if st != 201:
        raise StepError("cluster: %s" % e)
    wait_for(lambda: conditions(env.control.get("/apis/cluster.karmada.io/v1alpha1/clusters/" + m)).get("Ready", "").startswith("True"), "cluster %s not Ready" % m, 120)
    wait_for(lambda: env.control.get("/api/v1/namespaces/karmada-es-" + m) is not None, "no execution namespace", 60)


# ---------------------------------------------------------------- one scenario

def cleanup(env, ns, applied, saved):
    for m in list(saved):
        rejoin(env, m, saved)
    for d in reversed(applied):
        gv, k = d.get("apiVersion"), d.get("kind")
        r = env.control.resource(gv, k) if gv and k else None
        # policies first of all, then everything cluster-scoped; the rest goes with the namespace
        if r and (not r[1] or "policy.karmada.io" in gv or d.get("metadata", {}).get("namespace", ns) != ns):
            p = env.control.path(gv, k, d["metadata"].get("namespace", ns), d["metadata"]["name"])
            env.control.request("DELETE", p)
    env.control.request("DELETE", "/api/v1/namespaces/" + ns)


def run_scenario(env, sc, golden, mode):
    ns, recs, problems = sc["namespace"], [], []
    saved, applied, times = {}, [], []
    t0 = time.time()
    tl = threading.local()
    tl.failed = False
    env = Env(env.control, env.members, env.args)
    env.failed_here = lambda: bool(problems)
    n = 0
    try:
        nsdoc = sc.get("namespaceObject") or {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}}
        wait_for(lambda: env.control.get("/api/v1/namespaces/" + ns) is None or
                 (env.control.request("DELETE", "/api/v1/namespaces/" + ns), False)[1], "namespace %s of an earlier run" % ns, 120)
        if sc.get("waitNamespace", True):
            wait_for(lambda: all(m.get("/api/v1/namespaces/" + ns) is None for m in env.members.values()), "namespace %s of an earlier run in a member" % ns, 120)
        if sc.get("createNamespace", True):
            st, o = env.control.request("POST", "/api/v1/namespaces", subst(nsdoc, ns))
            if st != 201:
                raise StepError("namespace: %s" % o)
            if sc.get("waitNamespace", True):
                wait_for(lambda: all(m.get("/api/v1/namespaces/" + ns) is not None for m in env.members.values()), "namespace %s did not reach every member" % ns, 60 * env.args.timeout_scale)
        for step in sc["steps"]:
            step = subst(step, ns)
            exp = None
            if "observe" in step or step.get("record"):
                if golden is not None:
                    exp = golden["observations"][n] if n < len(golden["observations"]) else None
                    if exp is None:
                        raise StepError("golden has no observation %d" % n)
                n += 1
            if "observe" in step:
                v, took = settle(env, ns, step, wanted(env, exp))
                times.append(took)
                recs.append({"name": step["observe"], "value": v})
                if exp and took is None:
                    d = []
                    for i, it in enumerate(step["items"]):
                        lab = it["type"] + (" " + it.get("name", it.get("object", "")) if it["type"] != "text" else " kubectl " + " ".join(it["args"]))
                        diff(wanted(env, exp)[i], v[i], lab, d)
                    problems.append((step["observe"], d))
            else:
                v = run_step(env, ns, step, saved, applied)
                if step.get("record"):
                    name = step["record"] if isinstance(step["record"], str) else "command"
                    recs.append({"name": name, "value": v})
                    if exp and v != wanted(env, exp):
                        d = []
                        diff(wanted(env, exp), v, "", d)
                        problems.append((name, d))
    except (StepError, subprocess.TimeoutExpired, OSError, http.client.HTTPException) as e:
        problems.append(("step", [str(e)]))
    except Exception:
        problems.append(("runner", traceback.format_exc().splitlines()[-6:]))
    finally:
        if not env.args.keep:
            try:
                cleanup(env, ns, applied, saved)
                if sc.get("exclusive"):
                    reset_clusters(env)
            except Exception as e:
                problems.append(("cleanup", [str(e)]))
    return sc, recs, problems, time.time() - t0, n


# ---------------------------------------------------------------- main

def load(dirs):
    r = []
    for d in dirs:
        d = d if os.path.isdir(d) else os.path.join(HERE, d)
        for f in sorted(glob.glob(os.path.join(d, "scenarios", "*.json"))):
            with open(f) as fh:
                sc = json.load(fh)
            sc["_file"], sc["_golden"] = f, os.path.join(d, "golden", os.path.basename(f))
            r.append(sc)
    return r


def keep_ours(sc, recs):
    """A new recording keeps what stands beside the old one."""
    if os.path.exists(sc["_golden"]):
        with open(sc["_golden"]) as f:
            ours = {o["name"]: o["ours"] for o in json.load(f)["observations"] if "ours" in o}
        for r in recs:
            if r["name"] in ours:
                r["ours"] = ours[r["name"]]
    return recs


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("mode", choices=["record", "check", "prepare", "list"])
    ap.add_argument("--kubeconfig")
    ap.add_argument("--member", action="append", default=[], metavar="NAME=KUBECONFIG")
    ap.add_argument("--dir", action="append", help="folder with scenarios/ and golden/ (repeatable; default open)")
    ap.add_argument("--only", help="comma list of globs on scenario names")
    ap.add_argument("--skip-tag", action="append", default=[])
    ap.add_argument("-j", type=int, default=3)
    ap.add_argument("--timeout-scale", type=float, default=1.0)
    ap.add_argument("--keep", action="store_true", help="leave the objects of each scenario")
    ap.add_argument("--no-prepare", action="store_true")
    ap.add_argument("--recorded-only", action="store_true", help="compare with the recorded answers alone, never with `ours`")
    a = ap.parse_args()
    scs = load(a.dir or ["open"])
    if a.only:
        scs = [s for s in scs if any(fnmatch.fnmatch(s["name"], g) for g in a.only.split(","))]
    skipped = [s for s in scs if set(s.get("tags", [])) & set(a.skip_tag)]
    scs = [s for s in scs if s not in skipped]
    if a.mode == "list":
        for s in scs:
            print("%-40s %s%s" % (s["name"], "[exclusive] " if s.get("exclusive") else "", s.get("description", "")))
        print(len(scs), "scenarios")
        return 0
    tmp = tempfile.mkdtemp(prefix="karmada-replay-")
    control = Api("control", a.kubeconfig, tmp)
    members = {}
    for m in a.member:
        k, _, v = m.partition("=")
        members[k] = Api(k, v, tmp)
    if set(members) != set(LAYOUT):
        ap.error("give --member for each of " + ", ".join(sorted(LAYOUT)))
    env = Env(control, members, a)
    if not a.no_prepare:
        prepare(env)
        print("prepared: nodes, cluster labels, provider, region, zones", flush=True)
    if a.mode == "prepare":
        return 0
    passed = failed = obs = obsbad = 0
    first = sorted([s for s in scs if s.get("exclusive")], key=lambda s: (s.get("order", 50), s["name"]))
    early = [s for s in first if s.get("order", 50) < 50]
    late = [s for s in first if s.get("order", 50) >= 50]
    par = [s for s in scs if not s.get("exclusive")]

    def report(res):
        nonlocal passed, failed, obs, obsbad
        sc, recs, problems, took, n = res
        if a.mode == "record" and not problems:
            os.makedirs(os.path.dirname(sc["_golden"]), exist_ok=True)
            recs = keep_ours(sc, recs)
            with open(sc["_golden"], "w") as f:
                json.dump({"scenario": sc["name"], "observations": recs}, f, indent=1, sort_keys=True)
                f.write("\n")
        obs += n
        if problems:
            failed += 1
            obsbad += len(problems)
            print("FAIL %-38s %5.1fs" % (sc["name"], took))
            for name, d in problems:
                print("   at '%s':" % name)
                for ln in d[:30]:
                    print("      " + ln)
                if len(d) > 30:
                    print("      ... %d more" % (len(d) - 30))
        else:
            passed += 1
            print("ok   %-38s %5.1fs  %d observations" % (sc["name"], took, n))
        sys.stdout.flush()

    def one(sc):
        golden = None
        if a.mode == "check":
            try:
                with open(sc["_golden"]) as f:
                    golden = json.load(f)
            except OSError:
                return sc, [], [("golden", ["no golden file"])], 0.0, 0
        return run_scenario(env, sc, golden, a.mode)

    for s in early:
        report(one(s))
    with concurrent.futures.ThreadPoolExecutor(max(1, a.j)) as ex:
        for fut in concurrent.futures.as_completed([ex.submit(one, s) for s in par]):
            report(fut.result())
    for s in late:
        report(one(s))
    print("%d observations, %d of them differ" % (obs, obsbad))
    print("%d passed, %d failed%s" % (passed, failed, ", %d skipped" % len(skipped) if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
