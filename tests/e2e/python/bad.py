# SPDX-License-Identifier: Apache-2.0
"""Bad input by gRPC and by REST: the same answer, with the field and the reason."""

import json
import sys

import grpc
import rpc
from mgmt import Both, instance

AT = {"instance": "demo", "namespace": "default"}


def same(service, method, request, verb, path, body, code, *words):
    both = Both()
    one, other = both.grpc(service, method, request), both.rest(verb, path, body)
    assert one == other, (one, other)
    assert one["code"] == code, one
    for word in words:
        assert word in one["message"], (word, one)


def join(name, code, *words):
    where = "/instances/demo/clusters/" + name
    same("Cluster", "JoinCluster", {"instance": "demo", "name": name}, "POST", where, {}, code, *words)


def clusters():
    join("nowhere", 5, '"nowhere" not found')
    join("nosecret", 5, "the credentials of cluster nosecret", "not found")
    join("broken", 3, "kubeconfig: Invalid value: is not YAML")
    join("command", 3, "users[0].user.exec", "Forbidden")
    join("away", 14, "connect to 127.0.0.1:1: Connection refused")
    join("liar", 14, "certificate")
    join("x" * 300, 5, "not found")
    request = {"instance": "demo", "name": "nowhere"}
    where = "/instances/demo/clusters/nowhere"
    same("Cluster", "RemoveJoinedCluster", request, "DELETE", where, None, 5, '"nowhere" not found')


def policy(spec, *words):
    data = json.dumps(
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "metadata": {"name": "bad", "namespace": "default"},
            "spec": spec,
        }
    )
    where = "/instances/demo/namespaces/default/propagationpolicies"
    request = dict(AT, data=data)
    same("Policy", "CreatePropagationPolicy", request, "POST", where, {"data": data}, 3, *words)


def policies():
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    policy({"resourceSelectors": []}, "spec.resourceSelectors", "at least 1")
    policy(
        {
            "resourceSelectors": selectors,
            "placement": {"spreadConstraints": [{"spreadByField": "town"}]},
        },
        "spec.placement.spreadConstraints[0].spreadByField",
        'Unsupported value: "town"',
    )


def names():
    long = "x" * 300
    bad = instance(long)
    same("Instance", "CreateInstance", bad, "POST", "/instances", bad, 3, "metadata.name", "no more than")


def large():
    huge = instance("x" * (4 << 20))
    answer = Both().rest("POST", "/instances", huge)
    assert answer == {"code": 8, "message": "Request entity too large: limit is 3145728"}, answer
    answer = Both().grpc("Instance", "CreateInstance", huge)
    assert answer == {"code": 8, "message": "the message is too large: limit is 3145728"}, answer


def token():
    with open("token", encoding="utf-8") as f:
        other = f.read().strip()
    call = rpc.channel(True).unary_unary("/%sInstance/ListInstances" % rpc.API)
    metadata = (("authorization", "Bearer " + other),)
    rpc.fails(grpc.StatusCode.UNAUTHENTICATED, call, b"", timeout=20, metadata=metadata)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
