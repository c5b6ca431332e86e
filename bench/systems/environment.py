# SPDX-License-Identifier: Apache-2.0
"""Makes the Python environment of the systems that graphd is compared with, from PyPI alone."""

import functools
import json
import os
import subprocess
import sys
import time

from harness import progress

# Without these, nothing can be compared.
REQUIRED = ("torch==2.2.1", "dgl==2.1.0", "torchdata==0.7.1", "numpy<2", "pandas", "pyyaml", "pydantic",
            "psutil", "torch_geometric==2.8.1", "wheel", "setuptools<70")  # fmt: skip
# Packages that a system can be measured without, or that have no build for this PyTorch. Those that
# are compiled take some minutes each.
OPTIONAL = ("torch-scatter==2.1.2", "torch-sparse==0.6.18", "pyg-lib", "graphlearn-torch==0.2.4")
OPTIONAL_MINUTES = 40

say = functools.partial(progress.say, "bench/compare")


def pip(folder, arguments, minutes=None):
    """Runs pip at low priority; returns its error, or None."""
    try:
        done = subprocess.run(
            ["nice", "-n", "10", os.path.join(folder, "bin", "python3"), "-m", "pip", "install",
             "--quiet", "--disable-pip-version-check", *arguments],
            capture_output=True, text=True, check=False, timeout=minutes and 60 * minutes,
            env=dict(os.environ, FORCE_ONLY_CPU="1", MAX_JOBS="1"))  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not installed after {minutes} minutes"
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.split("\n") if line.startswith("ERROR:")]
    return " ".join(errors or [done.stderr])[-300:].strip()


def create(folder):
    """Creates the environment, unless it is complete; returns {package: "installed" or the error}."""
    made = os.path.join(folder, "packages.json")
    if os.path.exists(made):
        with open(made, encoding="utf-8") as file:
            return json.load(file)
    if not os.path.exists(os.path.join(folder, "bin", "python3")):
        subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
    found = {}
    say("installing PyTorch, DGL and PyG: some 5 GB")
    error = pip(folder, REQUIRED)
    if error:
        sys.exit(f"bench/compare: PyPI's packages can't be installed: {error}")
    for package in OPTIONAL:
        begin = time.monotonic()
        say(f"installing {package}, which may be compiled")
        found[package] = (
            pip(folder, ["--no-deps", "--no-build-isolation", package], OPTIONAL_MINUTES)
            or f"installed in {time.monotonic() - begin:.0f} s"
        )
        say(f"{package}: {found[package]}")
    with open(made, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
    return found


def versions(folder):
    """Returns {package: version} of the packages that matter."""
    names = {
        each.split("=")[0].split("<")[0].lower().replace("_", "-") for each in REQUIRED + OPTIONAL
    }
    listed = subprocess.run(
        [os.path.join(folder, "bin", "python3"), "-m", "pip", "list", "--format=json",
         "--disable-pip-version-check"], capture_output=True, text=True, check=True)  # fmt: skip
    return {
        each["name"]: each["version"]
        for each in json.loads(listed.stdout)
        if each["name"].lower().replace("_", "-") in names - {"wheel", "setuptools", "psutil"}
    }
