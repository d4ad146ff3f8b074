# SPDX-License-Identifier: Apache-2.0
"""Workloads, policies and configuration by the management API: argv as in rpc.py."""

import json
import sys

from mgmt import Both, eventually

DEMO = {"instance": "demo"}
AT = dict(DEMO, namespace="default")
GVR = [{"group": "apps", "version": "v1", "resource": "deployments"}]


def path(tail, namespace="default"):
    return "/instances/demo/namespaces/%s/%s" % (namespace, tail)


def deployment(name, replicas=3):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "nginx:1.25"}]},
            },
        },
    }


def policy(name, target, weights):
    return {
        "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": target}],
            "placement": {
                "clusterAffinity": {"clusterNames": list(weights)},
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided",
                    "replicaDivisionPreference": "Weighted",
                    "weightPreference": {
                        "staticWeightList": [
                            {"targetCluster": {"clusterNames": [c]}, "weight": w}
                            for c, w in weights.items()
                        ]
                    },
                },
            },
        },
    }


def override(name, cluster):
    return {
        "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}],
            "overrideRules": [
                {
                    "targetCluster": {"clusterNames": [cluster]},
                    "overriders": {
                        "imageOverrider": [
                            {"component": "Registry", "operator": "add", "value": "near.example"}
                        ]
                    },
                }
            ]
        },
    }


def together(name):
    data = {
        "resources": [json.dumps(deployment(name))],
        "popagrationpolicies": [json.dumps(policy(name, name, {"m1": 2, "m2": 1}))],
        "overridepolicies": [json.dumps(override(name, "m2"))],
    }
    return dict(AT, data=data, gvr=GVR)


def get(both, name):
    return both.same(
        "Apps", "GetDeployment", dict(AT, name=name), path("deployments/" + name)
    )


def create_together():
    both = Both()
    request = together("web")
    made = both.rest("POST", path("aggregationresource"), request)
    assert len(made["resources"]) == 1 and len(made["popagrationpolicies"]) == 1, made
    assert get(both, "web")["metadata"]["name"] == "web"  # at once
    made = both.grpc("Aggregation", "CreateAggregationResource", together("wob"))
    assert json.loads(made["resources"][0])["metadata"]["name"] == "wob", made
    one = both.grpc("Aggregation", "CreateAggregationResource", request)
    assert one == both.rest("POST", path("aggregationresource"), request) and one["code"] == 6, one


def pods(both, cluster, name):
    asked = "clusters/%s/namespaces/default/pods?kind=Deployment&kindName=%s" % (cluster, name)
    return both.same(
        "Core",
        "ListPodsForMemberCluster",
        dict(AT, cluster=cluster, kind="Deployment", kindName=name),
        "/instances/demo/" + asked,
    )["items"]


def clusters_and_pods():
    both = Both()

    def running():
        return get(both, "web")["status"]["state"] == "WORKLOAD_STATE_RUNNING"

    eventually(running)
    status = get(both, "web")["status"]
    assert status["readyReplicas"] == 3, status
    assert [(c["name"], c["applied"]) for c in status["clusters"]] == [
        ("m1", True),
        ("m2", True),
    ], status
    eventually(lambda: [len(pods(both, m, "web")) for m in ("m1", "m2", "m3")] == [2, 1, 0])
    pod = pods(both, "m2", "web")[0]
    assert pod["status"]["ownedBy"] == {"kind": "DEPLOYMENT", "name": "web"}, pod
    assert pod["metadata"]["cluster"] == "m2", pod
    assert pod["spec"]["containers"][0]["image"] == "near.example/nginx:1.25", pod
    listed = both.same(
        "Apps",
        "ListInstanceDeployments",
        dict(DEMO, pageSize=1, sortBy="field_name", sortDir="asc"),
        "/instances/demo/deployments?pageSize=1&sortBy=field_name&sortDir=asc",
    )
    assert [d["metadata"]["name"] for d in listed["items"]] == ["web"], listed
    assert listed["pagination"]["total"] == 2, listed
    events = both.same(
        "Core",
        "ListEvents",
        dict(AT, kind="Deployment", kindName="web"),
        path("events?kind=Deployment&kindName=web"),
    )
    assert "ScheduleBindingSucceed" in [e["reason"] for e in events["items"]], events


def policies():
    both = Both()
    found = both.same(
        "Policy",
        "ListPropagationPolicies",
        dict(AT, kind="Deployment", kindName="web"),
        path("propagationpolicies?kind=Deployment&kindName=web"),
    )
    assert [p["metadata"]["name"] for p in found["items"]] == ["web"], found
    both.same(
        "Policy", "GetOverridePolicy", dict(AT, name="web"), path("overridepolicies/web")
    )
    used = both.rest("DELETE", path("propagationpolicies/web"))
    assert used["code"] == 10 and "used by" in used["message"], used


