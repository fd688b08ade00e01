"""What the parsers of llama-index-core make of recorded and hand-made judge replies.

pip download --no-deps llama-index-core==0.14.25 && unzip llama_index_core-*.whl -d lib
python tests/scripts/llamaindex_readings.py lib > fixtures/judges/llamaindex-readings.json
"""

import ast
import json
import math
import pathlib
import re
import sys
from typing import Optional, Tuple

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = pathlib.Path(sys.argv[1]) / "llama_index/core/evaluation"


def function(file, name):
    """One function of the package, without what the package imports."""
    names = {"re": re, "Optional": Optional, "Tuple": Tuple}
    for node in ast.parse((LIBRARY / file).read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            exec(compile(ast.Module([node], []), file, "exec"), names)
            return names[name]
    raise SystemExit(f"{file} has no {name}")


correctness = function("eval_utils.py", "default_parser")
context = function("context_relevancy.py", "_default_parser_function")
answer = function("answer_relevancy.py", "_default_parser_function")
pairwise = function("pairwise.py", "_default_parser_function")


def number(read):
    try:
        value = read()
    except Exception:
        return None
    return float(value) if value is not None and math.isfinite(value) else None


def readings(reply):
    return [
        # `Evaluator.aevaluate` of faithfulness and relevancy.
        1.0 if "yes" in reply.lower() else 0.0,
        number(lambda: correctness(reply)[0]),
        number(lambda: context(reply)[0]),
        number(lambda: answer(reply)[0]),
        number(lambda: pairwise(reply)[1]),
    ]


HAND = [
    "4.0\nGood.", "4\n", "4.5", " 2 \n\nBad", "7\nx", "1e0\nx", "+3\nx", "nan\nx", "inf\nx", "Score: 4\nx", "4/5\nx", "x\n[RESULT] 3.5",
    "x [RESULT]2", "[RESULT] 2", "x [RESULT] 1 [RESULT] 2", "x [RESULT] 1 [RESULT] none", "x [RESULT] 3.5.1", "x [RESULT] .5",
    "**[RESULT]** 3", "x [RESULT]\n\n 4", "x [RESULT] 8", "[[A]]", "[[B]] [[A]]", "[[C]]", "not [[B]]", "[A]", "A", "", " \n", "YES",
    "no, yesterday", "NO, my eyes", "No.",
]
MARKS = ["0", "1", "2", "2.5", "3", "4", "5", "9", "none"]
rows = []
for file in ["judge-base", "judge-regressed", "judge-variety"]:
    for line in (ROOT / f"fixtures/peps-rag/runs/{file}.jsonl").read_text().splitlines():
        raw = json.loads(line)["raw"]
        mark = MARKS[len(rows) % len(MARKS)]
        marked = f"{mark}\n{raw}\n[RESULT] {mark} [[{'ABCD'[len(rows) % 4]}]]"
        rows.append([readings(raw), mark, readings(marked)])
columns = ["yes", "correctness", "context_relevancy", "answer_relevancy", "pairwise"]
hand = [[reply, readings(reply)] for reply in HAND]
out = {"llama-index-core": "0.14.25", "columns": columns, "hand": hand, "recorded": rows}
print(json.dumps(out, separators=(",", ":")))
