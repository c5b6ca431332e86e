#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes libraries to link with, so that a program needs no newer version of glibc's symbols than it
should.

    glibc_stubs.py FOLDER VERSION

glibc keeps all versions of a symbol that it has ever had. So the installed glibc says what an older one
had: for each symbol, the newest version that is not newer than VERSION, if there is one. FOLDER gets a
library with these symbols, but without their code, for each library of glibc that programs link. A
linker binds to them what it would bind to the old glibc. What libpthread, libdl and librt had before
glibc 2.34 is in the stub of libc, where the installed glibc has it: the program's loader searches all of
its libraries. The empty stubs of these three make a program need them.
"""
import os
import re
import subprocess
import sys
from typing import NamedTuple

from elftools.elf.elffile import ELFFile

LIBRARIES = ("libc.so.6", "libm.so.6", "libresolv.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")
EMPTY = ("libpthread.so.0", "libdl.so.2", "librt.so.1")


class Symbol(NamedTuple):
    version: str
    type: str  # STT_FUNC, STT_OBJECT, ...
    weak: bool
    address: int
    size: int


def number(version):
    """Returns the number of GLIBC_2.3.4 as (2, 3, 4); None for other versions, as GLIBC_PRIVATE."""
    found = re.fullmatch(r"GLIBC_([0-9.]+)", version)
    return tuple(map(int, found[1].split("."))) if found else None


def symbols_of(path, newest):
    """Returns {name: Symbol} of the symbols that are not newer than `newest`."""
    with open(path, "rb") as file:
        elf = ELFFile(file)
        definitions = elf.get_section_by_name(".gnu.version_d")
        names = {each["vd_ndx"]: next(iter(aux)).name for each, aux in definitions.iter_versions()}
        versions = elf.get_section_by_name(".gnu.version")
        chosen = {}
        for index, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
            version = versions.get_symbol(index)["ndx"]
            if symbol["st_shndx"] == "SHN_UNDEF" or not isinstance(version, int):
                continue
            version = names[version & 0x7FFF]
            if not symbol.name or symbol.name == version or number(version) is None:
                continue
            if number(version) > newest:
                continue
            if symbol.name not in chosen or number(chosen[symbol.name].version) < number(version):
                info = symbol["st_info"]
                chosen[symbol.name] = Symbol(version, info["type"], info["bind"] == "STB_WEAK",
                                             symbol["st_value"], symbol["st_size"])
        return chosen


def assembly(symbols):
    """Returns the source of a library with these symbols. A program has its own copy of a variable of
    glibc, under all names that the variable has, so that names of one address have one address here."""
    lines = [".text"]
    variables = {}
    for name, symbol in sorted(symbols.items()):
        lines += [f"{'.weak' if symbol.weak else '.globl'} {name}"]
        if symbol.type == "STT_OBJECT":
            lines += [f".type {name},%object", f".size {name},{symbol.size}"]
            variables.setdefault(symbol.address, []).append(name)
        elif symbol.type != "STT_TLS":  # programs use no thread-local variable of glibc by its name
            lines += [f".type {name},%function", f"{name}:"]
    lines += [".bss"]
    for names in variables.values():
        lines += [".balign 32", *(f"{name}:" for name in names),
                  f".zero {max(symbols[name].size for name in names)}"]
    return "\n".join([*lines, '.section .note.GNU-stack,"",%progbits', ""])


def version_script(symbols):
    nodes = {}
    for name, symbol in sorted(symbols.items()):
        nodes.setdefault(symbol.version, []).append(name)
    return "".join("%s { global: %s; };\n" % (version, "; ".join(nodes[version]))
                   for version in sorted(nodes, key=number))


def write(folder, soname, symbols):
    source, script = (os.path.join(folder, soname + ending) for ending in (".s", ".map"))
    with open(source, "w") as file:
        file.write(assembly(symbols))
    command = ["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", source,
               "-o", os.path.join(folder, soname)]
    if symbols:
        with open(script, "w") as file:
            file.write(version_script(symbols))
        command.append(f"-Wl,--version-script,{script}")
    subprocess.run(command, check=True)


def main():
    folder = sys.argv[1]
    newest = tuple(map(int, (sys.argv[2]).split(".")))
    triple = subprocess.run(["gcc", "-print-multiarch"], check=True, capture_output=True,
                            text=True).stdout.strip()
    os.makedirs(folder, exist_ok=True)
    for soname in LIBRARIES:
        path = os.path.join("/lib", triple, soname)
        if os.path.exists(path):
            write(folder, soname, symbols_of(path, newest))
    for soname in EMPTY:
        write(folder, soname, {})


if __name__ == "__main__":
    main()
