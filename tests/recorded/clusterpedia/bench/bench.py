#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Load and query benchmark for a Clusterpedia-compatible search API (Python 3.11 standard library only).

  bench.py load  --member b1=KC --member b2=KC [--pods 10000] [--workers 6]   create the objects in the members
  bench.py wait  --server KC --total N [--pids NAME=PID ...]                  wait until the search API counts N pods
  bench.py query --server KC [--direct HOST:PORT] [--pids NAME=PID ...]       latency of the query mix
  bench.py lag   --server KC --member b1=KC [--n 200]                         create in a member -> visible in search
  bench.py churn --server KC --member b1=KC --workers 4 --gap 15              creations at full speed, time until all are visible
Every sub-command prints JSON lines.  CPU is utime+stime of the named processes and of their children (/proc).
"""
import argparse, base64, http.client, json, multiprocessing, os, re, ssl, statistics, sys, tempfile, threading, time
from urllib.parse import quote, urlparse

P = "/apis/clusterpedia.io/v1beta1/resources"
TCK = os.sysconf("SC_CLK_TCK")


class Conf:
    def __init__(self, path):
        t = open(path).read()
        g = lambda k: base64.b64decode(re.search(k + r":\s*(\S+)", t).group(1))
        u = urlparse(re.search(r"server:\s*(\S+)", t).group(1))
        self.host, self.port = u.hostname, u.port
        self.ctx = ssl.create_default_context(cadata=g("certificate-authority-data").decode())
        self.ctx.check_hostname = False
        f = tempfile.NamedTemporaryFile("wb", suffix=".pem", delete=False)
        f.write(g("client-certificate-data") + b"\n" + g("client-key-data")); f.close()
        self.ctx.load_cert_chain(f.name); os.unlink(f.name)

    def conn(self, hostport=None):
        h, p = (self.host, self.port) if not hostport else (hostport.rsplit(":", 1)[0], int(hostport.rsplit(":", 1)[1]))
        ctx = self.ctx
        if hostport:
            ctx.verify_mode = ssl.CERT_NONE
        c = http.client.HTTPSConnection(h, p, context=ctx, timeout=120); c.connect()
        c.sock.setsockopt(6, 1, 1)
        return c


def call(c, method, path, body=None, accept="application/json"):
    c.request(method, path, body=body, headers={"Accept": accept, "Content-Type": "application/json"})
    r = c.getresponse(); d = r.read()
    return r.status, d


def procs(pids):
    """NAME=PID -> {name: (cpu seconds, rss bytes, pss-like private bytes)} with all descendants"""
    kids = {}
    for e in os.listdir("/proc"):
        if e.isdigit():
            try:
                s = open(f"/proc/{e}/stat").read(); f = s[s.rindex(")") + 2:].split()
                kids.setdefault(int(f[1]), []).append(int(e))
            except OSError:
                pass
    out = {}
    for item in pids or []:
        n, p = item.split("=")
        todo, cpu, rss, pss = [int(p)], 0.0, 0, 0
        while todo:
            q = todo.pop(); todo += kids.get(q, [])
            try:
                s = open(f"/proc/{q}/stat").read(); f = s[s.rindex(")") + 2:].split()
                cpu += (int(f[11]) + int(f[12])) / TCK
                if q == int(p):
                    cpu += (int(f[13]) + int(f[14])) / TCK
                for line in open(f"/proc/{q}/smaps_rollup"):
                    if line.startswith("Rss:"): rss += int(line.split()[1]) * 1024
                    if line.startswith("Pss:"): pss += int(line.split()[1]) * 1024
            except OSError:
                pass
        out[n] = (cpu, rss, pss)
    return out


class Machine:
    """CPU seconds of the whole machine that neither the named processes nor this client used: how quiet it was"""
    def __init__(self, pids):
        self.pids = pids
        self.t, self.busy, self.own = time.time(), self.stat(), self.mine()

    def stat(self):
        f = [int(x) for x in open("/proc/stat").readline().split()[1:8]]
        return (sum(f) - f[3] - f[4]) / TCK

    def mine(self):
        t = os.times()
        return t.user + t.system + sum(v[0] for v in procs(self.pids).values())

    def foreign(self):
        return round(max(0.0, (self.stat() - self.busy) - (self.mine() - self.own)) / (time.time() - self.t) / os.cpu_count(), 3)


def diff(a, b):
    return {n: round(b[n][0] - a[n][0], 3) for n in b}


def mem(a):
    return {n: {"rss_mib": round(v[1] / 2**20, 1), "pss_mib": round(v[2] / 2**20, 1)} for n, v in a.items()}


def pod(cl, i, owner):
    d = i // 50
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": f"app-{d:03d}-{d*7919%65536:04x}-{i*2654435761%1048576:05x}-{i:05d}", "namespace": f"ns-{d%20:02d}",
        "labels": {"app": f"app-{d:03d}", "tier": ("web", "api", "db", "job")[i % 4], "zone": f"z{i%3}", "release": f"r{i%10}", "pod-template-hash": f"{d*7919%65536:04x}"},
        "annotations": {"example.com/revision": str(i), "example.com/note": "x" * 160},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"app-{d:03d}-rs", "uid": owner, "controller": True, "blockOwnerDeletion": True}]},
        "spec": {"nodeName": f"node-{i%100:02d}", "containers": [{"name": "main", "image": f"registry.example.com/team-{d%20:02d}/app-{d:03d}:1.{i%10}.0",
                 "ports": [{"containerPort": 8080, "name": "http"}], "env": [{"name": "INDEX", "value": str(i)}, {"name": "CLUSTER", "value": cl}],
                 "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
                 "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 10}}],
                 "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "team", "effect": "NoSchedule"}]}}


def worker(kc, cl, lo, hi, owners, q):
    c = Conf(kc).conn(); n = 0
    for i in range(lo, hi):
        st, d = call(c, "POST", f"/api/v1/namespaces/ns-{i//50%20:02d}/pods", json.dumps(pod(cl, i, owners[i // 50])))
        if st not in (201, 409):
            q.put((cl, f"{st} {d[:300]}")); return
        n += 1
    q.put((cl, n))


def load(a):
    jobs = []; q = multiprocessing.Queue()
    for m in a.member:
        cl, kc = m.split("=", 1); c = Conf(kc).conn()
        for n in range(20):
            call(c, "POST", "/api/v1/namespaces", json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"ns-{n:02d}"}}))
        owners = []
        for d in range((a.pods + 49) // 50):
            ns = f"ns-{d%20:02d}"; lab = {"app": f"app-{d:03d}"}
            tpl = {"metadata": {"labels": lab}, "spec": {"containers": [{"name": "main", "image": "registry.example.com/app:1"}]}}
            st, o = call(c, "POST", f"/apis/apps/v1/namespaces/{ns}/deployments", json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": f"app-{d:03d}", "labels": lab}, "spec": {"replicas": 50, "selector": {"matchLabels": lab}, "template": tpl}}))
            du = json.loads(o)["metadata"]["uid"]
            st, o = call(c, "POST", f"/apis/apps/v1/namespaces/{ns}/replicasets", json.dumps({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": f"app-{d:03d}-rs", "labels": lab, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": f"app-{d:03d}", "uid": du, "controller": True}]}, "spec": {"replicas": 50, "selector": {"matchLabels": lab}, "template": tpl}}))
            owners.append(json.loads(o)["metadata"]["uid"])
        step = (a.pods + a.workers - 1) // a.workers
        for w in range(a.workers):
            jobs.append((kc, cl, w * step, min(a.pods, (w + 1) * step), owners, q))
    t = time.time()
    ps = [multiprocessing.Process(target=worker, args=j) for j in jobs]
    [p.start() for p in ps]; res = [q.get() for _ in ps]; [p.join() for p in ps]
    dt = time.time() - t
    bad = [r for r in res if not isinstance(r[1], int)]
    n = sum(r[1] for r in res if isinstance(r[1], int))
    print(json.dumps({"created": n, "seconds": round(dt, 1), "per_s": round(n / dt), "errors": bad[:3]}))


def count(c):
    st, d = call(c, "GET", P + "/api/v1/pods?limit=1&withRemainingCount=true&namespaces=" + ",".join(f"ns-{n:02d}" for n in range(20)))
    if st != 200:
        return 0
    j = json.loads(d)
    return len(j["items"]) + (j["metadata"].get("remainingItemCount") or 0)


def wait(a):
    c = Conf(a.server).conn(); mach = Machine(a.pids); p0 = procs(a.pids); t0 = time.time(); first = None; n0 = None; pts = []
    while True:
        n = count(c); t = time.time()
        if n and first is None: first, n0 = t, n
        pts.append((round(t - t0, 1), n))
        if n >= a.total or t - t0 > 500: break
        time.sleep(1)
    print(json.dumps({"rows": n, "seconds_from_start": round(t - t0, 1), "rows_per_s_after_first": round((n - n0) / max(t - first, .001)), "first_seen": n0,
                      "cpu_s": diff(p0, procs(a.pids)), "foreign_cpu": mach.foreign(), "mem": mem(procs(a.pids)), "curve": pts[::max(1, len(pts) // 20)]}))


def query(a):
    conf = Conf(a.server)
    c = conf.conn()
    st, d = call(c, "GET", P + "/clusters/b1/apis/apps/v1/namespaces/ns-17/replicasets/app-017-rs"); rs = json.loads(d)["metadata"]["uid"]
    st, d = call(c, "GET", P + "/clusters/b1/api/v1/pods?limit=1&orderby=name"); p = json.loads(d)["items"][0]["metadata"]
    L = lambda s: "labelSelector=" + quote(s)
    mix = [
        ("get-by-key", f"/clusters/b1/api/v1/namespaces/{p['namespace']}/pods/{p['name']}", 300),
        ("list limit=50", "/api/v1/pods?limit=50", 200),
        ("list limit=50 one cluster+namespace", "/clusters/b1/api/v1/namespaces/ns-03/pods?limit=50", 200),
        ("list limit=500", "/api/v1/pods?limit=500", 40),
        ("label app=app-017 (100 match) limit=50", "/api/v1/pods?limit=50&" + L("app=app-017"), 60),
        ("label, no match", "/api/v1/pods?limit=50&" + L("app=nothing"), 60),
        ("label tier in (db,job),zone!=z1 orderby name limit=50", "/api/v1/pods?limit=50&orderby=name&" + L("tier in (db,job),zone!=z1"), 40),
        ("field spec.nodeName=node-17 (200 match) limit=50", "/api/v1/pods?limit=50&fieldSelector=" + quote("spec.nodeName=node-17"), 60),
        ("field, no match", "/api/v1/pods?limit=50&fieldSelector=" + quote("spec.nodeName=nothing"), 60),
        ("fuzzy name 00017 (few match)", "/api/v1/pods?limit=50&" + L("internalstorage.clusterpedia.io/fuzzy-name=00017"), 60),
        ("fuzzy name, no match", "/api/v1/pods?limit=50&" + L("internalstorage.clusterpedia.io/fuzzy-name=zzzz"), 60),
        ("count (withRemainingCount, limit=1)", "/api/v1/pods?limit=1&withRemainingCount=true", 60),
        ("deep offset (orderby name, offset 15000, limit=50)", "/api/v1/pods?limit=50&continue=15000&orderby=name", 60),
        ("deep offset (no order, offset 15000, limit=50)", "/api/v1/pods?limit=50&continue=15000", 60),
        ("owner uid (50 pods)", f"/api/v1/pods?clusters=b1&ownerUID={rs}", 60),
        ("owner name, grandparent (50 pods)", "/api/v1/namespaces/ns-17/pods?clusters=b1&ownerName=app-017&ownerGR=deployments.apps&ownerSeniority=1", 60),
        ("table limit=50", "/api/v1/pods?limit=50", 60),
    ]
    for name, path, n in mix:
        if a.only and not re.search(a.only, name): continue
        row = {"query": name}
        for way, hp in (("aggregated", None), ("direct", a.direct)):
            if way == "direct" and not hp: continue
            c = Conf(a.server).conn(hp); ac = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" if name.startswith("table") else "application/json"
            for _ in range(3): st, d = call(c, "GET", P + path, accept=ac)
            mach = Machine(a.pids); p0 = procs(a.pids); ts = []
            for _ in range(n):
                t = time.perf_counter(); st, d = call(c, "GET", P + path, accept=ac); ts.append(time.perf_counter() - t)
            cpu = {k: round(v / n * 1000, 2) for k, v in diff(p0, procs(a.pids)).items()}
            j = json.loads(d); ts.sort()
            row[way] = {"n": n, "status": st, "bytes": len(d), "items": len(j.get("items") or j.get("rows") or []), "min_ms": round(ts[0] * 1e3, 2),
                        "p50_ms": round(statistics.median(ts) * 1e3, 2), "p99_ms": round(ts[min(n - 1, int(n * .99))] * 1e3, 2), "cpu_ms": cpu, "foreign_cpu": mach.foreign()}
        print(json.dumps(row), flush=True)
    print(json.dumps({"mem": mem(procs(a.pids))}))


def lag(a):
    c = Conf(a.server).conn(); cl, kc = a.member[0].split("=", 1); m = Conf(kc).conn(); ls = []; p0 = procs(a.pids); mach = Machine(a.pids)
    for i in range(a.n):
        nm = f"lag-{int(time.time())}-{i:04d}"
        t0 = time.perf_counter()
        st, d = call(m, "POST", "/api/v1/namespaces/ns-00/configmaps", json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": nm}, "data": {"k": "v" * 500}}))
        t1 = time.perf_counter(); assert st == 201, d
        while True:
            st, d = call(c, "GET", f"{P}/clusters/{cl}/api/v1/namespaces/ns-00/configmaps/{nm}")
            t2 = time.perf_counter()
            if st == 200: break
            if t2 - t1 > 60: break
            time.sleep(0.002)
        ls.append(t2 - t1); time.sleep(a.gap)
    ls.sort()
    print(json.dumps({"lag_ms_after_create_answer": {"n": len(ls), "min": round(ls[0] * 1e3, 1), "p50": round(statistics.median(ls) * 1e3, 1), "p90": round(ls[int(len(ls) * .9)] * 1e3, 1), "p99": round(ls[int(len(ls) * .99)] * 1e3, 1), "max": round(ls[-1] * 1e3, 1)}, "cpu_s": diff(p0, procs(a.pids)), "foreign_cpu": mach.foreign()}))


def churner(kc, w, end, q):
    c = Conf(kc).conn(); n = 0
    while time.time() < end:
        st, d = call(c, "POST", "/api/v1/namespaces/ns-01/configmaps", json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "churn-"}, "data": {"k": "v" * 500}}))
        n += st == 201
    q.put(n)


def churn(a):
    """create config maps in one member as fast as --workers connections can, for --gap seconds; then time until all are visible"""
    cl, kc = a.member[0].split("=", 1); q = multiprocessing.Queue(); end = time.time() + a.gap; p0 = procs(a.pids)
    path = P + "/clusters/%s/api/v1/namespaces/ns-01/configmaps?limit=1&withRemainingCount=true" % cl
    c = Conf(a.server).conn(); j = json.loads(call(c, "GET", path)[1]); before = len(j["items"]) + (j["metadata"].get("remainingItemCount") or 0)
    ps = [multiprocessing.Process(target=churner, args=(kc, w, end, q)) for w in range(a.workers)]
    [p.start() for p in ps]; n = sum(q.get() for _ in ps); t1 = time.time()
    while True:
        j = json.loads(call(c, "GET", path)[1]); now = len(j["items"]) + (j["metadata"].get("remainingItemCount") or 0)
        if now >= before + n or time.time() - t1 > 120: break
        time.sleep(0.02)
    print(json.dumps({"churn_created": n, "per_s": round(n / a.gap), "visible_after_last_s": round(time.time() - t1, 2), "cpu_s": diff(p0, procs(a.pids)), "mem": mem(procs(a.pids))}))


def idle(a):
    p0 = procs(a.pids); time.sleep(a.gap); p1 = procs(a.pids)
    print(json.dumps({"idle_seconds": a.gap, "cpu_s": diff(p0, p1), "mem": mem(p1)}))


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("cmd", choices=["load", "wait", "query", "lag", "churn", "idle"]); ap.add_argument("--member", action="append"); ap.add_argument("--server")
    ap.add_argument("--pods", type=int, default=10000); ap.add_argument("--workers", type=int, default=6); ap.add_argument("--total", type=int, default=20000)
    ap.add_argument("--pids", nargs="*", default=[]); ap.add_argument("--direct"); ap.add_argument("--n", type=int, default=200); ap.add_argument("--only"); ap.add_argument("--gap", type=float, default=0.05)
    a = ap.parse_args(); globals()[a.cmd](a)
