#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a header with its plain comments turned into Doxygen's.

Doxygen's INPUT_FILTER (docs/site/Doxyfile). The headers document declarations with ordinary `//`
comments: before a declaration, behind a member, and once per file before the namespace. Text is
taken literally except for `code` in backticks, lists, and indented lines, which become code blocks.
Declarations under a comment that begins with "Internal" are left out, up to the next empty line.
"""
import re
import sys

COMMENT = re.compile(r"^(\s*)//(?: (.*)|)$")
TRAILING = re.compile(r"^(\s*\S.*?)(\s+)// (.*)$")
SCOPE = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:inline\s+)?(namespace|class|struct|union|enum)\b")
FORWARD = re.compile(r"^\s*(class|struct|enum class) \w+( : \w+)?;$")
USING = re.compile(r"^\s*using \w+::\w+;$")  # Doxygen would list the base's functions twice
SPECIAL = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\\": "\\\\", "@": "\\@", "#": "\\#", "%": "\\%",
           "$": "\\$"}


def escape(text):
    """Escapes text so that Doxygen shows it as it is; `code` becomes code."""
    def plain(part):
        return "".join(SPECIAL.get(c, c) for c in part).replace("--", "\\--")  # no dash
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a lone backtick
        return plain(text)
    return "".join(plain(part) if i % 2 == 0 else f"<code>{plain(part)}</code>"
                   for i, part in enumerate(parts))


def paragraphs(lines):
    """Returns the lines of a comment block as Doxygen expects them."""
    out, in_code, in_list = [], False, False
    for line in lines:
        indented = line.startswith("  ") and not in_list
        if indented and not in_code:
            out.append("@verbatim")
        elif in_code and not indented and line:
            out.append("@endverbatim")
        if line:
            in_code = indented
            in_list = bool(re.match(r"\s*(-|\d+\.) ", line)) or (in_list and line.startswith("  "))
        line = line.replace("*/", "* /")
        out.append(line[2:] if indented else line if in_code else escape(line))
    if in_code:
        out.append("@endverbatim")
    return out


def convert(source):
    """Returns the text of a header with Doxygen's comments."""
    lines = source.split("\n")
    out, scopes, parens, i = [], [], 0, 0
    seen_namespace = False
    hidden = False
    trailing_column = None  # column of the last trailing //, which the next line may continue
    while i < len(lines):
        line = lines[i]
        if hidden and (not line.strip() or re.match(r"\s*(\}|\w+:$)", line)):
            out.append("/// @endcond")
            hidden = False
        if USING.match(line):
            i += 1
            continue
        block = COMMENT.match(line)
        if block and trailing_column is not None and line.index("//") == trailing_column:
            out.append(f"{block.group(1)}///< {escape((block.group(2) or '').strip())}")
            i += 1
            continue
        trailing_column = None
        if block and not (scopes and scopes[-1] == "body") and parens == 0:
            begin = i
            while i < len(lines) and COMMENT.match(lines[i]):
                i += 1
            text = [COMMENT.match(each).group(2) or "" for each in lines[begin:i]]
            if text[0].startswith("SPDX-"):
                continue
            indent = block.group(1)
            if text[0].startswith("Internal") and not hidden:
                out.append("/// @cond")
                hidden = True
                continue
            attached = i < len(lines) and lines[i].strip() != ""
            if not seen_namespace and not attached:
                text = ["@file", *paragraphs(text)]
            elif attached and not lines[i].strip().startswith(("}", "//")) \
                    and not FORWARD.match(lines[i]):
                text = paragraphs(text)
            else:
                out += lines[begin:i]
                continue
            # Doxygen would show the slashes of /// in what is verbatim.
            out += [f"{indent}/**", *(f"{indent}{each}".rstrip() for each in text), f"{indent}*/"]
            continue
        code, found = line, TRAILING.match(line)
        if found and not line.lstrip().startswith("//"):
            code = found.group(1)
            documents = code.endswith((";", ",")) or (scopes and scopes[-1] == "enum")
            if documents and parens == 0 and not FORWARD.match(code) and \
                    not (scopes and scopes[-1] == "body") and not code.lstrip().startswith("}"):
                trailing_column = line.index("//", len(code))
                line = f"{code}{found.group(2)}///< {escape(found.group(3))}"
        if "namespace graphd" in code and "{" in code:
            seen_namespace = True
        stripped = re.sub(r'"(\\.|[^"\\])*"', '""', code)
        for c in stripped:
            if c == "{":
                kind = "body"
                scope = SCOPE.match(code)
                if scope and parens == 0:
                    kind = scope.group(1)
                scopes.append(kind)
            elif c == "}":
                if scopes:
                    scopes.pop()
            elif c == "(":
                parens += 1
            elif c == ")":
                parens -= 1
        out.append(line)
        i += 1
    return "\n".join(out)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(convert(file.read()))
