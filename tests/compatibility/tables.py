# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/compatibility.md of the results of all tests."""

import json
import os
import re

HERE = os.path.dirname(os.path.realpath(__file__))


def write(build, page):
    """Replaces the tables between the page's markers by those of the results in `build`."""
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
        _, _, after = rest.partition(end)
        text = before + begin + "\n" + _tables(library, results) + "\n" + end + after
    with open(page, "w", encoding="utf-8") as file:
        file.write(text)


def _tables(library, results):
    with open(os.path.join(HERE, "reasons.json"), encoding="utf-8") as file:
        reasons = json.load(file)[library]
    by_file = {}
    for each in results:
        file, _, test = each["test"].partition("::")
        function = test.partition("[")[0] or "(the whole file)"
        by_file.setdefault(file, {}).setdefault(function, []).append(each)
    lines = ["| file | passed | failed | skipped |", "|---|---|---|---|"]
    for file, functions in by_file.items():
        cases = [each["result"] for some in functions.values() for each in some]
        counts = " | ".join(str(cases.count(name)) for name in ("passed", "failed", "skipped"))
        lines.append(f"| `{file}` | {counts} |")
    for file, functions in by_file.items():
        lines += ["", f"`{file}`:", "", "| test | result | reason |", "|---|---|---|"]
        for function, cases in functions.items():
            lines.append(f"| `{function}` | {_result(cases)} | {_reasons(cases, reasons)} |")
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
