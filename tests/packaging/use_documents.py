# SPDX-License-Identifier: Apache-2.0
"""Checks the documents that the Debian packages have installed: a manual page of each verb of graphctl,
those of the library, of the files and of the daemon, completions, the changes of each package, the
tutorial, whose first program is run and whose links are followed, and the examples."""
import glob
import gzip
import json
import os
import re
import subprocess
import tempfile

MANUALS = "/usr/share/man"
DOCUMENTS = "/usr/share/doc/python3-graphd"


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def read_compressed(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read()


def manual(name, section):
    """Returns the text of a manual page."""
    return read_compressed(f"{MANUALS}/man{section}/{name}.{section}.gz")


def names_of(page):
    """Returns the names that a manual page has in its first section."""
    head = page.split(".Sh NAME\n")[1].split(".Nd ")[0]
    return re.findall(r"^\.Nm (\S+)", head, re.MULTILINE)


def check_manuals():
    usage = subprocess.run(["graphctl", "--help"], check=True, capture_output=True, text=True).stdout
    verbs = re.findall(r"^  ([a-z_]+) ", usage.split("Subcommands:")[1], re.MULTILINE)
    assert len(verbs) > 15, usage
    for verb in verbs:
        assert re.search(rf"^\.Nm graphctl-{verb}\b", manual(f"graphctl-{verb}", 1), re.MULTILINE), verb
    for name, section in [("libgraphclient", 3), ("libgraphclient-inference", 3), ("graphd-format", 5),
                          ("graphd.conf", 5), ("graphd", 8)]:
        assert name in names_of(manual(name, section)), (name, section)
    # Each page is found by each of its names, and those exist to which it refers.
    pages = 0
    for path in glob.glob(f"{MANUALS}/man[1-8]/*.gz"):
        section = path.rsplit(".", 2)[1]
        if not re.match(r"(lib)?graph(client|ctl|d)\b", os.path.basename(path)):
            continue
        pages += 1
        text = read_compressed(path)
        for name in names_of(text):
            assert manual(name, section) == text, path
        for name, other in re.findall(r"(?m)^\.(?:It )?Xr ((?:lib)?graph\S+) ([1-8])", text):
            assert manual(name, other), path
    assert pages > 25, pages


def check_completions():
    for program in ("graphd", "graphctl"):
        for_bash = f"/usr/share/bash-completion/completions/{program}"
        listed = subprocess.run(["bash", "-c", '. "$1"; complete -p', "bash", for_bash], check=True,
                                capture_output=True, text=True).stdout
        assert re.search(rf"^complete .*\b{program}$", listed, re.MULTILINE), (program, listed)
        for_zsh = read(f"/usr/share/zsh/vendor-completions/_{program}")
        assert for_zsh.startswith(f"#compdef {program}\n"), program


def check_changes():
    """Checks that each package has the changes of its version, to which Debian's changelog refers."""
    for package in ("graphctl", "graphd", "libgraphclient-dev", "libgraphclient0", "python3-graphd"):
        folder = f"/usr/share/doc/{package}"
        version, says = re.match(r"graphd \((.+?)\).*?\* ([^\n]*)",
                                 read_compressed(f"{folder}/changelog.gz"), re.DOTALL).groups()
        assert "NEWS.gz" in says, (package, says)
        changes = read_compressed(f"{folder}/NEWS.gz")
        assert changes.startswith("# Changelog\n"), package
        assert re.search(rf"^## {re.escape(version)}\b", changes, re.MULTILINE), (package, version)


def check_links():
    """Checks that the pages exist to which others refer, except those that only the site can show."""
    pages = glob.glob(f"{DOCUMENTS}/docs/**/*.md", recursive=True)
    assert f"{DOCUMENTS}/docs/python.md" in pages, pages
    for page in pages:
        for target in re.findall(r"\]\(([\w./-]+\.md|(?:\.\./)+examples/\w+\.py)\b", read(page)):
            path = os.path.normpath(os.path.join(os.path.dirname(page), target))
            if re.match(rf"{DOCUMENTS}/(docs/(?!reference/|getting-started)|examples/)", path):
                assert os.path.exists(path), f"{page}: {target}"


def run_tutorial():
    """Runs the first program of the tutorial, and what shows its result."""
    program, commands = re.search(
        r"^```python file=make_graph\.py\n(.*?)^```\n+```sh\n(.*?)^```",
        read(DOCUMENTS, "docs", "python.md"), re.MULTILINE | re.DOTALL).groups()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "make_graph.py"), "w", encoding="utf-8") as file:
            file.write(program)
        shown = subprocess.run(["sh", "-ec", commands], cwd=folder, check=True, capture_output=True,
                               text=True).stdout
    assert "8,000" in shown or "8000" in shown, shown


def check_examples():
    programs = glob.glob(f"{DOCUMENTS}/examples/*.py")
    assert len(programs) > 4, programs
    for program in programs:
        compile(read(program), program, "exec")
    notebook = json.loads(read(DOCUMENTS, "docs", "tutorial.ipynb"))
    assert any(cell["cell_type"] == "code" for cell in notebook["cells"])


def main():
    check_manuals()
    check_completions()
    check_changes()
    check_links()
    run_tutorial()
    check_examples()


if __name__ == "__main__":
    main()
