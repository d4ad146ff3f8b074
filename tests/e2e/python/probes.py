# SPDX-License-Identifier: Apache-2.0
"""What a kubelet would ask a Pod's containers: probes.py POD.json prints "PROBE SCHEME PORT PATH", a line each."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    pod = json.load(f)
for container in pod["spec"]["containers"]:
    ports = {p["name"]: p["containerPort"] for p in container.get("ports", [])}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        get = container.get(probe, {}).get("httpGet")
        if get:
            print(probe, get.get("scheme", "HTTP").lower(), ports.get(get["port"], get["port"]), get["path"])
