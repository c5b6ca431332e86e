# SPDX-License-Identifier: Apache-2.0
"""Runs pods of manifests under podman, as a node of Kubernetes would: with their commands, variables,
volumes, users and probes. It has no cluster's DNS (/etc/hosts has the pods' names), and no limits of
processors and memory. Needs root, and a mount and a PID namespace of its own, whose end leaves nothing:
`unshare --mount --pid --fork --kill-child --mount-proc`."""

import base64
import ctypes
import json
import os
import re
import resource
import subprocess
import time
import urllib.error
import urllib.request

NODE = "10.98.0.254"
CLONE_NEWNET = 0x40000000  # The value in sched.h. Python 3.11 has no os.unshare.


def run(*words, **options):
    """Runs a command; an error shows what it has printed."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=options.pop("timeout", 120),
                          **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: exit code {done.returncode}\n"
                           f"{done.stdout}{done.stderr}")
    return done.stdout


class Node:
    """The machine on which pods run: a bridge, and podman with a storage of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.hosts = {}  # names of pods to addresses, as the cluster's DNS would know them
        run("mount", "--make-rprivate", "/")
        for path in ("/run", folder):
            run("mount", "-t", "tmpfs", "-o", "mode=755,size=4G", "graphd-image", path)
        # Some machines have both versions of cgroups at a time, which crun does not know.
        if not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            run("mount", "-t", "cgroup2", "none", "/sys/fs/cgroup")

    def make_network(self):
        """Leaves the network of this machine for one of the node's own, with a bridge for pods."""
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "can't make a network namespace; run this as root")
        for words in (("link", "set", "lo", "up"), ("link", "add", "pods", "type", "bridge"),
                      ("address", "add", f"{NODE}/24", "dev", "pods"),
                      ("link", "set", "pods", "up")):
            run("ip", *words)

    def close(self):
        self.podman("rm", "--force", "--all", "--time", "0")

    def podman(self, *words, **options):
        return run(*self.podman_line(*words), **options)

    def podman_line(self, *words):
        return ("podman", "--root", os.path.join(self.folder, "storage"), "--runroot",
                "/run/containers", "--storage-driver", "overlay", *words)

    def container_line(self):
        """Returns options of each container: what this machine does not let podman change."""
        limits = [f"--ulimit={name}={':'.join(map(str, resource.getrlimit(number)))}"
                  for name, number in (("nofile", resource.RLIMIT_NOFILE),
                                       ("nproc", resource.RLIMIT_NPROC))]
        return ["--cgroups=disabled", *limits]


