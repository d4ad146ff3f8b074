#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The data set of the search scenarios: what three member clusters c1, c2, c3 hold.

Deterministic: no randomness, no clock.  Running this file prints every step as one JSON line.
A step is a dict:
  {"op": "create", "cluster", "path", "object"}        POST of a new object
  {"op": "status", "cluster", "path", "status"}        merge patch of the status subresource
  {"op": "update", "cluster", "path", "patch"}         merge patch of the object
  {"op": "delete", "cluster", "path"}
  {"op": "tick"}                                       wait for the beginning of the next whole second
  {"op": "crd",   "cluster", "path"}                   wait until this list path answers 200
A string "$uid:PATH" inside an object stands for metadata.uid of the object at PATH in the same cluster.
"""
import json

CLUSTERS = ("c1", "c2", "c3")
NAMESPACES = {"c1": ("shop", "blog", "infra"), "c2": ("shop", "blog"), "c3": ("shop", "infra", "lab")}
SUITE = {"suite": "pedia"}

# What a search server has to sync (spec.syncResources of the PediaClusters).
SYNC = [
    {"group": "", "resources": ["pods", "configmaps", "secrets", "services", "namespaces", "nodes"], "eventsInvolvedResources": ["pods"]},
    {"group": "apps", "resources": ["deployments", "replicasets", "statefulsets", "daemonsets"]},
    {"group": "batch", "resources": ["jobs", "cronjobs"]},
    {"group": "shop.example.com", "resources": ["widgets", "regions"]},
]

# (path of the list over all clusters, label selector that keeps foreign objects out)
TYPES = [
    "/api/v1/pods", "/api/v1/configmaps", "/api/v1/secrets", "/api/v1/services", "/api/v1/namespaces", "/api/v1/nodes",
    "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets", "/apis/apps/v1/statefulsets", "/apis/apps/v1/daemonsets",
    "/apis/batch/v1/jobs", "/apis/batch/v1/cronjobs", "/apis/shop.example.com/v1/widgets", "/apis/shop.example.com/v1/regions",
]

KINDS = {
    "Pod": "/api/v1/namespaces/%s/pods", "ConfigMap": "/api/v1/namespaces/%s/configmaps", "Secret": "/api/v1/namespaces/%s/secrets",
    "Service": "/api/v1/namespaces/%s/services", "Namespace": "/api/v1/namespaces", "Node": "/api/v1/nodes",
    "Deployment": "/apis/apps/v1/namespaces/%s/deployments", "ReplicaSet": "/apis/apps/v1/namespaces/%s/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/%s/statefulsets", "DaemonSet": "/apis/apps/v1/namespaces/%s/daemonsets",
    "Job": "/apis/batch/v1/namespaces/%s/jobs", "CronJob": "/apis/batch/v1/namespaces/%s/cronjobs",
    "Widget": "/apis/shop.example.com/v1/namespaces/%s/widgets", "Region": "/apis/shop.example.com/v1/regions",
    "Event": "/api/v1/namespaces/%s/events",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
}
APIVERSION = {"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1",
              "Widget": "shop.example.com/v1", "Region": "shop.example.com/v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1"}


def collection(kind, ns):
    p = KINDS[kind]
    return p % ns if "%s" in p else p


def path(kind, ns, name):
    return collection(kind, ns) + "/" + name


def obj(kind, ns, name, labels=None, annotations=None, owner=None, controller=True, **rest):
    m = {"name": name, "labels": {**SUITE, **(labels or {})}}
    if "%s" in KINDS[kind]:
        m["namespace"] = ns
    if annotations:
        m["annotations"] = annotations
    if owner:
        okind, oname = owner
        m["ownerReferences"] = [{"apiVersion": APIVERSION.get(okind, "v1"), "kind": okind, "name": oname,
                                 "uid": "$uid:" + path(okind, ns, oname), **({"controller": True} if controller else {})}]
    return {"apiVersion": APIVERSION.get(kind, "v1"), "kind": kind, "metadata": m, **rest}


def template(app, image, labels=None, **spec):
    return {"metadata": {"labels": {"app": app, **(labels or {})}}, "spec": {"containers": [{"name": "main", "image": image}], **spec}}


def steps():
    out = []

    def create(cl, o):
        k, m = o["kind"], o["metadata"]
        out.append({"op": "create", "cluster": cl, "path": collection(k, m.get("namespace")), "object": o})

    def status(cl, kind, ns, name, st):
        out.append({"op": "status", "cluster": cl, "path": path(kind, ns, name), "status": st})

    def tick():
        out.append({"op": "tick"})

    def chain(cl, ns, name, pods, tier, image="registry.example.com/web:1", phase=None, ready=None, replicas=None, labels=None, annotations=None, extra=None):
        """Deployment -> ReplicaSet -> Pods"""
        lab = {"app": name, "tier": tier, **(labels or {})}
        create(cl, obj("Deployment", ns, name, lab, annotations, spec={
            "replicas": replicas if replicas is not None else len(pods), "selector": {"matchLabels": {"app": name}}, "template": template(name, image), **(extra or {})}))
        rs = name + "-rs1"
        create(cl, obj("ReplicaSet", ns, rs, lab, owner=("Deployment", name), spec={
            "replicas": len(pods), "selector": {"matchLabels": {"app": name}}, "template": template(name, image)}))
        for i, p in enumerate(pods):
            pod(cl, ns, p, lab, ("ReplicaSet", rs), image, phase[i] if phase else "Running", "node-" + "ab"[i % 2])
        status(cl, "Deployment", ns, name, {"replicas": len(pods), "updatedReplicas": len(pods), "readyReplicas": len(pods) if ready is None else ready,
                                            "availableReplicas": len(pods) if ready is None else ready, "observedGeneration": 1})
        status(cl, "ReplicaSet", ns, rs, {"replicas": len(pods), "readyReplicas": len(pods) if ready is None else ready, "observedGeneration": 1})

    def pod(cl, ns, name, labels, owner, image="registry.example.com/web:1", phase="Running", node=None, **spec):
        create(cl, obj("Pod", ns, name, labels, owner=owner, spec={
            "containers": [{"name": "main", "image": image, "resources": {"requests": {"cpu": "100m"}}}], "terminationGracePeriodSeconds": 30,
            "automountServiceAccountToken": False, **({"nodeName": node} if node else {}), **spec}))
        if phase != "Pending":
            status(cl, "Pod", ns, name, {"phase": phase})

    # -- custom resource definitions first: discovery needs a moment
    def crd(cl, plural, kind, scope, versions):
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        create(cl, {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": plural + ".shop.example.com", "labels": dict(SUITE)},
                    "spec": {"group": "shop.example.com", "scope": scope, "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List"},
                             "versions": [{"name": v, "served": True, "storage": v == "v1", "schema": schema,
                                           **({"additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}]} if v == "v1" else {})} for v in versions]}})

    for cl in CLUSTERS:
        crd(cl, "widgets", "Widget", "Namespaced", ("v1", "v1beta1"))
        crd(cl, "regions", "Region", "Cluster", ("v1",))
    for cl in CLUSTERS:
        for ns in NAMESPACES[cl]:
            create(cl, obj("Namespace", None, ns, {"stage": {"shop": "prod", "blog": "prod", "infra": "ops", "lab": "dev"}[ns], "zone": cl[1:]}))
    for cl in CLUSTERS:
        out.append({"op": "crd", "cluster": cl, "path": "/apis/shop.example.com/v1/widgets"})
        out.append({"op": "crd", "cluster": cl, "path": "/apis/shop.example.com/v1/regions"})

    # -- the time line: one second each; t-03 exists in c1 and c3 in the same second
    for name, cls in (("t-01", ("c1",)), ("t-02", ("c2",)), ("t-03", ("c1", "c3")), ("t-04", ("c3",)), ("t-05", ("c2",)), ("t-06", ("c1",))):
        tick()
        for cl in cls:
            create(cl, obj("ConfigMap", "shop", name, {"seq": "time"}, data={"step": name}))
    tick()

    # -- resource versions: created in an order that is neither alphabetical nor numerical
    for n in ("rv-m", "rv-a", "rv-z", "rv-c", "rv-b"):
        for cl in ("c1", "c2"):
            create(cl, obj("ConfigMap", "blog", n, {"seq": "rv"}, data={"n": n}))

    # -- nodes (cluster-scoped owners)
    for cl, names in (("c1", ("node-a", "node-b")), ("c2", ("node-a",)), ("c3", ("node-c",))):
        for n in names:
            create(cl, obj("Node", None, n, {"pool": n[-1], "kubernetes.io/os": "linux"}, spec={"podCIDR": "10.%s.%d.0/24" % (cl[1], ord(n[-1]) - 96)}))

    # -- workloads
    chain("c1", "shop", "web", ("web-rs1-aaaaa", "web-rs1-bbbbb"), "front", annotations={"example.io/team.owner": "blue", "note": "first"})
    chain("c1", "shop", "web-api", ("web-api-rs1-ccccc",), "back", "registry.example.com/api:2", phase=("Pending",), ready=0)
    chain("c1", "shop", "cart", ("cart-rs1-ddddd", "cart-rs1-eeeee", "cart-rs1-fffff"), "back", phase=("Running", "Failed", "Succeeded"), ready=1)
    chain("c1", "blog", "web", ("web-rs1-ggggg",), "front", annotations={"example.io/team.owner": "green"})
    chain("c1", "blog", "comments", ("comments-rs1-hhhhh",), "back", replicas=3, ready=1, extra={"paused": True})
    chain("c1", "infra", "proxy", ("proxy-rs1-iiiii",), "edge")
    chain("c2", "shop", "web", ("web-rs1-jjjjj",), "front", "registry.example.com/web:2", annotations={"example.io/team.owner": "blue"})
    chain("c2", "shop", "cart", (), "back", replicas=0)
    chain("c2", "shop", "search-web", ("search-web-rs1-kkkkk", "search-web-rs1-lllll"), "front", phase=("Running", "Pending"), ready=1)
    chain("c2", "blog", "blog-web", ("blog-web-rs1-mmmmm",), "front", labels={"canary": ""})
    chain("c3", "shop", "web", ("web-rs1-nnnnn",), "front", "registry.example.com/web:3", annotations={"example.io/team.owner": "red"})
    chain("c3", "shop", "checkout", ("checkout-rs1-ooooo",), "back", labels={"canary": "true"})
    chain("c3", "infra", "proxy", ("proxy-rs1-ppppp",), "edge", phase=("Failed",), ready=0)
    chain("c3", "lab", "web-2.experiment", ("web-2.experiment-rs1-qqqqq",), "front", labels={"canary": "true"})
    # an old replica set of c1/shop/cart without pods
    create("c1", obj("ReplicaSet", "shop", "cart-rs0", {"app": "cart", "tier": "back"}, owner=("Deployment", "cart"),
                     spec={"replicas": 0, "selector": {"matchLabels": {"app": "cart"}}, "template": template("cart", "registry.example.com/web:0")}))
    # stateful and daemon sets own pods directly
    create("c1", obj("StatefulSet", "infra", "db", {"app": "db", "tier": "data"}, spec={
        "serviceName": "db", "replicas": 2, "selector": {"matchLabels": {"app": "db"}}, "template": template("db", "registry.example.com/db:15")}))
    for i in (0, 1):
        pod("c1", "infra", "db-%d" % i, {"app": "db", "tier": "data"}, ("StatefulSet", "db"), "registry.example.com/db:15", node="node-b")
    status("c1", "StatefulSet", "infra", "db", {"replicas": 2, "readyReplicas": 2, "observedGeneration": 1})
    for cl, ns in (("c2", "blog"), ("c3", "lab")):
        create(cl, obj("DaemonSet", ns, "agent", {"app": "agent", "tier": "ops"}, spec={
            "selector": {"matchLabels": {"app": "agent"}}, "template": template("agent", "registry.example.com/agent:1", hostNetwork=True)}))
        pod(cl, ns, "agent-" + cl + "x", {"app": "agent", "tier": "ops"}, ("DaemonSet", "agent"), "registry.example.com/agent:1", node="node-a", hostNetwork=True)
    # a pod owned by a node, a pod owned by nobody, and one whose owner has the same name as a deployment but another kind
    pod("c1", "infra", "mirror-node-a", {"app": "mirror"}, ("Node", "node-a"), node="node-a")
    pod("c1", "infra", "lonely", {"app": "lonely"}, None, phase="Pending")
    create("c1", obj("ReplicaSet", "shop", "web", {"app": "web-twin"}, spec={
        "replicas": 1, "selector": {"matchLabels": {"app": "web-twin"}}, "template": template("web-twin", "registry.example.com/twin:1")}))
    pod("c1", "shop", "web-twin-rrrrr", {"app": "web-twin"}, ("ReplicaSet", "web"), "registry.example.com/twin:1")
    # CronJob -> Job -> Pod
    create("c2", obj("CronJob", "shop", "nightly", {"app": "nightly"}, spec={
        "schedule": "0 3 * * *", "suspend": True, "jobTemplate": {"spec": {"template": template("nightly", "registry.example.com/job:1", restartPolicy="Never")}}}))
    create("c2", obj("Job", "shop", "nightly-1", {"app": "nightly"}, owner=("CronJob", "nightly"), spec={
        "manualSelector": True, "suspend": True, "selector": {"matchLabels": {"app": "nightly"}}, "template": template("nightly", "registry.example.com/job:1", restartPolicy="Never")}))
    pod("c2", "shop", "nightly-1-sssss", {"app": "nightly"}, ("Job", "nightly-1"), "registry.example.com/job:1", phase="Succeeded", restartPolicy="Never")

    # -- plain objects
    for cl in CLUSTERS:
        create(cl, obj("ConfigMap", "shop", "settings", {"kind": "settings", "rank": cl[1]}, {"example.io/team.owner": {"c1": "blue", "c2": "green", "c3": "red"}[cl]},
                       data={"mode": "fast" if cl == "c1" else "safe", "retries": cl[1]}))
        create(cl, obj("Secret", "shop", "token", {"kind": "credential"}, type="Opaque", data={"token": "c2VjcmV0LQ=="}))
        create(cl, obj("Service", "shop", "web", {"app": "web"}, spec={"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}))
    create("c1", obj("ConfigMap", "infra", "frozen", {"kind": "settings"}, data={"a": "1"}, immutable=True))
    create("c1", obj("ConfigMap", "infra", "app.config.v1", {"kind": "settings", "example.io/part": "alpha"}, data={"a": "1"}))
    create("c1", obj("ConfigMap", "infra", "app-config-v1", {"kind": "settings", "example.io/part": "beta"}, data={"a": "2"}))
    create("c1", obj("ConfigMap", "infra", "appxconfigxv1", {"kind": "settings"}, data={"a": "3"}))
    create("c1", obj("ConfigMap", "shop", "not-controlled", {"kind": "loose"}, owner=("Deployment", "web"), controller=False, data={"a": "1"}))
    create("c1", obj("ConfigMap", "shop", "controlled", {"kind": "loose"}, owner=("Deployment", "web"), data={"a": "1"}))
    create("c1", obj("Secret", "infra", "basic", {"kind": "credential"}, type="kubernetes.io/basic-auth", data={"username": "dQ==", "password": "cA=="}))
    create("c3", obj("Service", "infra", "outside", {"app": "outside"}, spec={"type": "ExternalName", "externalName": "db.example.com"}))
    # updated and deleted after creation: the search result has to follow
    create("c2", obj("ConfigMap", "blog", "changing", {"kind": "moving", "state": "old"}, data={"v": "1"}))
    create("c2", obj("ConfigMap", "blog", "doomed", {"kind": "moving"}, data={"v": "1"}))

    # -- custom resources
    for cl, ns, n, color, size, on, extra in (
            ("c1", "shop", "anvil", "red", 3, True, {"tags": ["heavy", "iron"], "dims": {"height": 10, "width": 7}}),
            ("c1", "shop", "bolt", "blue", 1, False, {"tags": ["iron"]}),
            ("c1", "infra", "crank", "red", 12, True, {"dims": {"height": 2}}),
            ("c2", "shop", "anvil", "green", 3, False, {"dims": {"height": 10}}),
            ("c2", "blog", "dial", "blue", 2, True, {}),
            ("c3", "lab", "bolt", "red", 1, True, {"ratio": 1.5, "note": None})):
        create(cl, obj("Widget", ns, n, {"color": color}, {"example.io/team.owner": "blue"} if color == "blue" else None,
                       spec={"color": color, "size": size, "enabled": on, **extra}, status={"phase": "Made" if on else "Planned"}))
    for cl, n in (("c1", "north"), ("c2", "north"), ("c3", "south")):
        create(cl, obj("Region", None, n, {"area": n}, spec={"code": n[0] + cl[1]}))
    # events of one pod
    for i, (reason, text) in enumerate((("Scheduled", "assigned to node-a"), ("Started", "started container main"))):
        create("c1", {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "web-rs1-aaaaa.e%d" % i, "namespace": "shop"}, "type": "Normal", "reason": reason, "message": text, "count": 1,
                      "source": {"component": "suite"}, "firstTimestamp": "2024-01-0%dT00:00:00Z" % (i + 1), "lastTimestamp": "2024-01-0%dT00:00:00Z" % (i + 1),
                      "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-rs1-aaaaa", "uid": "$uid:" + path("Pod", "shop", "web-rs1-aaaaa")}})
    out.append({"op": "update", "cluster": "c2", "path": path("ConfigMap", "blog", "changing"), "patch": {"metadata": {"labels": {"state": "new"}}, "data": {"v": "2"}}})
    out.append({"op": "delete", "cluster": "c2", "path": path("ConfigMap", "blog", "doomed")})
    return out


def expected():
    """{(type path over all clusters): sorted [cluster/namespace/name]} after all steps"""
    res = {t: set() for t in TYPES}
    for s in steps():
        if s["op"] == "create" and s["object"]["kind"] not in ("CustomResourceDefinition", "Event"):
            m = s["object"]["metadata"]
            coll = KINDS[s["object"]["kind"]].replace("/namespaces/%s", "")
            res[coll].add("%s/%s/%s" % (s["cluster"], m.get("namespace", ""), m["name"]))
        elif s["op"] == "delete":
            for k, p in KINDS.items():
                if "%s" in p:
                    for v in res.values():
                        v.difference_update({e for e in v if e.split("/")[0] == s["cluster"] and path(k, e.split("/")[1], e.split("/")[2]) == s["path"]
                                             and p.replace("/namespaces/%s", "") in res and v is res[p.replace("/namespaces/%s", "")]})
    return {t: sorted(v) for t, v in res.items()}


if __name__ == "__main__":
    for s in steps():
        print(json.dumps(s, separators=(",", ":")))