def change():
    both = Both()
    both.grpc("Apps", "PatchDeployment", dict(AT, name="web", data='{"spec":{"replicas":6}}'))
    eventually(lambda: get(both, "web")["status"]["readyReplicas"] == 6)
    paused = both.rest("POST", path("deployments/web:pause"), {})
    assert paused["deployment"]["spec"]["paused"], paused
    both.grpc("Apps", "ResumeDeployment", dict(AT, name="web"))
    restarted = both.rest("POST", path("deployments/web:restart"), {})["deployment"]
    assert restarted["spec"]["template"]["metadata"]["annotations"], restarted


def configuration():
    both = Both()
    both.rest("POST", "/instances/demo/namespaces", {"data": '{"metadata":{"name":"team"}}'})
    both.same("Core", "GetNamespace", dict(DEMO, name="team"), "/instances/demo/namespaces/team")
    team = dict(DEMO, namespace="team")
    for kind, data in (("ConfigMap", '"data":{"a":"b"}'), ("Secret", '"stringData":{"a":"b"}')):
        plural = kind.lower() + "s"
        text = '{"metadata":{"name":"x"},%s}' % data
        both.grpc("Core", "Create" + kind, dict(team, data=text))
        got = both.same(
            "Core", "Get" + kind, dict(team, name="x"), path(plural + "/x", "team")
        )
        assert got["data"] == {"a": "b" if kind == "ConfigMap" else "Yg=="}, got
        both.same("Core", "List%ss" % kind, dict(team), path(plural, "team"))
    service = '{"metadata":{"name":"web"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}}'
    both.rest(
        "POST",
        path("workloadservices"),
        {"kind": "Deployment", "kindName": "web", "data": service},
    )

    def went():
        got = both.same("Core", "GetService", dict(AT, name="web"), path("services/web"))
        return [c["name"] for c in got["status"]["clusters"] if c["applied"]] == ["m1", "m2"]

    eventually(went)


POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}


def pinned(kind, group, name):
    selector = {"apiVersion": group, "kind": kind, "name": name}
    placement = {"clusterAffinity": {"clusterNames": ["m1"]}}
    text = {"metadata": {"name": name}, "spec": {"resourceSelectors": [selector], "placement": placement}}
    return {"data": json.dumps(text)}


def jobs():
    both = Both()
    job = {"metadata": {"name": "once"}, "spec": {"template": {"spec": POD}}}
    both.rest("POST", path("propagationpolicies"), pinned("Job", "batch/v1", "once"))
    both.grpc("Batch", "CreateJob", dict(AT, data=json.dumps(job)))

    def done():
        got = both.same("Batch", "GetJob", dict(AT, name="once"), path("jobs/once"))
        applied = [c["name"] for c in got["status"]["clusters"] if c["applied"]]
        return got["status"]["phase"] == "Completed" and applied == ["m1"] and got

    eventually(done)
    before = done()["metadata"]["uid"]
    again = both.rest("POST", path("jobs/once:restart"), {})["job"]
    assert again["metadata"]["uid"] != before, again
    eventually(done)
    both.same("Batch", "ListJobs", dict(AT, phase="Completed"), path("jobs?phase=Completed"))

    cronjob = {"schedule": "0 1 * * *", "jobTemplate": {"spec": {"template": {"spec": POD}}}}
    both.rest("POST", path("propagationpolicies"), pinned("CronJob", "batch/v1", "nightly"))
    text = json.dumps({"metadata": {"name": "nightly"}, "spec": cronjob})
    both.rest("POST", path("cronjobs"), {"data": text})
    both.grpc("Batch", "PauseCronJob", dict(AT, name="nightly"))

    def stopped():
        got = both.same("Batch", "GetCronJob", dict(AT, name="nightly"), path("cronjobs/nightly"))
        return got["status"]["phase"] == "Stopped" and got["availed"] == got["total"] == 1

    eventually(stopped)
    both.same(
        "Batch",
        "ListJobsByCronJobsName",
        dict(AT, cluster="m1", cronjob="nightly"),
        "/instances/demo/clusters/m1/namespaces/default/cronjobs/nightly/jobs",
    )


