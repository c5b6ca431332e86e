# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/compatibility.md of the results of all tests."""

import json
import os
import re

HERE = os.path.dirname(os.path.realpath(__file__))


def write(build, page):
    """Replaces the tables between the page's markers by those of the results in `build`. Files of tests
    that have no results there keep their tables."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for library in ("dgl", "pyg"):
        results_file = os.path.join(build, f"{library}.json")
        if not os.path.exists(results_file):
            continue
        with open(results_file, encoding="utf-8") as file:
            results = json.load(file)
        begin, end = f"<!-- begin {library} -->\n", f"<!-- end {library} -->\n"
        before, _, rest = text.partition(begin)
        tables, _, after = rest.partition(end)
        by_file = {**_by_file_of_page(tables), **_tables(library, results)}
        text = before + begin + "\n" + _joined(by_file) + "\n" + end + after
    with open(page, "w", encoding="utf-8") as file:
        file.write(text)


def rows(page, library):
    """Returns the results and the reason of each function in the page: {(file, function): (result,
    reason)}."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    _, _, text = text.partition(f"<!-- begin {library} -->")
    text, _, _ = text.partition(f"<!-- end {library} -->")
    found, name = {}, ""
    for line in text.splitlines():
        title = re.fullmatch(r"`(\S+)`:", line)
        row = re.fullmatch(r"\| `(.+?)` \| ([a-z0-9, ]+) \| (.*) \|", line)
        if title:
            name = title[1]
        elif row and name:
            found[name, row[1]] = row[2], row[3]
    return found


def differences(build, page):
    """Returns where the results in `build` differ from the page's tables, as sentences. A function may
    have another number of cases, since ports of tests have fewer."""
    found = []
    for library in ("dgl", "pyg"):
        results_file = os.path.join(build, f"{library}.json")
        if not os.path.exists(results_file):
            continue
        with open(results_file, encoding="utf-8") as file:
            by_file = _by_file(json.load(file))
        listed = rows(page, library)
        for file, functions in by_file.items():
            for function, cases in functions.items():
                found += _differences(library, file, function, cases, listed.get((file, function)))
    return found


def _differences(library, file, function, cases, listed):
    where = f"{file}: {function}"
    if listed is None:
        return [f"{where} is not in the tables; run with --write_docs"]
    found = []
    kinds = set(re.findall(r"passed|failed|skipped", listed[0]))
    for each in cases:
        if each["result"] not in kinds:
            found.append(f"{where} is listed as {listed[0]}: {each['test']} {each['result']}: "
                         f"{each['error']}")  # fmt: skip
        elif each["result"] == "failed":
            reason = _reasons([each], _reasons_of(library))
            if reason not in listed[1]:
                found.append(f"{where} fails for another reason than the listed one: {reason}")
    return found


def _reasons_of(library):
    with open(os.path.join(HERE, "reasons.json"), encoding="utf-8") as file:
        return json.load(file)[library]


def _by_file(results):
    by_file = {}
    for each in results:
        file, _, test = each["test"].partition("::")
        function = test.partition("[")[0] or "(the whole file)"
        by_file.setdefault(file, {}).setdefault(function, []).append(each)
    return by_file


_SUMS = ("| file | passed | failed | skipped |", "|---|---|---|---|")


def _by_file_of_page(tables):
    """Returns what the page's tables say about each file: its line of sums, and its own table."""
    found, name = {}, ""
    for line in tables.splitlines():
        sums = re.fullmatch(r"\| `(\S+\.py)` \| \d+ \| \d+ \| \d+ \|", line)
        title = re.fullmatch(r"`(\S+)`:", line)
        if sums:
            found[sums[1]] = line, []
        elif title:
            name = title[1]
        if name and line:
            found[name][1].append(line)
    return found


def _tables(library, results):
    """Returns the same as `_by_file_of_page` for the results."""
    reasons = _reasons_of(library)
    found = {}
    for file, functions in _by_file(results).items():
        cases = [each["result"] for some in functions.values() for each in some]
        counts = " | ".join(str(cases.count(name)) for name in ("passed", "failed", "skipped"))
        lines = [f"`{file}`:", "| test | result | reason |", "|---|---|---|"]
        for function, cases in functions.items():
            lines.append(f"| `{function}` | {_result(cases)} | {_reasons(cases, reasons)} |")
        found[file] = f"| `{file}` | {counts} |", lines
    return found


def _joined(by_file):
    ordered = [by_file[file] for file in sorted(by_file)]
    lines = [*_SUMS, *(sums for sums, _ in ordered)]
    for _, (title, *rows) in ordered:
        lines += ["", title, "", *rows]
    return "\n".join(lines) + "\n"


def _result(cases):
    """Returns the result of a function, or how many of its cases have which."""
    counts = {}
    for each in cases:
        counts[each["result"]] = counts.get(each["result"], 0) + 1
    if len(cases) == 1:
        return cases[0]["result"]
    if len(counts) == 1:
        return f"{len(cases)} {cases[0]['result']}"
    return ", ".join(
        f"{number} {result}" for result, number in sorted(counts.items(), reverse=True)
    )


def _reasons(cases, reasons):
    """Returns what reasons.json says about each case that failed or was skipped, or about a test that
    passes under a condition; else the error."""
    found = []
    for each in cases:
        if each["result"] == "skipped":
            found.append(f"The test is marked so: {each['error']}.")
            continue
        for reason in reasons:
            of_result = each["result"] == reason.get("result", "failed")
            if (
                of_result
                and re.search(reason["test"], each["test"])
                and re.search(reason.get("error", ""), each["error"] + each["output"])
            ):
                found.append(reason["text"])
                break
        else:
            if each["result"] == "failed":
                found.append(f"NOT EXPLAINED: `{each['error'][:120]}`")
    return " ".join(dict.fromkeys(found)).replace("|", "\\|")
