#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the folder that Sphinx reads: prepare.py FOLDER.

It holds the pages and notebooks of docs/, the pages of the repository's root, a page for each manual
(made by mandoc), for each public header, and for each file of the repository that a page links to.
Links in the repository are relative paths, so that they also work where the repository is browsed;
here they are turned into links to pages.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
IMAGES = (".svg", ".png")
MANUALS = "reference/manual"
HEADERS = "reference/cpp"
FROM_ROOT = {"README.md": "readme.md", "ARCHITECTURE.md": "architecture.md",
             "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".py": "python", ".sh": "bash", ".capnp": "capnp",
             ".cmake": "cmake", ".md": "md", ".json": "json"}
# A link of Markdown whose target is neither a URL nor an anchor of the same page.
LINK = re.compile(r"(\]\()(?!\w+:|#)([^)\s#]*)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")


def fail(message):
    sys.exit(f"prepare.py: {message}")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def markdown_of(path):
    """Returns the text of a Markdown file, or that of a notebook, which has no outputs."""
    if not path.endswith(".ipynb"):
        return read(path)
    cells = json.loads(read(path))["cells"]
    texts = {"markdown": "{}\n", "code": "```python\n{}\n```\n"}
    return "\n".join(texts[each["cell_type"]].format("".join(each["source"])) for each in cells)