def ingresses():
    both = Both()
    where = "/instances/demo/member-clusters/m3/"

    def offered():
        got = both.same(
            "Networking",
            "ListMemberClusterAllIngresses",
            dict(DEMO, cluster="m3"),
            where + "ingresses",
        )
        return [i["metadata"]["name"] for i in got["items"]] == ["way"]

    eventually(offered)
    classes = both.same(
        "Networking",
        "ListIngressClassForMemberCluster",
        dict(DEMO, cluster="m3"),
        "/instances/demo/clusters/m3/ingressclasssummary",
    )
    assert classes == {"items": [{"name": "near", "isDefaultClass": True}]}, classes
    assert both.rest("POST", where + "namespaces/default/ingresses/way:promote", {}) == {}

    def taken():
        got = both.same("Networking", "GetIngress", dict(AT, name="way"), path("ingresses/way"))
        return [c["name"] for c in got["status"]["clusters"] if c["applied"]] == ["m3"]

    eventually(taken)
    both.same("Core", "GetSecret", dict(AT, name="cert"), path("secrets/cert"))


def custom_resources():
    both = Both()
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    text = json.dumps({"metadata": {"name": "widgets.example.com"}, "spec": spec})
    crds, widgets = "/instances/demo/customresourcedefinitions", "gvr/example.com/v1/namespaces/default/widgets"
    both.rest("POST", crds, {"data": text})

    def established():
        got = both.same(
            "Apiextensions",
            "ListCustomResourceDefinitions",
            dict(DEMO, group="example.com", status=["Established"]),
            crds + "?group=example.com&status=Established",
        )
        return [c["spec"]["scope"] for c in got["items"]] == ["NAMESPACED"]

    eventually(established)
    one = dict(AT, group="example.com", version="v1", resource="widgets")
    made = both.grpc("Apiextensions", "CreateCustomResource", dict(one, data='{"metadata":{"name":"w"}}'))
    assert '"kind":"Widget"' in made["data"], made
    got = both.same(
        "Apiextensions", "GetCustomResource", dict(one, name="w"), "/instances/demo/%s/w" % widgets
    )
    assert got["kind"] == "Widget" and got["name"] == "w", got
    both.same("Apiextensions", "ListCustomResources", one, "/instances/demo/" + widgets)
    both.rest("DELETE", "/instances/demo/%s/w" % widgets)
    gone = both.same(
        "Apiextensions", "GetCustomResource", dict(one, name="w"), "/instances/demo/%s/w" % widgets
    )
    assert gone["code"] == 5, gone


def workspaces():
    both = Both()
    where = "/workspace-management/instances"

    def bound():
        got = both.same("Workspace", "ListInstances", {}, where)
        return [i.get("workspace", {}).get("workspace") for i in got["items"]] == ["team"]

    assert bound()
    both.rest("POST", where + "/-/actions", {"instance": "demo", "action": "UNBIND"})
    assert not bound()
    both.grpc("Workspace", "BindInstances", {"instance": "demo", "workspace": {"workspace": "team"}, "action": "BIND"})
    assert bound()


def failures_are_the_same():
    both = Both()
    cases = [
        ("Apps", "GetDeployment", dict(AT, name="none"), path("deployments/none"), 5),
        (
            "Core",
            "ListPodsForMemberCluster",
            dict(AT, cluster="none"),
            "/instances/demo/clusters/none/namespaces/default/pods",
            5,
        ),
        ("Apps", "ListInstanceDeployments", {"instance": "no"}, "/instances/no/deployments", 5),
    ]
    for service, method, request, where, code in cases:
        assert both.same(service, method, request, where)["code"] == code
    for data, code in (("{", 3), ('{"kind":"Pod"}', 3), ("{}", 3), (json.dumps(deployment("web")), 6)):
        one = both.grpc("Apps", "CreateDeployment", dict(AT, data=data))
        assert one == both.rest("POST", path("deployments"), {"data": data}), one
        assert one["code"] == code, one


def promote():
    both = Both()
    where = "/instances/demo/member-clusters/m3/namespaces/default/"

    def offered():
        got = both.same(
            "Apps",
            "ListMemberClusterDeployments",
            dict(AT, cluster="m3"),
            where + "deployments",
        )
        return [d["metadata"]["name"] for d in got["items"]] == ["old"]

    eventually(offered)
    assert both.rest("POST", where + "deployments/old:promote", {"services": ["old"]}) == {}

    def taken():
        status = get(both, "old")["status"]
        return status["readyReplicas"] == 2 and [c["name"] for c in status["clusters"]] == ["m3"]

    eventually(taken)
    both.same("Core", "GetService", dict(AT, name="old"), path("services/old"))
    both.same("Core", "GetConfigMap", dict(AT, name="old"), path("configmaps/old"))
    again = both.grpc("Apps", "PromoteMemberClusterDeployment", dict(AT, cluster="m3", name="old"))
    assert again["code"] == 6, again


def delete():
    both = Both()
    assert both.rest("DELETE", path("deployments/web")) == {}
    gone = both.same("Apps", "GetDeployment", dict(AT, name="web"), path("deployments/web"))
    assert gone["code"] == 5, gone


if __name__ == "__main__":
    globals()[sys.argv[1]]()
