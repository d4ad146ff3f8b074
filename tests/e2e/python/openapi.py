# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document: argv[1] is it, argv[2] (if there is such a file) another that it must equal.

Equal are paths, parameters, and what goes in and out; names of definitions and texts may differ.
"""

import json
import os
import sys

DEPTH = 14

# Optional parameters, and members of bodies, that Kairship has beside those of the product.
INSTANCES = "/apis/kairship.io/v1alpha1/instances/"
ADDED = {
    (INSTANCES + "{name}", "delete"): {"release"},
    (INSTANCES + "{instance}/clusters/{name}", "delete"): {"confirm"},
    (INSTANCES + "{instance}/clusters/{name}", "put"): {"clear"},
    (INSTANCES + "{instance}/clusterpropagationpolicies/{name}", "delete"): {"confirm"},
    (INSTANCES + "{instance}/namespaces/{namespace}/propagationpolicies/{name}", "delete"): {"confirm"},
}
# And fields of answers.
ADDED_FIELDS = ("unknownNum", "unknownSince")


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def resolve(doc, schema, depth=0):
    if "$ref" in schema:
        name = schema["$ref"].split("/")[-1]
        return name if depth > DEPTH else resolve(doc, doc["definitions"][name], depth + 1)
    out = {k: schema[k] for k in ("type", "format", "enum") if k in schema}
    if "items" in schema:
        out["items"] = resolve(doc, schema["items"], depth + 1)
    if "properties" in schema:
        out["type"] = "object"
        out["properties"] = [
            (k, resolve(doc, v, depth + 1)) for k, v in schema["properties"].items()
        ]
    if "additionalProperties" in schema:
        out["values"] = resolve(doc, schema["additionalProperties"], depth + 1)
    return out


def parameters(doc, operation):
    keys = ("name", "in", "required", "type", "format", "enum", "default", "collectionFormat")
    return [
        [p.get(k) for k in keys]
        + [resolve(doc, p["items"]) if "items" in p else None]
        + [resolve(doc, p["schema"]) if "schema" in p else None]
        for p in operation.get("parameters", [])
    ]


def without(params, names):
    """The parameters without those, and without such members of a body."""
    out = []
    for p in params:
        schema = p[-1]
        if isinstance(schema, dict) and "properties" in schema:
            kept = [m for m in schema["properties"] if m[0] not in names]
            out.append([*p[:-1], dict(schema, properties=kept)])
        elif p[0] not in names or p[2]:
            out.append(p)
    return out


def shape(doc):
    return {
        (path, verb): (
            o["operationId"],
            o["tags"],
            parameters(doc, o),
            resolve(doc, o["responses"]["200"]["schema"]),
            resolve(doc, o["responses"]["default"]["schema"]),
        )
        for path, verbs in doc["paths"].items()
        for verb, o in verbs.items()
    }


def without_added(doc):
    for definition in doc["definitions"].values():
        for field in ADDED_FIELDS:
            definition.get("properties", {}).pop(field, None)
    return doc


ours = shape(without_added(load(sys.argv[1])))
assert len(ours) >= 178, len(ours)
assert ("/apis/kairship.io/v1alpha1/instances/{instance}/failover", "put") in ours
if os.path.exists(sys.argv[2]):
    theirs = shape(load(sys.argv[2]))
    for key, value in theirs.items():
        got = ours.get(key)
        if key in ADDED:
            got = (*got[:2], without(got[2], ADDED[key]), *got[3:])
        assert got == value, (key, got, value)
    print("equal in %d operations" % len(theirs))
