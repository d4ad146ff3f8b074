# SPDX-License-Identifier: Apache-2.0
"""What is recorded of calls of the management API: argv as in rpc.py; jane.token is hers."""

import http.client
import json
import socket
import ssl
import sys
import time

import grpc
import mgmt
import rpc
from google.protobuf import json_format

LOG = "kairship-data/audit/audit.log"
CANARY = "canary-8714"


def data(**obj):
    return json.dumps(obj)


SECRET = data(metadata={"name": "s"}, stringData={"k": CANARY})
BAD_SECRET = data(
    apiVersion="v1", kind="Secret", metadata={"name": "t"}, stringData={CANARY + " x": "y"}
)
SECRETS = [{"version": "v1", "resource": "secrets"}]
WEB = data(
    metadata={"name": "web"},
    spec={
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "nginx:1"}]},
        },
    },
)
DEMO = {"instance": "demo", "namespace": "default"}
NS = "/instances/demo/namespaces/default"

# who, service, method, gRPC request, REST verb, path, body, event, code.  %s: another by each door.
CASES = [
    ("admin", "Instance", "CreateInstance", mgmt.instance("new-%s"), "POST", "/instances",
     mgmt.instance("new-%s"), "Create-Instance", 200),
    ("admin", "Instance", "CreateInstance", mgmt.instance("Bad"), "POST", "/instances",
     mgmt.instance("Bad"), "Create-Instance", 400),
    ("admin", "Instance", "CreateInstance", mgmt.instance("demo"), "POST", "/instances",
     mgmt.instance("demo"), "Create-Instance", 409),
    ("admin", "Instance", "DeleteInstance", {"name": "none"}, "DELETE", "/instances/none", None,
     "Delete-Instance", 404),
    ("jane", "Instance", "DeleteInstance", {"name": "demo"}, "DELETE", "/instances/demo", None,
     "Delete-Instance", 403),
    ("jane", "Cluster", "JoinCluster", {"instance": "demo", "name": "m\n1"}, "POST",
     "/instances/demo/clusters/m%0A1", {}, "Integrate-Cluster", 403),
    ("admin", "Core", "CreateSecret", dict(DEMO, data=SECRET), "POST", NS + "/secrets",
     {"data": SECRET}, "Create-Multicloud Secret", (200, 409)),
    ("admin", "Core", "CreateSecret", dict(DEMO, data=SECRET.replace("{", "[", 1)), "POST",
     NS + "/secrets", {"data": SECRET.replace("{", "[", 1)}, "Create-Multicloud Secret", 400),
    ("admin", "Aggregation", "CreateAggregationResource",
     dict(DEMO, data={"resources": [BAD_SECRET]}, gvr=SECRETS), "POST",
     NS + "/aggregationresource", {"data": {"resources": [BAD_SECRET]}, "gvr": SECRETS},
     "Create-YAML", 400),
    ("admin", "Apps", "CreateDeployment", dict(DEMO, data=WEB.replace("web", "web-%s")), "POST",
     NS + "/deployments", {"data": WEB.replace("web", "web-%s")}, "Create-Deployment", 200),
    ("admin", "Apps", "PauseDeployment", dict(DEMO, name="none"), "POST",
     NS + "/deployments/none:pause", {}, "Update-Deployment", 404),
    ("admin", "CloudShell", "CreateCloudShell", {"instance": "demo"}, "POST",
     "/instances/demo/cloudshells", {}, "Create-CloudShell", 501),
    ("jane", "Workspace", "BindInstances",
     {"instance": "demo", "action": "UNBIND", "workspace": {"workspace": "w"}}, "POST",
     "/workspace-management/instances/-/actions",
     {"instance": "demo", "action": "UNBIND", "workspace": {"workspace": "w"}}, "Unbind-Instance",
     403),
]


def filled(value, door):
    return json.loads(json.dumps(value).replace("%s", door)) if value is not None else None


class Doors:
    def __init__(self):
        self.chan = {"admin": rpc.channel(), "jane": rpc.channel(anonymous=True)}
        self.reflection = rpc.Reflection(self.chan["admin"])
        self.tls = {"admin": ssl.create_default_context(cafile="certificate-authority")}
        self.tls["jane"] = ssl.create_default_context(cafile="certificate-authority")
        self.tls["admin"].load_cert_chain("admin.crt", "client-key")

    @staticmethod
    def headers(who, audit_id):
        token = {"authorization": "Bearer " + rpc.read("jane.token").decode().strip()}
        return dict({"audit-id": audit_id}, **(token if who == "jane" else {}))

    def grpc(self, who, service, method, request, audit_id):
        given, got = self.reflection.method(rpc.API + service, method)
        call = self.chan[who].unary_unary(
            "/%s%s/%s" % (rpc.API, service, method),
            request_serializer=given.SerializeToString,
            response_deserializer=got.FromString,
        )
        message = json_format.ParseDict(request, given())
        try:
            return call(message, timeout=30, metadata=tuple(self.headers(who, audit_id).items()))
        except grpc.RpcError:
            return None

    def rest(self, who, verb, path, body, audit_id):
        conn = http.client.HTTPSConnection(sys.argv[2], context=self.tls[who], timeout=30)
        conn.request(
            verb,
            mgmt.BASE + path,
            None if body is None else json.dumps(body),
            self.headers(who, audit_id),
        )
        answer = conn.getresponse()
        text = answer.read()
        conn.close()
        return answer.status, text


