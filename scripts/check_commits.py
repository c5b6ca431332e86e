#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the subjects of commits: "area: what it does", in the imperative.

usage: scripts/check_commits.py [BASE | --message FILE]

Checks the commits after BASE, by default after the commit that added this script. A subject has one
or more areas and a colon ("docs: build a site with Sphinx", "daemon, ctl: ..."), at most 72
characters, and no period at its end. Merges are not checked. Where the history is missing, as in an
archive of the sources or a shallow clone, the check says so and passes.
"""

import argparse
import os
import re
import subprocess
import sys

import source_files

MOST_CHARACTERS = 72
SUBJECT = re.compile(r"[a-z0-9./_-]+( ?, ?[a-z0-9./_-]+)*: (?P<what>.+)")
VERBS = (
    "accept add allow ask apply avoid build bump call change check clarify clean compare compile "
    "copy correct count cover create delete describe disable document drop enable ensure explain "
    "export extend extract fix format generate handle ignore implement improve include install "
    "introduce join keep label limit link list load log make map measure merge move name note open "
    "pack parse pass pin prefer prevent print put raise read rebuild reduce refactor refuse reject "
    "release remove rename reorder repair replace report require restore return revert rewrite run "
    "say serve set share show simplify skip sort speed split start state stop store support switch "
    "take teach tell test throw tidy treat turn unify update upgrade use validate verify wait warn "
    "write"
)
IRREGULAR = [
    "built",
    "kept",
    "made",
    "ran",
    "said",
    "sent",
    "took",
    "told",
    "taught",
    "threw",
    "thrown",
    "wrote",
    "written",
]


def forms(verb):
    """Returns the forms of a verb that are not imperative, as "adds", "added" and "adding"."""
    if re.search(r"[^aeiou]y$", verb):
        return {verb[:-1] + "ies", verb[:-1] + "ied", verb + "ing"}
    third = verb + ("es" if re.search(r"(s|x|z|ch|sh)$", verb) else "s")
    if verb.endswith("e"):
        return {third, verb + "d", verb[:-1] + "ing"}
    doubled = verb + verb[-1]
    return {third, verb + "ed", verb + "ing", doubled + "ed", doubled + "ing"}


NOT_IMPERATIVE = (set().union(*(forms(verb) for verb in VERBS.split())) | set(IRREGULAR)) - set(
    VERBS.split()
)


def problems(subject):
    """Returns what is wrong with a subject."""
    found = []
    match = SUBJECT.fullmatch(subject)
    if not match:
        found.append("is not of the form 'area: what it does', with a lower-case area")
    elif match["what"].split()[0].lower() in NOT_IMPERATIVE:
        found.append(f"'{match['what'].split()[0]}' is not imperative")
    if len(subject) > MOST_CHARACTERS:
        found.append(f"has {len(subject)} characters, at most {MOST_CHARACTERS} are allowed")
    if subject.endswith("."):
        found.append("ends in a period")
    return found


def git(*arguments):
    """Returns what a git command prints, or None if it fails."""
    command = ["git", "-c", f"safe.directory={source_files.ROOT}", "-C", source_files.ROOT]
    try:
        done = subprocess.run(
            [*command, *arguments], check=True, capture_output=True, encoding="utf-8"
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def skip(reason):
    print(f"check_commits: no subject checked: {reason}")
    return 0


def check_message(path):
    """Checks the subject of a message that is not committed yet."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file if not line.startswith("#")]
    subject = next(filter(None, lines), "")
    if subject.startswith("Merge "):
        return 0
    found = problems(subject)
    for problem in found:
        print(f"check_commits: '{subject}': {problem}")
    return 1 if found else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", nargs="?", metavar="BASE", help="a commit")
    parser.add_argument("--message", metavar="FILE", help="check the message in FILE")
    arguments = parser.parse_args()
    if arguments.message:
        return check_message(arguments.message)
    base = arguments.base
    if git("rev-parse", "--verify", "--quiet", "HEAD^{commit}") is None:
        return skip("there is no git history here")
    shallow = git("rev-parse", "--is-shallow-repository") == "true"
    if base is None:
        here = os.path.relpath(os.path.abspath(__file__), source_files.ROOT)
        added = git("log", "--diff-filter=A", "--format=%H", "--", here)
        if not added:
            return skip(f"{here} is not committed yet")
        base = added.split()[-1]
    elif git("rev-parse", "--verify", "--quiet", base + "^{commit}") is None:
        if not shallow:
            sys.exit(f"check_commits: there is no commit '{base}'")
        return skip(f"commit '{base}' is not in this shallow clone")
    log = git("log", "--no-merges", "--format=%h %s", f"{base}..HEAD")
    if log is None:
        return skip(f"the commits since {base} cannot be listed")
    commits = [line.partition(" ")[::2] for line in log.splitlines()]
    wrong = 0
    for commit, subject in commits:
        found = problems(subject)
        wrong += bool(found)
        for problem in found:
            print(f"{commit} '{subject}': {problem}")
    note = " (a shallow clone: older ones are not here)" if shallow else ""
    print(f"check_commits: {wrong} of {len(commits)} subjects are wrong{note}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
