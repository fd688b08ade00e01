#!/usr/bin/env python3
"""Copies pipelines with the steps of our own task as scripts: the published schema of pipelines knows Microsoft's tasks alone.

azure_steps.py FROM TO     every .yml of the folder FROM into the folder TO
"""

import pathlib
import re
import shutil
import sys

# From `- task: scoregate@N` to the end of its `inputs`, the lines that lie deeper.
STEP = re.compile(r"^( *)- task: scoregate@\d+\n((?:\1  (?!inputs:).*\n)*)\1  inputs:\n(?:\1    .*\n)+", re.MULTILINE)


def main():
    source, target = (pathlib.Path(name) for name in sys.argv[1:3])
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in sorted(source.glob("*.yml")):
        text = STEP.sub(r"\1- script: scoregate\n\2", path.read_text(encoding="utf-8"))
        if "scoregate@" in text:
            sys.exit(f"error: {path}: a step of the task is not understood")
        (target / path.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
