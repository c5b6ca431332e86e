#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manifests of packaging/kubernetes fit the schema of the oldest and of the newest Kubernetes that
they are for, and one another. image_test.py runs them."""

import copy
import json
import os
import shutil
import tempfile
import unittest

from manifests import Schema, find, render

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOLDER = os.path.join(ROOT, "packaging", "kubernetes")
VERSIONS = ("1.28.0", "1.37.0")
# These mistakes are easily made: a path in the StatefulSet, the value, and words of the error.
MISTAKES = [
    (("spec", "replica"), 2, "'replica' was unexpected"),
    (("spec", "replicas"), "2", "'2' is not of type"),
    (("spec", "template", "spec", "containers", 0, "ports", 0, "containerPort"), "graphd",
     "'graphd' is not of type"),
    (("spec", "template", "spec", "containers", 0, "readinessProbe", "http"), {},
     "'http' was unexpected"),
    (("spec", "template", "spec", "volumes", 0, "configmap"), {}, "'configmap' was unexpected"),
    (("apiVersion",), "apps/v2", "no StatefulSet in apps/v2"),
]


def put(instance, path, value):
    for key in path[:-1]:
        instance = instance[key]
    instance[path[-1]] = value


class Manifests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.folder = shutil.copytree(FOLDER, os.path.join(folder, "kubernetes"))
        with open(os.path.join(cls.folder, "server", "secret.key"), "w") as file:
            file.write("0" * 64 + "\n")
        cls.server = render(os.path.join(cls.folder, "server"))
        cls.trainer = render(os.path.join(cls.folder, "trainer"))
        cls.objects = cls.server + cls.trainer

    def pods(self):
        """Returns the templates of pods with the objects that they are in."""
        return [(each, each["spec"]["template"]["spec"]) for each in self.objects
                if "template" in each.get("spec", {})]

    def test_they_fit_the_schema(self):
        kinds = sorted(each["kind"] for each in self.objects)
        self.assertEqual(kinds, ["ConfigMap", "ConfigMap", "Job", "PersistentVolumeClaim",
                                 "PodDisruptionBudget", "Secret", "Service", "Service",
                                 "StatefulSet"])
        for version in VERSIONS:
            schema = Schema(version)
            for each in self.objects:
                with self.subTest(version=version, kind=each["kind"]):
                    self.assertEqual(schema.errors(each), [])

    def test_mistakes_are_found(self):
        for version in VERSIONS:
            schema = Schema(version)
            for path, value, message in MISTAKES:
                with self.subTest(version=version, path=path):
                    wrong = copy.deepcopy(find(self.server, "StatefulSet", "graphd"))
                    put(wrong, path, value)
                    (error,) = schema.errors(wrong)
                    self.assertIn(message, error)

    def test_a_secret_must_be_made_first(self):
        os.rename(os.path.join(self.folder, "server", "secret.key"),
                  os.path.join(self.folder, "kept"))
        self.addCleanup(os.rename, os.path.join(self.folder, "kept"),
                        os.path.join(self.folder, "server", "secret.key"))
        self.assertRaises(FileNotFoundError, render, os.path.join(self.folder, "server"))

    def test_names_refer_to_what_exists(self):
        for owner, pod in self.pods():
            with self.subTest(kind=owner["kind"]):
                labels = owner["spec"]["template"]["metadata"]["labels"]
                if owner["kind"] == "StatefulSet":
                    selector = owner["spec"]["selector"]["matchLabels"]
                    self.assertLessEqual(selector.items(), labels.items())
                    budget = find(self.server, "PodDisruptionBudget", "graphd")["spec"]
                    self.assertEqual(budget["selector"]["matchLabels"], selector)
                subdomain = owner["spec"].get("serviceName") or pod["subdomain"]
                service = find(self.objects, "Service", subdomain)["spec"]
                self.assertLessEqual(service["selector"].items(), labels.items())
                (container,) = pod["containers"]
                claims = {each["metadata"]["name"]
                          for each in owner["spec"].get("volumeClaimTemplates", [])}
                self.assertEqual({each["name"] for each in container["volumeMounts"]},
                                 {each["name"] for each in pod["volumes"]} | claims)
                ports = {each["name"] for each in container.get("ports", [])}
                for probe in ("readinessProbe", "livenessProbe"):
                    if probe in container:
                        self.assertIn(container[probe]["httpGet"]["port"], ports)
                for volume in pod["volumes"]:
                    if "configMap" in volume:
                        find(self.objects, "ConfigMap", volume["configMap"]["name"])
                    if "secret" in volume:
                        find(self.objects, "Secret", volume["secret"]["secretName"])
                        self.assertEqual(volume["secret"]["defaultMode"], 0o440)
                    if "persistentVolumeClaim" in volume:
                        find(self.objects, "PersistentVolumeClaim",
                             volume["persistentVolumeClaim"]["claimName"])

    def test_pods_are_restricted(self):
        """The standard "restricted" of Kubernetes, and a root file system that nobody writes."""
        for owner, pod in self.pods():
            with self.subTest(kind=owner["kind"]):
                self.assertTrue(pod["securityContext"]["runAsNonRoot"])
                self.assertEqual(pod["securityContext"]["seccompProfile"],
                                 {"type": "RuntimeDefault"})
                self.assertFalse(pod["automountServiceAccountToken"])
                # Variables such as GRAPHD_PORT would come from the Service.
                self.assertFalse(pod["enableServiceLinks"])
                for container in pod["containers"]:
                    context = container["securityContext"]
                    self.assertFalse(context["allowPrivilegeEscalation"])
                    self.assertTrue(context["readOnlyRootFilesystem"])
                    self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
                    self.assertEqual(container["resources"]["requests"]["memory"],
                                     container["resources"]["limits"]["memory"])

    def test_numbers_of_one_thing_are_equal(self):
        server = find(self.server, "StatefulSet", "graphd")["spec"]
        config = find(self.server, "ConfigMap", "graphd")["data"]
        lines = [each.split()[0] for each in config["ip_config.txt"].splitlines()
                 if not each.startswith("#")]
        self.assertEqual(lines, [f"graphd-{i}.graphd" for i in range(server["replicas"])])
        pod = server["template"]["spec"]
        drain = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
        (wait,) = [int(each.partition("=")[2]) for each in drain if each.startswith("--wait=")]
        self.assertGreaterEqual(pod["terminationGracePeriodSeconds"], wait + 60)
        self.assertIn("--server_name=graphd", drain)
        self.assertIn('server_name = "graphd"\n', config["graphd.conf"])
        job = find(self.trainer, "Job", "train")["spec"]
        environment = {each["name"]: each.get("value")
                       for each in job["template"]["spec"]["containers"][0]["env"]}
        trainers = str(job["completions"])
        self.assertEqual([str(job["parallelism"]), environment["WORLD_SIZE"],
                          environment["GRAPHD_REMOTE_TRAINERS"]], [trainers] * 3)
        with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
            version = file.read().partition("project(graphd VERSION ")[2].split()[0]
        for owner, pod in self.pods():
            self.assertEqual(pod["containers"][0]["image"], f"localhost/graphd:{version}",
                             owner["kind"])
        json.dumps(self.objects)  # no value that YAML has and JSON does not, such as a date


if __name__ == "__main__":
    unittest.main()