class Pod:
    """A pod of a template. `claims` are the folders of its PersistentVolumeClaims."""

    def __init__(self, node, name, address, owner, objects, claims, labels=(), annotations=()):
        self.node, self.name, self.address, self.objects = node, name, address, objects
        template = owner["spec"]["template"]
        self.spec = template["spec"]
        (self.container,) = self.spec["containers"]
        self.fields = {"metadata.name": name, "status.podIP": address}
        for kind, values in (("labels", labels), ("annotations", annotations)):
            self.fields |= {f"metadata.{kind}['{key}']": value for key, value in dict(values).items()}
        subdomain = owner["spec"].get("serviceName") or self.spec["subdomain"]
        node.hosts[f"{name}.{subdomain}"] = address
        self.folder = os.path.join(node.folder, "pods", name)
        os.makedirs(self.folder)
        self.volumes = {each["name"]: self.make_volume(each, claims)
                        for each in self.spec["volumes"]}
        for each in owner["spec"].get("volumeClaimTemplates", []):
            self.volumes[each["metadata"]["name"]] = self.make_folder(each["metadata"]["name"])
        self.join_network()

    def join_network(self):
        outer = f"pod{self.address.rpartition('.')[2]}"
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "link", "set", outer, "master", "pods", "up")
        for words in (("link", "set", "lo", "up"), ("link", "set", "eth0", "up"),
                      ("address", "add", f"{self.address}/24", "dev", "eth0")):
            run("ip", "-n", self.name, *words)

    @property
    def group(self):
        return self.spec["securityContext"]["fsGroup"]

    def make_folder(self, name):
        """Makes a folder of a volume as kubelet does: the group of files may write."""
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        self.give_to_group(path, 0o2777)
        return path

    def give_to_group(self, path, mode):
        os.chown(path, 0, self.group)
        os.chmod(path, mode)

    def make_volume(self, volume, claims):
        """Returns the folder and the mode of mounts of a volume."""
        if "persistentVolumeClaim" in volume:
            return claims[volume["persistentVolumeClaim"]["claimName"]]
        path = self.make_folder(volume["name"])
        if "emptyDir" in volume:
            if volume["emptyDir"].get("medium") == "Memory":
                size = volume["emptyDir"]["sizeLimit"].removesuffix("i")
                self.mount_memory(path, size)
            return path
        if "secret" in volume:
            secret = self.find("Secret", volume["secret"]["secretName"])
            files = {name: base64.b64decode(text) for name, text in secret.items()}
            self.mount_memory(path, "1M")
            self.write_files(path, files, volume["secret"]["defaultMode"])
        else:
            config = self.find("ConfigMap", volume["configMap"]["name"])
            files = {name: text.encode() for name, text in config.items()}
            self.write_files(path, files, 0o644)
        return path

    def mount_memory(self, path, size):
        """Mounts a tmpfs, whose own mode is 1777."""
        run("mount", "-t", "tmpfs", "-o", f"size={size}", "volume", path)
        self.give_to_group(path, 0o3777)

    def find(self, kind, name):
        (data,) = [each["data"] for each in self.objects
                   if each["kind"] == kind and each["metadata"]["name"] == name]
        return data

    def write_files(self, path, files, mode):
        """Writes a Secret or ConfigMap as kubelet does: in a folder that a link names, so that all
        files of it can be replaced at once."""
        os.mkdir(f"{path}/..2026")
        self.give_to_group(f"{path}/..2026", 0o2755)
        os.symlink("..2026", f"{path}/..data")
        for name, data in files.items():
            with open(f"{path}/..2026/{name}", "wb") as file:
                file.write(data)
            self.give_to_group(f"{path}/..2026/{name}", mode)
            os.symlink(f"..data/{name}", f"{path}/{name}")

    def environment(self):
        known = {}
        for each in self.container.get("env", []):
            if "value" in each:
                known[each["name"]] = self.expand(each["value"], known)
            else:
                known[each["name"]] = self.fields[each["valueFrom"]["fieldRef"]["fieldPath"]]
        return known

    @staticmethod
    def expand(text, variables):
        return re.sub(r"\$\((\w+)\)", lambda found: variables[found[1]], text)

    def start(self):
        """Creates and starts the pod's container."""
        context, own = self.spec["securityContext"], self.container["securityContext"]
        variables = self.environment()
        line = [
            "run", "--detach", "--pull=never", "--name", self.name, "--hostname", self.name,
            f"--network=ns:/run/netns/{self.name}", *self.node.container_line(),
            f"--user={context['runAsUser']}:{context['runAsGroup']}", f"--group-add={self.group}",
            "--read-only-tmpfs=false", "--image-volume=ignore",
        ]
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}  # podman's default
        if own["readOnlyRootFilesystem"]:
            line.append("--read-only")
        if not own["allowPrivilegeEscalation"]:
            line.append("--security-opt=no-new-privileges")
        line += [f"--cap-drop={each}" for each in own["capabilities"]["drop"]]
        line += [f"--add-host={name}:{address}" for name, address in self.node.hosts.items()]
        line += [f"--env={name}={value}" for name, value in variables.items()]
        for mount in self.container["volumeMounts"]:
            access = "ro" if mount.get("readOnly") else "rw"
            line.append(f"--volume={self.volumes[mount['name']]}:{mount['mountPath']}:{access}")
        if "command" in self.container:
            line.append(f"--entrypoint={json.dumps(self.container['command'])}")
        arguments = [self.expand(each, variables) for each in self.container.get("args", [])]
        self.node.podman(*line, self.container["image"], *arguments)
        return self

    def execute(self, *words, **options):
        return self.node.podman("exec", self.name, *words, **options)

    def probe(self, name):
        """Returns the code and the text of a probe's answer; 0 if there is none."""
        probe = self.container[name]
        (port,) = [each["containerPort"] for each in self.container["ports"]
                   if each["name"] == probe["httpGet"]["port"]]
        try:
            with urllib.request.urlopen(f"http://{self.address}:{port}{probe['httpGet']['path']}",
                                        timeout=probe["timeoutSeconds"]) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def wait_until_ready(self, seconds):
        end = time.monotonic() + seconds
        while (answer := self.probe("readinessProbe"))[0] != 200:
            if time.monotonic() > end or not self.is_running():
                raise TimeoutError(f"{self.name} is not ready, {answer}; its log:\n{self.log()}")
            time.sleep(0.05)

    def is_running(self):
        return self.node.podman("inspect", "--format={{.State.Running}}", self.name) == "true\n"

    def wait(self, seconds):
        """Waits for the end of the container; returns its exit code."""
        return int(self.node.podman("wait", self.name, timeout=seconds))

    def log(self):
        done = subprocess.run(self.node.podman_line("logs", self.name), capture_output=True, text=True)
        return done.stdout + done.stderr

    def begin_to_stop(self):
        """Starts the command of preStop."""
        command = self.container["lifecycle"]["preStop"]["exec"]["command"]
        return subprocess.Popen(self.node.podman_line("exec", self.name, *command), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def terminate(self, seconds):
        """Sends SIGTERM; returns the exit code of the container."""
        self.node.podman("kill", "--signal=TERM", self.name)
        return self.wait(seconds)