def logged(audit_id):
    """The lines of that id: the call itself, and what it led to in its caller's name."""
    found = []

    def look():
        with open(LOG, encoding="utf-8") as f:
            found[:] = [json.loads(line) for line in f if '"auditID":"%s"' % audit_id in line]
        return [e for e in found if is_outer(e)]

    mgmt.eventually(look)
    outer = [e for e in found if is_outer(e)]
    assert len(outer) == 1, (audit_id, found)
    return outer[0], [e for e in found if not is_outer(e)]


def is_outer(event):
    return event["user"]["username"] != "system:kairship:management"


def plain(event, door):
    for field in ("requestURI", "auditID", "userAgent", "requestReceivedTimestamp", "stageTimestamp"):
        event.pop(field, None)
    return json.loads(json.dumps(event).replace("-" + door, "-door"))


def both_doors():
    doors = Doors()
    for i, (who, service, method, message, verb, path, body, event, code) in enumerate(CASES):
        doors.grpc(who, service, method, filled(message, "grpc"), "grpc-%d" % i)
        doors.rest(who, verb, path, filled(body, "rest"), "rest-%d" % i)
        one, inner = logged("grpc-%d" % i)
        other, _ = logged("rest-%d" % i)
        codes = {one["responseStatus"]["code"], other["responseStatus"]["code"]}
        assert codes == set(code if isinstance(code, tuple) else (code,)), (method, codes)
        if isinstance(code, tuple):
            del one["responseStatus"], other["responseStatus"]
        assert plain(one, "grpc") == plain(other, "rest"), (method, one, other)
        assert one["annotations"]["kairship.io/event"] == event, one
        assert not [e for e in inner if "kairship.io/event" in e["annotations"]], inner
        assert one["user"]["username"] == {"admin": "kairship-admin"}.get(who, who), one
    web, _ = logged("grpc-9")
    assert web["objectRef"]["name"] == "web-grpc", web
    assert web["annotations"]["kairship.io/instance"] == "demo", web


def reads():
    """Who looks at Secrets is in the log, by either door; other reads are not, by neither."""
    doors = Doors()
    both = (
        ("GetConfigMap", "configmaps/kube-root-ca.crt", "kube-root-ca.crt", "other"),
        ("GetSecret", "secrets/s", "s", "secret"),
    )
    for method, path, name, audit_id in both:
        doors.grpc("admin", "Core", method, dict(DEMO, name=name), audit_id + "-grpc")
        doors.rest("admin", "GET", NS + "/" + path, None, audit_id + "-rest")
    one, other = logged("secret-grpc")[0], logged("secret-rest")[0]
    assert plain(one, "grpc") == plain(other, "rest"), (one, other)
    assert one["verb"] == "get" and one["objectRef"]["resource"] == "secrets", one
    assert one["objectRef"]["name"] == "s" and "kairship.io/event" not in one["annotations"], one
    with open(LOG, encoding="utf-8") as f:
        assert not [line for line in f if '"auditID":"other-' in line]


def records(doors, **query):
    query = "&".join("%s=%s" % (k, v) for k, v in query.items())
    code, text = doors.rest("admin", "GET", "/audits?" + query, None, "list")
    assert code == 200, text
    return json.loads(text)


