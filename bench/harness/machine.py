# SPDX-License-Identifier: Apache-2.0
"""The description of the machine and of the build that a report shows."""

import glob
import mmap
import os
import platform
import re
import subprocess

from harness.paths import ROOT

MIB = 1 << 20
PROBE_BYTES = 64 * MIB


def read(path, default=""):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return default


def output(*command):
    """Returns the first line that a command prints, or an empty string if it can't be run."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip().split("\n")[0]


def caches():
    """Returns the caches of the first processor, for example "L1 Data 32K, L2 Unified 1024K"."""
    found = []
    for folder in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*")):
        level, kind, size = (read(os.path.join(folder, name)) for name in ("level", "type", "size"))
        sharing = read(os.path.join(folder, "shared_cpu_list"))
        found.append(f"L{level} {kind} {size} (processors {sharing})")
    return ", ".join(found)


def memory(field):
    """Returns a field of /proc/meminfo in bytes."""
    match = re.search(rf"^{field}:\s+(\d+)", read("/proc/meminfo"), re.MULTILINE)
    return int(match.group(1)) * 1024 if match else 0


def chosen(path):
    """Returns the setting in brackets of a file such as transparent_hugepage/enabled."""
    match = re.search(r"\[(\S+)\]", read(path))
    return match.group(1) if match else "not available"


def huge_bytes(flags, field, descriptor=-1):
    """Maps memory, asks for huge pages, writes to each page, and returns how many bytes of it the
    kernel maps by huge pages."""
    with mmap.mmap(descriptor, PROBE_BYTES, flags=flags) as memory_map:
        memory_map.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, PROBE_BYTES, mmap.PAGESIZE):
            memory_map[at] = 1
        return (
            sum(
                int(each)
                for each in re.findall(
                    rf"^{field}:\s+(\d+) kB", read("/proc/self/smaps"), re.MULTILINE
                )
            )
            * 1024
        )


def pages_obtained():
    """Returns a sentence for anonymous and for shared memory: what graphd and its trainers get."""
    said = []
    for name, flags, field in (
        ("anonymous", mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, "AnonHugePages"),
        ("shared", mmap.MAP_SHARED, "ShmemPmdMapped"),
    ):
        descriptor = -1
        try:
            if name == "shared":
                descriptor = os.memfd_create("probe")
                os.truncate(descriptor, PROBE_BYTES)
            obtained = huge_bytes(flags, field, descriptor)
            said.append(
                f"{name} memory: {min(obtained, PROBE_BYTES) // MIB} of "
                f"{PROBE_BYTES // MIB} MiB in huge pages"
            )
        except (OSError, ValueError, AttributeError) as error:
            said.append(f"{name} memory: not measured ({error})")
        finally:
            if descriptor >= 0:
                os.close(descriptor)
    return "; ".join(said)


def load():
    """Returns the load averages of 1, 5 and 15 minutes."""
    return [round(each, 2) for each in os.getloadavg()]


def commit():
    """Returns the commit of the working tree, with a note if files differ from it."""
    found = output("git", "rev-parse", "--short=12", "HEAD")
    if not found:
        return "unknown"
    return found + (" with changes" if output("git", "status", "--porcelain", "-uno") else "")


def build_settings(build):
    """Returns the compiler, the type and the flags of a build folder, from CMake's cache."""
    cache = dict(
        re.findall(
            r"^([A-Za-z_0-9]+):\w+=(.*)$", read(os.path.join(build, "CMakeCache.txt")), re.MULTILINE
        )
    )
    kind = cache.get("CMAKE_BUILD_TYPE", "unknown")
    flags = " ".join(
        cache.get(key, "") for key in ("CMAKE_CXX_FLAGS", f"CMAKE_CXX_FLAGS_{kind.upper()}")
    )
    compiler = cache.get("CMAKE_CXX_COMPILER", "")
    return {
        "type": kind,
        "flags": " ".join(flags.split()),
        "compiler": output(compiler, "--version") if compiler else "unknown",
    }


def describe(build=None):
    """Returns the description as a dict of texts and numbers; all of it can be written as JSON."""
    cpu = read("/proc/cpuinfo")
    model = re.search(r"^model name\s*:\s*(.*)$", cpu, re.MULTILINE)
    system = re.search(r'^PRETTY_NAME="?([^"\n]*)', read("/etc/os-release"), re.MULTILINE)
    pages = "/sys/kernel/mm/transparent_hugepage/"
    found = {
        "processor": model.group(1) if model else platform.processor() or platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "caches": caches() or "unknown",
        "memory_bytes": memory("MemTotal"),
        "memory_available_bytes": memory("MemAvailable"),
        "system": system.group(1) if system else platform.system(),
        "kernel": platform.release(),
        "huge_pages": f"transparent {chosen(pages + 'enabled')}, shared "
        f"{chosen(pages + 'shmem_enabled')}, pool of {memory_pool()} pages",
        "pages_obtained": pages_obtained(),
        "commit": commit(),
    }
    if build:
        found["build"] = build_settings(build)
    return found


def memory_pool():
    """Returns the number of pages in the pool of huge pages."""
    return (
        re.search(r"^HugePages_Total:\s+(\d+)", read("/proc/meminfo"), re.MULTILINE) or [0, "0"]
    )[1]


def rows(machine, before, after):
    """Returns the description as pairs of a name and a text, with the load before and after."""

    def gib(key):
        return f"{machine[key] / 2**30:.1f} GiB"

    def loads(each):
        return ", ".join(f"{number:.2f}" for number in each)

    found = [
        ("Processor", f"{machine['processor']}, {machine['processors']} processors"),
        ("Caches", machine["caches"]),
        (
            "Memory",
            f"{gib('memory_bytes')}, {gib('memory_available_bytes')} available at the start",
        ),
        ("System", f"{machine['system']}, Linux {machine['kernel']}"),
        ("Huge pages", machine["huge_pages"]),
        ("Pages obtained", machine["pages_obtained"]),
        ("Load", f"{loads(before)} before, {loads(after)} after (1, 5 and 15 minutes)"),
        ("Commit", machine["commit"]),
    ]
    if "build" in machine:
        build = machine["build"]
        found.append(("Build", f"{build['type']}, {build['flags']}, {build['compiler']}"))
    return found
