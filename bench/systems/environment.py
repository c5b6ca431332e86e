# SPDX-License-Identifier: Apache-2.0
"""Makes the Python environments of the systems that graphd is compared with, from PyPI alone."""

import dataclasses
import functools
import json
import os
import subprocess
import sys
import time

from harness import progress
from harness.paths import WORK


@dataclasses.dataclass(frozen=True)
class Environment:
    """An environment below build/bench/environments.

    Without the `required` packages, nothing can be measured in it. The `optional` packages may be
    missing, because systems can be measured without them, or because there is no build of them for this
    PyTorch. Packages that are compiled take some minutes each.
    """

    name: str
    required: tuple
    optional: tuple

    @property
    def folder(self):
        return os.path.join(WORK, "environments", self.name)

    @property
    def python(self):
        return os.path.join(self.folder, "bin", "python3")


PEERS = Environment(
    "peers",
    ("torch==2.2.1", "dgl==2.1.0", "torchdata==0.7.1", "numpy<2", "pandas", "pyyaml", "pydantic",
     "psutil", "torch_geometric==2.8.1", "wheel", "setuptools<70"),
    ("torch-scatter==2.1.2", "torch-sparse==0.6.18", "pyg-lib"))  # fmt: skip
# The wheel of graphlearn-torch needs symbols of a later PyTorch than DGL 2.1 can be imported with.
GRAPHLEARN = Environment(
    "graphlearn", ("torch==2.4.1", "torch_geometric==2.8.1", "numpy<2"), ("graphlearn-torch==0.2.4",)
)
OPTIONAL_MINUTES = 40
NOT_SHOWN = {"wheel", "setuptools", "psutil"}

say = functools.partial(progress.say, "bench/compare")


def pip(environment, arguments, minutes=None):
    """Runs pip at low priority; returns its error, or None."""
    try:
        done = subprocess.run(
            ["nice", "-n", "10", environment.python, "-m", "pip", "install",
             "--quiet", "--disable-pip-version-check", *arguments],
            capture_output=True, text=True, check=False, timeout=minutes and 60 * minutes,
            env=dict(os.environ, FORCE_ONLY_CPU="1", MAX_JOBS="1"))  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not installed after {minutes} minutes"
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.split("\n") if line.startswith("ERROR:")]
    return " ".join(errors or [done.stderr])[-300:].strip()


def create(environment):
    """Creates an environment, unless it is complete; returns {package: "installed" or the error}. Exits
    if a package that is required can't be installed."""
    made = os.path.join(environment.folder, "packages.json")
    if os.path.exists(made):
        with open(made, encoding="utf-8") as file:
            return json.load(file)
    if not os.path.exists(environment.python):
        subprocess.run(["/usr/bin/python3", "-m", "venv", environment.folder], check=True)
    found = {}
    say(f"installing {', '.join(environment.required[:2])} and others: some 5 GB")
    error = pip(environment, environment.required)
    if error:
        sys.exit(f"bench/compare: PyPI's packages can't be installed: {error}")
    for package in environment.optional:
        begin = time.monotonic()
        say(f"installing {package}, which may be compiled")
        found[package] = (
            pip(environment, ["--no-deps", "--no-build-isolation", package], OPTIONAL_MINUTES)
            or f"installed in {time.monotonic() - begin:.0f} s"
        )
        say(f"{package}: {found[package]}")
    with open(made, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
    return found


def versions(environment):
    """Returns {package: version} of the packages that matter."""
    names = {
        each.split("=")[0].split("<")[0].lower().replace("_", "-")
        for each in environment.required + environment.optional
    }
    listed = subprocess.run(
        [environment.python, "-m", "pip", "list", "--format=json",
         "--disable-pip-version-check"], capture_output=True, text=True, check=True)  # fmt: skip
    return {
        each["name"]: each["version"]
        for each in json.loads(listed.stdout)
        if each["name"].lower().replace("_", "-") in names - NOT_SHOWN
    }


def versions_of_all(environments):
    """Returns the versions of the first environment, and those of others that it does not have."""
    found = versions(environments[0])
    for environment in environments[1:]:
        others = versions(environment)
        for package in environment.optional:
            name = package.split("=")[0]
            if name in others:
                found[name] = f"{others[name]} with torch {others['torch']}"
    return found