def files_below(folder):
    """Lists the files in a folder and its subfolders, sorted, relative to the repository's root."""
    return sorted(os.path.relpath(os.path.join(where, name), ROOT)
                  for where, _, names in os.walk(os.path.join(ROOT, folder))
                  for name in names if "__pycache__" not in where and not name.startswith("."))


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.linked = {}  # file or folder of the repository -> page that shows it
        self.manuals = {os.path.basename(path): f"{MANUALS}/{os.path.basename(path)}.md"
                        for path in files_below("man")}

    def write(self, page, text):
        path = os.path.join(self.folder, page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def image(self, path):
        """Copies an image of docs/, which a page shows, to its place in the site's sources."""
        copy = os.path.join(self.folder, path[len("docs/"):])
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(os.path.join(ROOT, path), copy)

    def page_of(self, path):
        """Returns the page that shows a file or folder of the repository."""
        if path in FROM_ROOT:
            return FROM_ROOT[path]
        if path.startswith("docs/") and path.endswith((".md", ".ipynb")):
            return os.path.splitext(path[len("docs/"):])[0] + ".md"
        if path.startswith("man/"):
            return self.manuals[path[len("man/"):]]
        return self.linked.setdefault(path, f"files/{path}.md")

    def markdown(self, source, page):
        """Returns the text of a page or notebook of the repository, with links to pages of the site."""
        here = os.path.dirname(source)

        def link(match):
            target = os.path.normpath(os.path.join(here, match.group(2)))
            if not os.path.exists(os.path.join(ROOT, target)):
                fail(f"{source}: a link to {match.group(2)}, which does not exist")
            if target.startswith("docs/") and target.endswith(IMAGES):
                self.image(target)
                return match.group(0)
            to = os.path.relpath(self.page_of(target), os.path.dirname(page) or ".")
            return match.group(1) + to + match.group(3)

        def manual(match):
            name = f"{match.group(1)}.{match.group(2)}"
            if name not in self.manuals:
                return match.group(0)
            to = os.path.relpath(self.manuals[name], os.path.dirname(page) or ".")
            return f"[{match.group(0)}]({to})"

        out, fence = [], None
        for line in markdown_of(source).split("\n"):
            mark = FENCE.match(line)
            if fence is None and mark and "{" not in line:
                fence = mark.group(1)
            elif fence is not None and line.strip() == fence:
                fence = None
            elif fence is None and not line.startswith("    "):
                # Links first, then the names of manuals outside links and code.
                line = LINK.sub(link, line)
                line = re.sub(r"(?<![\[`\w.-])([a-z][a-z.-]+)\(([1-8])\)(?![\]`])", manual, line)
            out.append(line)
        text = "\n".join(out)
        # Words after the language ("python file=x.py", "sh norun") are read by tests only.
        text = re.sub(r"(?m)^(```\w+) .*$", r"\1", text)
        return re.sub(r"(?ms)^```mermaid\n(.*?)^```$", lambda m: graphviz(m.group(1), source), text)

    def manual(self, name):
        """Returns the page of a manual, in which each section has a heading that Sphinx knows."""
        done = subprocess.run(["mandoc", "-Thtml", "-O", "fragment,man=%N.%S.html", "-Wfatal",
                               os.path.join(ROOT, "man", name)],
                              capture_output=True, text=True, check=False)
        sections = re.findall(r'(?ms)^<section class="Sh">\n<h1 class="Sh" id="([^"]*)">(.*?)</h1>\n'
                              r'(.*?)^</section>\n(?=<section class="Sh">|</div>)', done.stdout)
        if done.returncode or not sections:
            fail(f"mandoc can't convert man/{name}: {done.stderr}")

        def reference(match):
            return match.group(0) if match.group(1) in self.manuals else match.group(2)
        title, section = name.rsplit(".", 1)
        out = [f"# {title}({section})\n"]
        for anchor, heading, body in sections:
            words = " ".join(html.unescape(re.sub(r"<[^>]*>", "", heading)).split())
            body = re.sub(r'<a class="Xr" href="([^"]*)\.html">(.*?)</a>', reference, body,
                          flags=re.DOTALL)
            out.append(f"## {words.capitalize()}\n\n```{{raw}} html\n"
                       f'<div class="manual-text" id="{html.escape(anchor)}">\n{body}</div>\n```\n')
        return "\n".join(out)

    def file(self, path):
        """Returns a page with the text of a file, or of all files of a folder."""
        out = [f"---\norphan: true\n---\n\n# {path}\n"]
        folder = os.path.isdir(os.path.join(ROOT, path))
        for each in files_below(path) if folder else [path]:
            text = read(each)
            name, ending = os.path.splitext(os.path.basename(each))
            language = LANGUAGES.get(ending, "cmake" if name == "CMakeLists" else "text")
            if text.startswith("#!/bin/bash"):
                language = "bash"
            fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
            if folder:
                out.append(f"## {os.path.relpath(each, path)}\n")
            out.append(f"{fence}{language}\n{text.rstrip()}\n{fence}\n")
        return "\n".join(out)

    def make(self):
        for source in files_below("docs"):
            if source.endswith((".md", ".ipynb")):
                page = self.page_of(source)
                self.write(page, self.markdown(source, page))
        for source, page in FROM_ROOT.items():
            self.write(page, self.markdown(source, page))
        for name, page in self.manuals.items():
            self.write(page, self.manual(name))
        for name, page in headers(os.path.join(os.path.dirname(os.path.abspath(self.folder)),
                                               "doxygen", "xml")):
            self.write(f"{HEADERS}/{name}.rst", page)
        for path, page in sorted(self.linked.items()):
            self.write(page, self.file(path))


def headers(xml):
    """Yields (name, page) of each public header, from Doxygen's XML.

    A page has the declarations in the header's order; doxygenfile would sort them by kind.
    """
    def parse(name):
        return ElementTree.parse(os.path.join(xml, name + ".xml")).getroot()

    files, declared, labels = {}, {}, {}
    compounds = list(parse("index").iter("compound"))
    namespaces = {each.find("name").text for each in compounds if each.get("kind") == "namespace"}
    for compound in compounds:
        kind, refid = compound.get("kind"), compound.get("refid")
        if kind == "file":
            files[compound.find("name").text] = refid
        if kind not in ("class", "struct", "namespace"):
            continue
        root = parse(refid).find("compounddef")
        scope = root.find("compoundname").text
        if f"{scope}::".find("::detail::") > 0:
            continue
        if kind != "namespace":
            if scope.rpartition("::")[0] in namespaces:  # other classes are shown inside of theirs
                place = root.find("location")
                declared.setdefault(place.get("file"), []).append(
                    (int(place.get("line")), kind, scope, ""))
            continue
        labels.setdefault(root.find("location").get("file"), []).append(refid)
        for member in root.iter("memberdef"):
            place = member.find("location")
            arguments = member.findtext("argsstring") if member.get("kind") == "function" else ""
            declared.setdefault(place.get("declfile") or place.get("file"), []).append(
                (int(place.get("declline") or place.get("line")), member.get("kind"),
                 f"{scope}::{member.find('name').text}", arguments))
    for name, refid in sorted(files.items()):
        title = f"graphd/{name}"
        out = [f".. _{label}:\n" for label in [refid, *labels.get(title, [])]]
        out += [title, "=" * len(title), "",
                f".. doxygenfile:: {title}\n   :sections: briefdescription detaileddescription\n"]
        here = sorted(declared.get(title, []))
        out.append(" · ".join(f":cpp:any:`{each.split('::', 1)[1]} <{each}>`"
                              for each in dict.fromkeys(thing for _, _, thing, _ in here
                                                        if "<" not in thing)) + "\n")
        for _, kind, thing, arguments in here:
            out.append(f".. doxygen{kind}:: {thing}{arguments}")
            if kind in ("class", "struct"):
                out.append("   :members:\n   :protected-members:\n   :undoc-members:")
            out.append("")
        yield name, "\n".join(out)


def graphviz(text, source):
    """Converts a flowchart of Mermaid for Graphviz, which needs no script in the reader's browser.

    It understands what the repository's charts have: subgraphs, nodes with a label, edges with a label.
    """
    node = r'(\w+)(?:\["([^"]*)"\])?'
    out = ['digraph {', 'rankdir=LR; bgcolor=transparent; nodesep=0.4; ranksep=1.4;',
           'pad="0.5,0.1"; labeljust=r;',
           'node [shape=box, style="rounded,filled", fillcolor="#e8eef7", color="#5b7db1", '
           'fontcolor="#1c2b40", fontname="DejaVu Sans,Verdana,sans-serif", fontsize=11];',
           'edge [color="#7a8699", fontcolor="#7a8699",',
           'fontname="DejaVu Sans,Verdana,sans-serif", fontsize=10];']

    def named(name, label):
        if label is not None:
            out.append(f'{name} [label="{label.replace("<br/>", chr(92) + "n")}"];')
        return name

    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines or lines[0] != "flowchart LR":
        fail(f"{source}: a chart of Mermaid that is no 'flowchart LR'")
    for line in lines[1:]:
        inner = re.fullmatch(r'subgraph ' + node, line)
        alone = re.fullmatch(node, line)
        arrow = r'\s*(<)?(--|-\.)\s*(?:"([^"]*)"|(\S.*?))?\s*(?:-->|->|\.->)\s*'
        edge = re.fullmatch(node + arrow + node,
                            line)
        if inner:
            out.append(f'subgraph cluster_{inner.group(1)} {{ label="{inner.group(2)}"; '
                       'style="rounded"; color="#a9b4c4"; fontcolor="#7a8699"; '
                       'fontname="DejaVu Sans,Verdana,sans-serif"; fontsize=11;')
        elif line == "end":
            out.append("}")
        elif edge:
            begin = named(*edge.group(1, 2))
            end = named(*edge.group(7, 8))
            style = "dashed" if edge.group(4) == "-." else "solid"
            label = edge.group(5) or edge.group(6) or ""
            out.append(f'{begin} -> {end} [label="{label}", style={style}'
                       f'{", dir=both" if edge.group(3) else ""}];')
        elif alone:
            named(*alone.groups())
        else:
            fail(f"{source}: can't draw this line of a chart: {line}")
    return "```{graphviz}\n" + "\n".join([*out, "}"]) + "\n```"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Site(sys.argv[1]).make()
