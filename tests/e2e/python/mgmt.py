# SPDX-License-Identifier: Apache-2.0
"""Instances by the management API, each call as gRPC and as REST: argv as in rpc.py."""

import json
import ssl
import sys
import time
import urllib.error
import urllib.request

import grpc
import rpc
from google.protobuf import json_format

BASE = "/apis/kairship.io/v1alpha1"


class Both:
    """Reads go both ways and must agree; a write goes the way that is asked for."""

    def __init__(self):
        self.chan = rpc.channel()
        self.reflection = rpc.Reflection(self.chan)
        self.tls = ssl.create_default_context(cafile="certificate-authority")
        self.tls.load_cert_chain("admin.crt", "client-key")

    def grpc(self, service, method, request):
        given, got = self.reflection.method(rpc.API + service, method)
        call = self.chan.unary_unary(
            "/%s%s/%s" % (rpc.API, service, method),
            request_serializer=given.SerializeToString,
            response_deserializer=got.FromString,
        )
        try:
            answer = call(json_format.ParseDict(request, given()), timeout=30)
        except grpc.RpcError as e:
            return {"code": e.code().value[0], "message": e.details()}
        return json_format.MessageToDict(answer, including_default_value_fields=True)

    def rest(self, verb, path, body=None):
        request = urllib.request.Request(
            "https://" + sys.argv[2] + BASE + path,
            method=verb,
            data=None if body is None else json.dumps(body).encode(),
        )
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=30) as f:
                return without_null(json.load(f))
        except urllib.error.HTTPError as e:
            answer = json.load(e)
            return {"code": answer["code"], "message": answer["message"]}

    def same(self, service, method, request, path):
        for _ in range(10):  # controllers may write in between
            one, other = self.grpc(service, method, request), self.rest("GET", path)
            if one == other:
                return one
        raise AssertionError((one, other))


def without_null(value):
    """gRPC has no word for a message that is not there."""
    if isinstance(value, dict):
        return {k: without_null(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_null(v) for v in value]
    return value


def eventually(fn):
    for _ in range(100):
        if fn():
            return
        time.sleep(0.1)
    raise AssertionError("not within ten seconds")


def instance(name, **metadata):
    return {"data": {"metadata": dict(metadata, name=name)}}


def create_and_list():
    both = Both()
    made = both.rest(
        "POST",
        "/instances",
        instance("one", labels={"a": "b"}, annotations={"kairship.io/alias": "The One"}),
    )
    assert made["metadata"]["name"] == "one", made
    assert made["metadata"]["annotations"]["kairship.io/alias"] == "The One"
    made = both.grpc("Instance", "CreateInstance", instance("two"))
    assert made["metadata"]["name"] == "two", made

    def running():
        got = both.same("Instance", "GetInstance", {"name": "one"}, "/instances/one")
        return got["status"]["kubernetesVersion"] and got["status"].get("summary")

    eventually(running)
    listed = both.same(
        "Instance",
        "ListInstances",
        {"pageSize": 1, "page": 2, "sortBy": "field_name", "sortDir": "asc"},
        "/instances?pageSize=1&page=2&sortBy=field_name&sortDir=asc",
    )
    assert [i["metadata"]["name"] for i in listed["items"]] == ["two"], listed
    assert listed["pagination"] == {"total": 2, "page": 2, "pageSize": 1, "pages": 2}
    listed = both.same("Instance", "ListInstances", {"name": "on"}, "/instances?name=on")
    assert len(listed["items"]) == 1, listed


def update():
    both = Both()
    path = "/instances/one/json"
    now = json.loads(both.same("Instance", "GetInstanceJSON", {"name": "one"}, path)["data"])
    now["metadata"]["annotations"] = {"kairship.io/alias": "Another", "x": "y"}
    now["metadata"]["labels"] = {"karmada.install.io/disable-cascading-deletion": "true"}
    both.rest("PUT", "/instances/one", {"data": json.dumps(now)})
    got = both.same("Instance", "GetInstance", {"name": "one"}, "/instances/one")["metadata"]
    assert got["annotations"] == {"kairship.io/alias": "Another", "x": "y"}, got
    assert got["labels"] == {"karmada.install.io/disable-cascading-deletion": "true"}, got
    stale = both.grpc("Instance", "UpdateInstance", {"name": "one", "data": json.dumps(now)})
    assert stale["code"] == 10, stale  # what was read before is not written over


def settings():
    both = Both()
    path = "/instances/one/failover"
    before = both.same("Instance", "GetInstanceFailover", {"instance": "one"}, path)
    assert not before["enabled"] and before["timeout"]["clusterMonitorPeriod"] == "5", before
    both.grpc(
        "Instance",
        "UpdateInstanceFailover",
        {"instance": "one", "enabled": True, "timeout": {"clusterMonitorPeriod": 7}},
    )
    after = both.same("Instance", "GetInstanceFailover", {"instance": "one"}, path)
    assert after["enabled"] and after["timeout"]["clusterMonitorPeriod"] == "7", after
    assert after["timeout"]["gracefulEvictionTimeout"] == "600", after
    both.rest("PUT", "/instances/one/metricsadapter", {"enabled": True})
    assert both.same(
        "Instance", "GetInstanceMetricsAdapter", {"instance": "one"}, "/instances/one/metricsadapter"
    ) == {"enabled": True}
    bad = both.rest("PUT", path, {"enabled": True, "timeout": {"clusterMonitorPeriod": -1}})
    assert bad["code"] == 3 and "clusterMonitorPeriod" in bad["message"], bad


def failures_are_the_same():
    both = Both()
    cases = [
        ("GetInstance", {"name": "none"}, "/instances/none", 5),
        ("GetInstanceFailover", {"instance": "none"}, "/instances/none/failover", 5),
    ]
    for method, request, path, code in cases:
        assert both.same("Instance", method, request, path)["code"] == code
    for name, code in (("one", 6), ("Bad_Name", 3), ("x" * 64, 3), ("", 3), ("root", 3)):
        one = both.grpc("Instance", "CreateInstance", instance(name))
        other = both.rest("POST", "/instances", instance(name))
        assert one == other and one["code"] == code, (one, other)


def details_tell_the_field():
    chan = rpc.channel()
    create = chan.unary_unary("/%sInstance/CreateInstance" % rpc.API)
    bad = rpc.varint_field(2, "\n\x05\n\x03A_B")  # data.metadata.name
    e = rpc.fails(grpc.StatusCode.INVALID_ARGUMENT, create, bad, timeout=20)
    details = dict(e.trailing_metadata())["grpc-status-details-bin"]
    assert b"google.rpc.BadRequest" in details and b"metadata.name" in details, details


def kubeconfig():
    answer = Both().grpc(
        "Instance", "CreateInstanceAdminKubeConfig", {"instance": "one", "expirationSeconds": 900}
    )
    with open("one.kubeconfig", "w", encoding="utf-8") as f:
        f.write(answer["kubeConfigString"])
    bad = Both().rest("POST", "/instances/one/kubeconfig", {"expirationSeconds": 1})
    assert bad["code"] == 3, bad


def delete():
    both = Both()
    assert both.rest("DELETE", "/instances/two") == {}
    assert both.grpc("Instance", "DeleteInstance", {"name": "one"}) == {}
    eventually(lambda: both.rest("GET", "/instances")["items"] == [])
    assert both.grpc("Instance", "DeleteInstance", {"name": "one"})["code"] == 5


if __name__ == "__main__":
    globals()[sys.argv[1]]()
