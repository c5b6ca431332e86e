# SPDX-License-Identifier: Apache-2.0
"""Checks that the programs and the Python module of a wheel (argument) work with glibc 2.28: that they
need no newer version of its symbols, and no other library than those that manylinux_2_28 promises; and
that it has the licences of the libraries that they contain. Needs pyelftools. Prints the newest
version of glibc that is needed."""
import io
import os
import re
import subprocess
import sys
import zipfile

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1",
             "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
LICENSED = {"libcapnp", "librocksdb", "libmetis", "prometheus-cpp", "libssl", "libssh", "libuv1",
            "libxxhash", "zlib1g", "libstdc++"}
NEWEST = {"GLIBC": (2, 28), "GCC": (8, 0, 0)}
MAGIC = b"\x7fELF"


def number(version):
    return tuple(map(int, version.split(".")))


def faults(data):
    """Returns what is wrong with an ELF file, and the newest version of glibc that it needs."""
    elf = ELFFile(io.BytesIO(data))
    wrong, newest = [], (0,)
    for section in elf.iter_sections():
        if isinstance(section, DynamicSection):
            needed = {tag.needed for tag in section.iter_tags("DT_NEEDED")}
            wrong += [f"needs {name}" for name in sorted(needed - LIBRARIES)]
    versions = elf.get_section_by_name(".gnu.version_r")
    for library, needs in versions.iter_versions():
        for need in needs:
            found = re.fullmatch(r"([A-Z]+)_([0-9.]+)", need.name)
            if not found or found[1] not in NEWEST or number(found[2]) > NEWEST[found[1]]:
                wrong.append(f"needs {need.name} of {library.name}")
            elif found[1] == "GLIBC":
                newest = max(newest, number(found[2]))
    return wrong, newest


def main():
    # Debian's own programs need newer symbols, and so this check finds them if it works.
    with open(os.path.realpath(sys.executable), "rb") as file:
        found = faults(file.read())[0]
    assert any("needs GLIBC_2.3" in fault for fault in found), (sys.executable, found)

    checked, licences, newest = [], {}, (0,)
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        for name in wheel.namelist():
            data = wheel.read(name)
            licence = re.search(r"\.dist-info/licenses/libraries/(.+)\.txt$", name)
            if licence:
                licences[licence[1]] = data
            if data.startswith(MAGIC):
                wrong, needs = faults(data)
                assert not wrong, f"{name}: {'; '.join(wrong)}"
                checked.append(os.path.basename(name).split(".")[0])
                newest = max(newest, needs)
    assert sorted(checked) == ["_graphd", "graphctl", "graphd"], checked
    assert licences.keys() >= LICENSED, licences.keys()
    for name in LICENSED:
        texts = re.findall(rb"common-licenses/((?:Apache|LGPL|GPL)-[0-9.]*\d)", licences[name])
        assert {text.decode() for text in texts} - {"GPL-1"} <= licences.keys(), (name, texts)
    assert re.search(r"-manylinux_2_28_(x86_64|aarch64)\.whl$", sys.argv[1]), sys.argv[1]
    shown = subprocess.run(["auditwheel", "show", sys.argv[1]], check=True, capture_output=True,
                           text=True).stdout
    shown = " ".join(shown.split())
    found = re.search(r'following platform tag: "manylinux_2_(\d+)_', shown)
    assert found and int(found[1]) <= 28, shown
    print("the wheel needs glibc %s" % ".".join(map(str, newest)))


if __name__ == "__main__":
    main()