def lists():
    """One record of each call, the newest first, by what is asked for."""
    doors = Doors()

    def all_there():
        return records(doors, pageSize=1000)["pagination"]["total"] >= 2 * len(CASES)

    mgmt.eventually(all_there)
    got = records(doors, pageSize=1000)["items"]
    assert [r["time"] for r in got] == sorted((r["time"] for r in got), reverse=True), got
    for i, case in enumerate(CASES):
        ours = [r for r in got if r["auditId"] in ("grpc-%d" % i, "rest-%d" % i)]
        assert len(ours) == 2 and {r["event"] for r in ours} == {case[7]}, (case, ours)
    page = records(doors, pageSize=3, page=2)
    assert page["items"] == got[3:6] and page["pagination"]["total"] == len(got), page
    hers = records(doors, person="jane", event="Delete-Instance", instance="demo")["items"]
    assert len(hers) == 2 and {r["code"] for r in hers} == {403}, hers
    assert {r["reason"] for r in hers} == {"Forbidden"}, hers
    assert len(records(doors, object="deployments/web-grpc")["items"]) == 1
    assert len(records(doors, object="deployments", verb="update")["items"]) == 2
    assert records(doors, to=1)["pagination"]["total"] == 0
    now = int(time.time())
    assert records(doors, **{"from": now + 100})["items"] == []
    assert records(doors, **{"from": now - 3600}, to=now + 100)["pagination"]["total"] == len(got)
    assert CANARY not in json.dumps(got)
    assert doors.rest("jane", "GET", "/audits", None, "x")[0] == 403
    assert doors.rest("jane", "GET", "/audits?instance=demo", None, "x")[0] == 403
    assert doors.rest("jane", "GET", "/audits?person=jane", None, "x")[0] == 403


def admin_of_one():
    """Jane is Admin of her instance now: she sees what was done to it, and nothing else."""
    doors = Doors()
    code, text = doors.rest("jane", "GET", "/audits?instance=demo&pageSize=1000", None, "x")
    assert code == 200, text
    seen = json.loads(text)
    assert seen["pagination"]["total"] > 5 and {r["instance"] for r in seen["items"]} == {"demo"}
    assert doors.rest("jane", "GET", "/audits?instance=new-grpc", None, "x")[0] == 403
    assert doors.rest("jane", "GET", "/audits", None, "x")[0] == 403
    answer = doors.grpc("jane", "Audit", "ListAudits", {"instance": "demo"}, "x")
    assert len(answer.items) == seen["pagination"]["total"], answer


def nobody_of_another():
    """Her instance was deleted, and one of that name was made: its past is not hers."""
    code, text = Doors().rest("jane", "GET", "/audits?instance=demo&pageSize=1000", None, "x")
    assert code == 200, text
    uids = {r["event"] for r in json.loads(text)["items"]}
    assert uids <= {"Create-Instance", "Bind-Instance"}, text


def hiding():
    """By frames that are none, calls that are cut off, and deadlines that are over."""
    doors = Doors()
    raw = doors.chan["admin"].unary_unary("/%sInstance/DeleteInstance" % rpc.API)
    ids = iter("hide-%d" % i for i in range(100))

    def call(fn, message, **kwargs):
        audit_id = next(ids)
        try:
            fn(message, metadata=(("audit-id", audit_id),), **kwargs)
        except grpc.RpcError:
            pass
        return logged(audit_id)[0]

    def expect(event, code, verb="delete"):
        assert event["responseStatus"]["code"] == code and event["verb"] == verb, event

    expect(call(raw, b"\x0a\x7f", timeout=20), 400)  # no message
    expect(call(raw, b"\x0a\x04none", timeout=20), 404)
    big = rpc.varint_field(1, "x") + b"\x12" + b"\x80\x80\x80\x02" + b"y" * (4 << 20)
    expect(call(raw, big, timeout=20), 413)
    missing = doors.chan["admin"].unary_unary("/%sInstance/Nothing" % rpc.API)
    expect(call(missing, b"", timeout=20), 501, "post")
    odd = call(raw, b"\x0a\x0ca\x1b[31m\n\"}{\x01\x7f", timeout=20)
    assert odd["objectRef"]["name"] == 'a\x1b[31m\n"}{\x01\x7f', odd

    audit_id = next(ids)
    future = raw.future(b"\x0a\x04none", metadata=(("audit-id", audit_id),))
    future.cancel()
    # It came or it did not; what came is recorded with how it ended.
    time.sleep(0.5)
    with open(LOG, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f if '"auditID":"%s"' % audit_id in line]
    assert all(e["responseStatus"]["code"] != 200 for e in lines if is_outer(e)), lines

    audit_id = next(ids)
    host, port = sys.argv[2].rsplit(":", 1)
    with socket.create_connection((host, int(port))) as s:
        with doors.tls["admin"].wrap_socket(s, server_hostname=host) as tls:
            tls.sendall(
                b"POST %s/instances HTTP/1.1\r\nHost: x\r\nAudit-Id: %s\r\nContent-Length: 2\r\n\r\n{}"
                % (mgmt.BASE.encode(), audit_id.encode())
            )
            tls.recv(1)  # and nobody reads the rest of the answer
    assert logged(audit_id)[0]["responseStatus"]["code"] == 400


if __name__ == "__main__":
    globals()[sys.argv[1]]()
