# SPDX-License-Identifier: Apache-2.0
"""Reads the manifests of packaging/kubernetes as `kubectl kustomize` renders them, and checks them
against the schema of the Kubernetes API, which the package kubernetes-validate has as files."""

import base64
import importlib.util
import json
import os
import pathlib

import jsonschema
import yaml

KNOWN = {"apiVersion", "kind", "resources", "configMapGenerator", "secretGenerator",
         "generatorOptions", "images"}


def read_objects(path):
    with open(path) as file:
        return [each for each in yaml.safe_load_all(file) if each is not None]


def generated(folder, kind, generator, convert):
    """Returns the ConfigMap or Secret that a generator makes of files."""
    if set(generator) != {"name", "files"}:
        raise ValueError(f"this knows name and files of a generator, not {sorted(generator)}")
    data = {name: convert(pathlib.Path(folder, name).read_bytes()) for name in generator["files"]}
    made = {"apiVersion": "v1", "kind": kind, "metadata": {"name": generator["name"]},
            "data": data}
    return made | ({"type": "Opaque"} if kind == "Secret" else {})


def render(folder):
    """Returns the objects of a kustomization, as far as ours use its language."""
    (kustomization,) = read_objects(os.path.join(folder, "kustomization.yaml"))
    if unknown := set(kustomization) - KNOWN:
        raise ValueError(f"{folder}: this does not know {sorted(unknown)} of kustomizations")
    if kustomization["generatorOptions"] != {"disableNameSuffixHash": True}:
        raise ValueError(f"{folder}: this knows generators without a hash only")
    objects = [each for name in kustomization["resources"]
               for each in read_objects(os.path.join(folder, name))]
    for generator in kustomization.get("configMapGenerator", []):
        objects.append(generated(folder, "ConfigMap", generator, bytes.decode))
    for generator in kustomization.get("secretGenerator", []):
        objects.append(generated(folder, "Secret", generator,
                                 lambda data: base64.b64encode(data).decode()))
    images = {each["name"]: f"{each['newName']}:{each['newTag']}"
              for each in kustomization["images"]}
    for each in objects:
        template = each.get("spec", {}).get("template", {"spec": {"containers": []}})
        for container in template["spec"]["containers"]:
            container["image"] = images[container["image"]]
    return objects


def find(objects, kind, name):
    """Returns the object of this kind and name."""
    (found,) = [each for each in objects
                if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


class Definitions(jsonschema.RefResolver):
    """The definitions to which the files of a version refer, by the last part of a reference. The
    resolver of jsonschema searches all of them for each reference, which takes seconds."""

    def __init__(self, definitions):
        super().__init__("", {})
        self.definitions = definitions

    def resolve(self, ref):
        return ref, self.definitions[ref.rpartition("#/$defs/")[2]]


class Schema:
    """The schema of one version of the API, in which unknown fields are errors."""

    def __init__(self, version):
        package = importlib.util.find_spec("kubernetes_validate")
        if package is None:
            raise FileNotFoundError("the package kubernetes-validate is missing; run scripts/setup")
        self.folder = pathlib.Path(package.submodule_search_locations[0],
                                   "kubernetes-json-schema", f"v{version}-local-strict")
        definitions = json.loads((self.folder / "_definitions.json").read_text())
        self.resolver = Definitions(definitions["$defs"])

    def errors(self, instance):
        """Returns what is wrong with an object: a path and a message each."""
        group = instance["apiVersion"].replace("/", "-").replace(".k8s.io", "")
        path = self.folder / f"{instance['kind'].lower()}-{group}.json"
        if not path.exists():
            return [f"there is no {instance['kind']} in {instance['apiVersion']}"]
        validator = jsonschema.Draft202012Validator(json.loads(path.read_text()),
                                                    resolver=self.resolver)
        return [f"{'/'.join(map(str, each.absolute_path))}: {each.message}"
                for each in validator.iter_errors(instance)]
