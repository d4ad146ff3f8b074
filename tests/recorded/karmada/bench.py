#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Propagation benchmark: one ClusterPropagationPolicy, N Deployments, two or more members.

  bench.py --kubeconfig CP --member NAME=KC ... [--pids FILE] [--member-pids FILE ...] [-n 300] [--client api|kubectl]
           [--tag a] [--json OUT]

Makes namespace bench-TAG (waits until it is in every member), the policy bench-TAG (Deployments labelled bench=TAG,
Duplicated to all members), then N Deployments from one client: 'api' = one keep-alive connection, one POST after the
other; 'kubectl' = one 'kubectl create -f DIR' of N files.  A watch on each member notes when each Deployment is seen.
Acceptance of a Deployment = its 201 was read (api), or its ADDED event on a watch of the control plane (kubectl).
CPU seconds and RSS come from /proc of the processes listed in --pids ('PID NAME' a line).
"""
import argparse, http.client, json, os, subprocess, sys, tempfile, threading, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from replay import Api, KUBECTL
TICK = os.sysconf("SC_CLK_TCK")


def procs(files):
    r = []
    for f in files:
        for ln in open(f):
            pid, name = ln.split(None, 1)
            r.append((int(pid), name.strip()))
    return r


def usage(ps):
    cpu, rss = {}, {}
    for pid, name in ps:
        try:
            st = open("/proc/%d/stat" % pid).read().rsplit(") ", 1)[1].split()
            cpu[name] = cpu.get(name, 0) + (int(st[11]) + int(st[12])) / TICK
            for ln in open("/proc/%d/status" % pid):
                if ln.startswith("VmRSS"):
                    rss[name] = rss.get(name, 0) + int(ln.split()[1]) / 1024
        except OSError:
            pass
    return cpu, rss


def watch(api, ns, seen, stop):
    c = http.client.HTTPSConnection(api.host, api.port, context=api.ctx, timeout=5)
    rv = api.get("/apis/apps/v1/namespaces/%s/deployments" % ns)["metadata"]["resourceVersion"]
    c.request("GET", api.prefix + "/apis/apps/v1/namespaces/%s/deployments?watch=1&resourceVersion=%s&timeoutSeconds=900" % (ns, rv), headers=api.headers)
    c.sock.settimeout(900)
    r = c.getresponse()
    buf = b""
    while not stop.is_set():
        chunk = r.read1(1 << 20)
        now = time.time()
        if not chunk:
            return
        buf += chunk
        *lines, buf = buf.split(b"\n")
        for ln in lines:
            if ln.startswith(b'{"type":"ADDED"'):
                n = json.loads(ln)["object"]["metadata"]["name"]
                seen.setdefault(n, now)


def machine():
    """Busy CPU seconds of the whole machine (user, nice, system, irq, softirq) and of this process with its children."""
    f = [int(x) for x in open("/proc/stat").readline().split()[1:]]
    t = os.times()
    return (f[0] + f[1] + f[2] + f[5] + f[6]) / TICK, t.user + t.system + t.children_user + t.children_system


def pct(v, p):
    v = sorted(v)
    return v[min(len(v) - 1, int(round(p / 100 * (len(v) - 1))))]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--kubeconfig", required=True)
    ap.add_argument("--member", action="append", required=True)
    ap.add_argument("--pids", action="append", default=[])
    ap.add_argument("--member-pids", action="append", default=[])
    ap.add_argument("-n", type=int, default=300)
    ap.add_argument("--client", choices=["api", "kubectl"], default="api")
    ap.add_argument("--tag", default="a")
    ap.add_argument("--timeout", type=float, default=500)
    ap.add_argument("--json")
    a = ap.parse_args()
    tmp = tempfile.mkdtemp(prefix="karmada-bench-")
    cp = Api("control", a.kubeconfig, tmp)
    mem = {m.split("=", 1)[0]: Api(m.split("=", 1)[0], m.split("=", 1)[1], tmp) for m in a.member}
    ns = "bench-" + a.tag
    st, o = cp.request("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})
    assert st == 201, o
    st, o = cp.request("POST", "/apis/policy.karmada.io/v1alpha1/clusterpropagationpolicies", {
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy", "metadata": {"name": ns},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": {"matchLabels": {"bench": a.tag}}}],
                 "placement": {"clusterAffinity": {"clusterNames": sorted(mem)}, "replicaScheduling": {"replicaSchedulingType": "Duplicated"}}}})
    assert st == 201, o
    while any(m.get("/api/v1/namespaces/" + ns) is None for m in mem.values()):
        time.sleep(0.1)
    docs = [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d%04d" % i, "namespace": ns, "labels": {"bench": a.tag}},
             "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "d%04d" % i}}, "template": {"metadata": {"labels": {"app": "d%04d" % i}},
              "spec": {"containers": [{"name": "c", "image": "nginx:1.19.0"}]}}}} for i in range(a.n)]
    d = os.path.join(tmp, "docs"); os.mkdir(d)
    for x in docs:
        json.dump(x, open(os.path.join(d, x["metadata"]["name"] + ".json"), "w"))
    ps, mps = procs(a.pids), procs(a.member_pids)
    cpu_i, _ = usage(ps); time.sleep(20); cpu_i2, rss0 = usage(ps)
    idle = sum(cpu_i2.values()) - sum(cpu_i.values())
    stop, seen, acc = threading.Event(), {m: {} for m in mem}, {}
    for m, api in mem.items():
        threading.Thread(target=watch, args=(api, ns, seen[m], stop), daemon=True).start()
    if a.client == "kubectl":
        threading.Thread(target=watch, args=(cp, ns, acc, stop), daemon=True).start()
    time.sleep(2)
    cpu0, rss0 = usage(ps); mcpu0, _ = usage(mps)
    load = os.getloadavg()[0]
    busy0, own0 = machine()
    t0 = time.time()
    if a.client == "api":
        for x in docs:
            st, o = cp.request("POST", "/apis/apps/v1/namespaces/%s/deployments" % ns, x)
            acc[x["metadata"]["name"]] = time.time()
            assert st == 201, o
    else:
        subprocess.run([KUBECTL, "--kubeconfig", a.kubeconfig, "create", "-f", d], check=True, stdout=subprocess.DEVNULL)
    t1 = time.time()
    while sum(len(s) for s in seen.values()) < a.n * len(mem) and time.time() - t0 < a.timeout:
        time.sleep(0.05)
    cpu1, rss1 = usage(ps); mcpu1, _ = usage(mps)
    busy1, own1 = machine()
    lat = [t - acc[n] for s in seen.values() for n, t in s.items() if n in acc]
    got = sum(len(s) for s in seen.values())
    last = max(max(s.values()) for s in seen.values())
    # settled: every binding FullyApplied and aggregated
    while time.time() - t0 < a.timeout:
        rbs = cp.get("/apis/work.karmada.io/v1alpha2/namespaces/%s/resourcebindings" % ns)["items"]
        ok = sum(1 for b in rbs if any(c["type"] == "FullyApplied" and c["status"] == "True" for c in b.get("status", {}).get("conditions", [])))
        if ok == a.n:
            break
        time.sleep(1)
    t2 = time.time()
    # quiet: CPU of the control plane within 1.5 of its idle pace over 5 s
    while time.time() - t0 < a.timeout:
        c0, _ = usage(ps); time.sleep(5); c1, _ = usage(ps)
        if sum(c1.values()) - sum(c0.values()) < max(0.5, 1.5 * idle / 4):
            break
    cpu2, rss2 = usage(ps)
    t3 = time.time()
    stop.set()
    d1 = {k: round(cpu1[k] - cpu0.get(k, 0), 2) for k in cpu1}
    d2 = {k: round(cpu2[k] - cpu0.get(k, 0), 2) for k in cpu2}
    res = {"n": a.n, "client": a.client, "members": len(mem), "load_before": load, "accept_s": round(t1 - t0, 2), "accepts_per_s": round(a.n / (t1 - t0), 1),
           "arrived": got, "latency_s": {"min": round(min(lat), 3), "p50": round(pct(lat, 50), 3), "p90": round(pct(lat, 90), 3), "p99": round(pct(lat, 99), 3), "max": round(max(lat), 3)},
           "first_to_all_there_s": round(last - t0, 2), "works_per_s": round(got / (last - t0), 1), "all_fully_applied_s": round(t2 - t0, 2), "quiet_again_s": round(t3 - t0, 1),
           "idle_cpu_s_per_s": round(idle / 20, 4), "cpu_s_until_there": round(sum(d1.values()), 2), "cpu_s_until_there_by": d1, "cpu_s_until_quiet": round(sum(d2.values()), 2), "cpu_s_until_quiet_by": d2,
           "member_cpu_s_until_there": round(sum(mcpu1.values()) - sum(mcpu0.values()), 2), "client_cpu_s_until_there": round(own1 - own0, 2),
           "other_cpu_s_until_there": round(busy1 - busy0 - (own1 - own0) - sum(d1.values()) - (sum(mcpu1.values()) - sum(mcpu0.values())), 2),
           "rss_before_MiB": round(sum(rss0.values())), "rss_before_by": {k: round(v) for k, v in rss0.items()}, "rss_there_MiB": round(sum(rss1.values())), "rss_after_MiB": round(sum(rss2.values())), "rss_after_by": {k: round(v) for k, v in rss2.items()}}
    print(json.dumps(res, indent=1))
    if a.json:
        json.dump(res, open(a.json, "w"), indent=1)


main()
