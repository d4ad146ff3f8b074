# SPDX-License-Identifier: Apache-2.0
"""Every GET of the management API against its OpenAPI document, version 3.1: argv[1] is host:port.

Parameters of paths are found in the lists of the same API, so that objects are shown which are
there.  Certificates are in the current folder: certificate-authority, admin.crt, client-key.
"""

import http.client
import itertools
import json
import re
import ssl
import sys

import jsonschema

DOCUMENT = "/apis/kairship.io/openapi3.json"
BASE = "/apis/kairship.io/v1alpha1"
INSTANCE = BASE + "/instances/{instance}"
FIXED = {"instance": "demo", "group": "example.com", "version": "v1"}
CLUSTERS = ("m1", "m3")
FIXED_AT = {BASE + "/instances/{name}": "demo"}
# Where the names of a parameter are listed, if not at the path in front of it.
LISTED = {"cronjob": INSTANCE + "/namespaces/{namespace}/cronjobs"}
KINDS = {True: "widgets", False: "gadgets"}  # of the test's own; in a namespace, and not
# What answers UNIMPLEMENTED (docs/not-served.md).
UNSERVED = ("CloudShell", "Image", "Insight", "Workspace_ListNamespaceInstances")
EMPTY = {  # lists that nothing fills here: simulated members report no events, the CronJob is paused
    INSTANCE + "/events",
    INSTANCE + "/namespaces/{namespace}/events",
    INSTANCE + "/clusters/{cluster}/namespaces/{namespace}/cronjobs/{cronjob}/jobs",
}


class Api:
    def __init__(self, address):
        context = ssl.create_default_context(cafile="certificate-authority")
        context.load_cert_chain("admin.crt", "client-key")
        self.connection = http.client.HTTPSConnection(address, context=context, timeout=20)

    def get(self, path):
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        body = answer.read()
        return answer.status, json.loads(body)


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        value = list(value.values())
    for part in value if isinstance(value, list) else []:
        yield from references(part)


def check_structure(document):
    """What OpenAPI demands beside the schema of its own: redocly and swagger-parser ask for it."""
    tags = {t["name"] for t in document["tags"]}
    ids = set()
    for ref in set(references(document)):
        part = document
        for key in ref[2:].split("/"):
            part = part[key]
    for path, verbs in document["paths"].items():
        for operation in verbs.values():
            named = [p["name"] for p in operation["parameters"] if p["in"] == "path"]
            assert sorted(named) == sorted(re.findall(r"{(\w+)}", path)), path
            assert operation["summary"] and set(operation["tags"]) <= tags, path
            assert operation["operationId"] not in ids, path
            ids.add(operation["operationId"])
    for needed in document["security"]:
        assert set(needed) <= set(document["components"]["securitySchemes"]), needed


class Walk:
    def __init__(self, api):
        self.api = api
        code, self.document = api.get(DOCUMENT)
        assert code == 200 and self.document["openapi"].startswith("3.1."), code
        check_structure(self.document)
        self.close_schemas()
        self.resolver = jsonschema.RefResolver.from_schema(self.document)
        _, listed = api.get(BASE + "/instances/demo/namespaces?pageSize=100")
        self.namespaces = [n["metadata"]["name"] for n in listed["items"]]
        self.lists = {}
        self.wrong = []

    def close_schemas(self):
        """What the document does not name is not answered either."""
        for schema in self.document["components"]["schemas"].values():
            if "properties" in schema:
                schema.setdefault("additionalProperties", False)

    def check(self, path, code, body):
        operation = self.document["paths"][path]["get"]
        responses = operation["responses"]
        response = responses.get(str(code), responses["default"])
        if "$ref" in response:
            response = self.resolver.resolve(response["$ref"])[1]
        schema = response["content"]["application/json"]["schema"]
        validator = jsonschema.Draft202012Validator(schema, resolver=self.resolver)
        errors = ["%s: %s" % (list(e.absolute_path), e.message[:300]) for e in validator.iter_errors(body)]
        wanted = 501 if operation["operationId"].startswith(UNSERVED) else 200
        if code != wanted:
            errors.append("%d, not %d: %s" % (code, wanted, body))
        self.wrong += [(path, e) for e in errors[:5]]

    def names(self, collection, values):
        """The names that a list of the API has."""
        path = collection.format(**values)
        if path not in self.lists:
            code, body = self.api.get(path)
            self.lists[path] = body.get("items", []) if code == 200 else []
        return [(item.get("metadata") or item)["name"] for item in self.lists[path]]

    def values(self, path):
        """Values for the parameters of the path, such that the last one names something."""
        given = re.findall(r"{(\w+)}", path)
        namespaces = self.namespaces if "namespace" in given else [""]
        clusters = CLUSTERS if "cluster" in given else [""]
        for namespace, cluster in itertools.product(namespaces, clusters):
            values = dict(FIXED, namespace=namespace, cluster=cluster, resource=KINDS["namespace" in given])
            for name in given:
                if name in values:
                    continue
                names = self.names(LISTED.get(name, path[: path.index("/{%s}" % name)]), values)
                values[name] = FIXED_AT.get(path, names[0] if names else "none")
            yield values

    def walk(self, path):
        """The longest answer, of any namespace and cluster."""
        best = None
        for values in self.values(path):
            code, body = self.api.get(path.format(**values))
            shown = len(body.get("items") or []) if code == 200 else -1
            if best is None or (code == 200, shown) > (best[0] == 200, best[2]):
                best = (code, body, shown)
        self.check(path, best[0], best[1])
        return best

    def run(self):
        objects = unserved = 0
        for path, verbs in self.document["paths"].items():
            if "get" not in verbs:
                continue
            code, body, shown = self.walk(path)
            if code == 501:
                unserved += 1
            elif "items" in body and not shown and path not in EMPTY:
                self.wrong.append((path, "nothing is listed"))
            else:
                objects += 1
        print("%d answers are as the document says, %d not served" % (objects, unserved))
        for path, error in self.wrong:
            print(path, error)
        sys.exit(1 if self.wrong else 0)


Walk(Api(sys.argv[1])).run()
