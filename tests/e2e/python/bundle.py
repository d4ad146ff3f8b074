# SPDX-License-Identifier: Apache-2.0
"""Makes of an image and a Pod what a container runtime makes of them: bundle.py IMAGE FOLDER POD [VOLUME=PATH…] [NAME=VALUE…] [-- ARG…]

IMAGE is an oci-archive, POD a file with a Pod or a Pod template (JSON), FOLDER then holds a bundle for runc, with the
Pod's first container: its command, arguments, environment, volumes, user and security context, as a kubelet
understands them. Arguments behind "--" take the place of the container's. Each volume is a folder or file of this
machine; hosts and resolv.conf are these files in /etc, serviceaccount is what pods are given.
NAMEs in capitals are variables that a kubelet adds. The container has the network of this machine.
"""
import json
import os
import platform
import sys
import tarfile

# The profile of Debian's container tools: like those of containerd and CRI-O, what RuntimeDefault means.
PROFILE = "/usr/share/containers/seccomp.json"
HIDDEN = ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
          "/proc/sched_debug", "/proc/scsi", "/sys/firmware"]
FIXED = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
ACCOUNT = {"name": "serviceaccount", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}
SYSTEM = [
    ("/proc", "proc", "proc", ["nosuid", "noexec", "nodev"]),
    ("/dev", "tmpfs", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
    ("/dev/shm", "tmpfs", "shm", ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]),
    ("/sys", "none", "/sys", ["rbind", "nosuid", "noexec", "nodev", "ro"]),
    ("/etc/hosts", "none", "/etc/hosts", ["bind", "ro"]),
    ("/etc/resolv.conf", "none", "/etc/resolv.conf", ["bind", "ro"]),
]


def blob(tar, digest):
    return tar.extractfile("blobs/" + digest.replace(":", "/"))


def unpack(image, rootfs):
    """Its configuration; the files are unpacked once."""
    with tarfile.open(image) as tar:
        index = json.load(tar.extractfile("index.json"))
        manifest = json.load(blob(tar, index["manifests"][0]["digest"]))
        if not os.path.isdir(rootfs):
            for layer in manifest["layers"]:
                with tarfile.open(fileobj=blob(tar, layer["digest"])) as files:
                    files.extractall(rootfs, numeric_owner=True)
        return json.load(blob(tar, manifest["config"]["digest"]))["config"]


def merged(pod, container):
    """The security context: the container's before the Pod's."""
    return {**pod.get("securityContext", {}), **container.get("securityContext", {})}


def counts(entry):
    """Whether a rule of the profile holds for a process without capabilities on this machine."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    wanted, spared = entry.get("includes") or {}, entry.get("excludes") or {}
    return not (wanted.get("caps") or machine in spared.get("arches", []) or
                machine not in (wanted.get("arches") or [machine]))


def filter_of(context):
    if context.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        return None
    with open(PROFILE, encoding="utf-8") as f:
        profile = json.load(f)
    keep = ("names", "action", "args", "errnoRet")
    rules = [{k: e[k] for k in keep if e.get(k)} for e in profile["syscalls"] if counts(e)]
    return {"defaultAction": profile["defaultAction"], "defaultErrnoRet": profile.get("defaultErrnoRet", 1),
            "syscalls": rules}


def user_of(image, context):
    uid, _, gid = image["User"].partition(":")
    uid, gid = context.get("runAsUser", int(uid)), context.get("runAsGroup", int(gid))
    if context.get("runAsNonRoot") and uid == 0:
        sys.exit("bundle: the container would run as root")
    more = [context["fsGroup"]] if "fsGroup" in context else []
    return {"uid": uid, "gid": gid, "additionalGids": more}


def env_of(image, pod, container, kubelet):
    known = {"metadata." + k: v for k, v in pod.get("metadata", {}).items() if isinstance(v, str)}
    known["status.podIP"] = "127.0.0.1"
    env = {**dict(e.split("=", 1) for e in image["Env"]), **kubelet}
    for e in container.get("env", []):
        env[e["name"]] = e["value"] if "value" in e else known[e["valueFrom"]["fieldRef"]["fieldPath"]]
    return env


def expanded(words, env):
    for name, value in env.items():
        words = [w.replace("$(%s)" % name, value) for w in words]
    return words


def mounts_of(container, volumes):
    mounts = [{"destination": to, "type": kind, "source": volumes.get(os.path.basename(to), source),
               "options": options} for to, kind, source, options in SYSTEM]
    own = [m for m in container.get("volumeMounts", []) if m["mountPath"] != ACCOUNT["mountPath"]]
    for m in own + ([ACCOUNT] if ACCOUNT["name"] in volumes else []):
        source = os.path.join(volumes[m["name"]], m.get("subPath", "")).rstrip("/")
        mounts.append({"destination": m["mountPath"], "type": "none", "source": source,
                       "options": ["rbind", "ro" if m.get("readOnly") else "rw"]})
    return mounts


def capabilities(context):
    if context.get("capabilities", {}).get("drop") != ["ALL"]:
        sys.exit("bundle: containers here keep no capability")
    return {kind: [] for kind in ("bounding", "effective", "permitted", "inheritable", "ambient")}


def hosts_of(pod):
    return "127.0.0.1 localhost\n" + "".join("%s %s\n" % (a["ip"], " ".join(a["hostnames"]))
                                             for a in pod["spec"].get("hostAliases", []))


def config_of(image, pod, given, args):
    volumes = {name: os.path.abspath(value) for name, value in given.items() if not name.isupper()}
    kubelet = {name: value for name, value in given.items() if name.isupper()}
    container = pod["spec"]["containers"][0]
    context, env = merged(pod["spec"], container), env_of(image, pod, container, kubelet)
    own = container.get("command") or image["Entrypoint"]
    if args is None:
        args = container.get("args", [] if container.get("command") else image["Cmd"])
    linux = {"namespaces": [{"type": t} for t in ("pid", "ipc", "uts", "mount")], "maskedPaths": HIDDEN,
             "readonlyPaths": FIXED, "resources": {"devices": [{"allow": False, "access": "rwm"}]}}
    if filter_of(context):
        linux["seccomp"] = filter_of(context)
    return {
        "ociVersion": "1.0.2",
        "process": {"args": expanded(own + args, env), "env": ["%s=%s" % e for e in env.items()],
                    "cwd": container.get("workingDir", image["WorkingDir"]), "user": user_of(image, context),
                    "noNewPrivileges": context.get("allowPrivilegeEscalation") is False,
                    "capabilities": capabilities(context)},
        "root": {"path": "rootfs", "readonly": context.get("readOnlyRootFilesystem", False)},
        "hostname": pod.get("metadata", {}).get("name", "pod"),
        "mounts": mounts_of(container, volumes),
        "linux": linux,
    }


def main(words):
    args = None
    if "--" in words:
        words, args = words[: words.index("--")], words[words.index("--") + 1 :]
    image, folder, pod = words[:3]
    os.makedirs(folder, exist_ok=True)
    with open(pod, encoding="utf-8") as f:
        pod = json.load(f)
    hosts = os.path.join(folder, "hosts")
    with open(hosts, "w", encoding="utf-8") as f:
        f.write(hosts_of(pod))
    given = {"hosts": hosts, **dict(w.split("=", 1) for w in words[3:])}
    config = config_of(unpack(image, os.path.join(folder, "rootfs")), pod, given, args)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f, indent=1)


main(sys.argv[1:])
