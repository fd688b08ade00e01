"""The Python side of the metrics benchmark: texts on standard input, times and scores on standard output, both as JSON.

Every pass makes its scorers anew, so that no package answers from a cache that it filled in an earlier pass.
"""

import difflib
import json
import statistics
import sys
import time

from rapidfuzz.distance import JaroWinkler, Levenshtein
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF


def rouge(name, stem=False):
    def make():
        scorer = rouge_scorer.RougeScorer([name], use_stemmer=stem)
        return lambda answer, reference: scorer.score(reference, answer)[name].fmeasure

    return make


def sacrebleu(metric, **settings):
    def make():
        scorer = metric(**settings)
        return lambda answer, reference: scorer.sentence_score(answer, [reference]).score

    return make


ROWS = {
    "rouge_1": ("answers", rouge("rouge1")),
    "rouge_2": ("answers", rouge("rouge2")),
    "rouge_l": ("answers", rouge("rougeL")),
    "rouge_l_stem": ("answers", rouge("rougeL", True)),
    "rouge_l_long": ("400 words", rouge("rougeL")),
    "bleu": ("answers", sacrebleu(BLEU, effective_order=True)),
    "chrf": ("answers", sacrebleu(CHRF)),
    "levenshtein": ("answers", lambda: Levenshtein.normalized_similarity),
    "levenshtein_long": ("400 words", lambda: Levenshtein.normalized_similarity),
    "jaro_winkler": ("answers", lambda: JaroWinkler.similarity),
    "ratio": ("answers", lambda: lambda answer, reference: difflib.SequenceMatcher(None, answer, reference).ratio()),
}


def main():
    request = json.load(sys.stdin)
    measured = {}
    for name, (texts, make) in ROWS.items():
        pairs = request["texts"][texts]
        passes = []
        for _ in range(request["repeat"]):
            score = make()
            begun = time.perf_counter()
            scores = [score(answer, reference) for answer, reference in pairs]
            passes.append((time.perf_counter() - begun) / len(pairs))
        measured[name] = {"seconds": statistics.median(passes), "scores": scores}
    json.dump(measured, sys.stdout)


if __name__ == "__main__":
    main()
