# SPDX-License-Identifier: Apache-2.0
"""Checks the documents that the Debian packages have installed: a manual page of each verb of graphctl,
the tutorial, whose first program is run and whose links are followed, and the examples."""
import glob
import gzip
import json
import os
import re
import subprocess
import tempfile

MANUALS = "/usr/share/man/man1"
DOCUMENTS = "/usr/share/doc/python3-graphd"


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def check_manuals():
    usage = subprocess.run(["graphctl", "--help"], check=True, capture_output=True, text=True).stdout
    verbs = re.findall(r"^  ([a-z_]+) ", usage.split("Subcommands:")[1], re.MULTILINE)
    assert len(verbs) > 15, usage
    for verb in verbs:
        with gzip.open(f"{MANUALS}/graphctl-{verb}.1.gz", "rt") as page:
            assert re.search(rf"^\.Nm graphctl-{verb}\b", page.read(), re.MULTILINE), verb


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
    check_links()
    run_tutorial()
    check_examples()


if __name__ == "__main__":
    main()
