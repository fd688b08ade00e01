#!/usr/bin/env python3
"""Holds JUnit files against the schemas that readers use.

Without arguments: the snapshots of the report tests, the rich form against junit-rich.xsd and the strict one against
jenkins-junit-10.xsd. With arguments: these files, in the rich form; after --strict, in the strict form.
Needs `pip install xmlschema`.
"""
import pathlib
import sys
import xml.etree.ElementTree as tree

import xmlschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "fixtures" / "contracts" / "junit"
SNAPSHOTS = ROOT / "src" / "report" / "tests" / "snapshots"


def snapshot(path):
    """What follows the two lines of dashes of an insta snapshot."""
    return path.read_text(encoding="utf-8").split("---\n", 2)[2]


def documents(arguments):
    """(name, text, strict) of everything to look at."""
    if not arguments:
        for path in sorted(SNAPSHOTS.glob("*__junit_*.snap")):
            yield path.name, snapshot(path), "_strict_" in path.name
    strict = False
    for argument in arguments:
        if argument == "--strict":
            strict = True
        else:
            yield argument, pathlib.Path(argument).read_text(encoding="utf-8"), strict


def main():
    schemas = {
        False: xmlschema.XMLSchema(SCHEMAS / "junit-rich.xsd"),
        True: xmlschema.XMLSchema(SCHEMAS / "jenkins-junit-10.xsd"),
    }
    looked_at, wrong = 0, 0
    for name, text, strict in documents(sys.argv[1:]):
        looked_at += 1
        # A second parser than the one of the tests: expat.
        root = tree.fromstring(text)
        problems = [f"{error.path}: {error.reason}" for error in schemas[strict].iter_errors(root)]
        wrong += len(problems)
        for problem in problems:
            print(f"{name}: {problem}")
    print(f"{looked_at} JUnit files, {wrong} problems")
    return 1 if wrong or not looked_at else 0


if __name__ == "__main__":
    sys.exit(main())
