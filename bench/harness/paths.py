# SPDX-License-Identifier: Apache-2.0
"""The places of the repository, its builds and the results of a run."""

import os
import subprocess
import sys
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
RELEASE = os.path.join(ROOT, "build", "release")
WORK = os.path.join(ROOT, "build", "bench")


def shown(path):
    """Returns a path as messages show it: relative to the repository if it is inside."""
    path = os.path.realpath(path)
    return os.path.relpath(path, ROOT) if path.startswith(ROOT + os.sep) else path


def run_folder(wanted, kind):
    """Creates the folder of a run: the one that is wanted, or one that is named after the time."""
    folder = wanted or os.path.join(WORK, f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}")
    os.makedirs(folder, exist_ok=True)
    return folder


def build_release(*targets):
    """Builds targets of the release preset. Exits if that fails."""
    for command in (
        ["scripts/setup", "--build"],
        ["cmake", "--preset", "release"],
        ["ninja", "-C", RELEASE, *targets],
    ):
        if subprocess.run(command, cwd=ROOT, check=False, stdout=sys.stderr).returncode:
            sys.exit(
                f"{' '.join(command[:3])} failed (output above); --no_build measures what is built"
            )


def add_build(parser):
    """Adds the options that name a build."""
    parser.add_argument("--no_build", action="store_true", help="use what is built")
    parser.add_argument(
        "--build_dir",
        metavar="DIR",
        default=RELEASE,
        help="a build folder, which is not built first; default: build/release",
    )


def built(args, *targets):
    """Returns the build folder that options name; the default is built first. Exits if that fails."""
    build = os.path.realpath(args.build_dir)
    if not args.no_build and build == RELEASE:
        build_release(*targets)
    return build


def has(build, names):
    """Returns whether a build has all of some programs."""
    return all(os.access(os.path.join(build, "bin", name), os.X_OK) for name in names)


def program(build, name):
    """Returns the path of a program of a build. Exits if it is not there."""
    path = os.path.join(build, "bin", name)
    if not has(build, [name]):
        sys.exit(f"{shown(path)} is not there; build it with: ninja -C {shown(build)} {name}")
    return path
