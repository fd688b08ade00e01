"""Makes the golden vectors in fixtures/metrics with the reference packages; see the README there.

    python3 -m venv venv && venv/bin/pip install -r tests/scripts/reference_metrics.txt
    venv/bin/pip download --no-deps --no-binary :none: -d wheels ragas==0.4.3
    venv/bin/python tests/scripts/reference_metrics.py --ragas wheels/ragas-0.4.3-py3-none-any.whl

The same packages give the same bytes: the generator of random numbers is seeded, and nothing is fetched.
"""

import argparse
import ast
import collections
import importlib.metadata
import json
import math
import pathlib
import platform
import random
import re
import string
import xml.parsers.expat
import zipfile

import regex
from nltk.stem.porter import PorterStemmer
from rapidfuzz import fuzz
from rapidfuzz.distance import JaroWinkler, Levenshtein
from rouge_score import rouge_scorer
from rouge_score.tokenizers import DefaultTokenizer
from sacrebleu.metrics import BLEU, CHRF
from sklearn.metrics import ndcg_score

import reference_texts

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEPS = ROOT / "fixtures" / "peps-rag"
OUT = ROOT / "fixtures" / "metrics"
PACKAGES = ["rouge-score", "nltk", "sacrebleu", "rapidfuzz", "scikit-learn", "numpy", "regex"]

# --- texts -------------------------------------------------------------------------------------------------------------------------


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def disturbed(text, rng):
    """The text as a careless answer would say it: pieces left out, doubled, exchanged, in other case."""
    spaced = " " in text
    pieces = text.split() if spaced else list(text)
    out = []
    for piece in pieces:
        luck = rng.random()
        if luck < 0.12:
            continue
        if luck < 0.18:
            out.append(piece)
        if luck < 0.24:
            piece = piece.upper()
        elif luck < 0.30:
            piece = rng.choice(pieces)
        out.append(piece)
    if len(out) > 3 and rng.random() < 0.4:
        at = rng.randrange(1, len(out))
        out = out[at:] + out[:at]
    return (" " if spaced else "").join(out)


def pairs():
    """(group, answer, reference), the same every time."""
    rng = random.Random(20)
    found = []
    questions = {question["id"]: question for question in lines(PEPS / "questions.jsonl")}
    seen = set()
    for run in ["base", "regressed", "improved"]:
        for row in lines(PEPS / "runs" / f"{run}.jsonl"):
            question = questions[row["id"]]
            pair = ("peps-zh" if question["lang"] == "zh" else "peps", row["answer"], question["reference"])
            if pair not in seen and len(seen) < 230:
                seen.add(pair)
                found.append(pair)
    chunks = [context["text"] for row in lines(PEPS / "runs" / "base.jsonl") for context in row["contexts"]]
    chunks = sorted(set(chunk for chunk in chunks if 200 < len(chunk)))
    for chunk in rng.sample(chunks, 70):
        chunk = chunk[:420]
        found.append(("passage", disturbed(chunk, rng), chunk))
    found += [("edge", answer, reference) for answer, reference in reference_texts.EDGES]
    for group, texts in reference_texts.SCRIPTS.items():
        for text in texts:
            found.append((group, disturbed(text, rng), text))
            found.append((group, rng.choice(texts), text))
            found.append((group, text, text) if rng.random() < 0.2 else (group, disturbed(text + text[: len(text) // 2], rng), text))
    return found


# --- the references ----------------------------------------------------------------------------------------------------------------

CJK = (
    r"\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U000323af"
)
TOKEN = regex.compile(rf"[a-z0-9]+|[{CJK}]|[[\p{{Alphabetic}}\p{{N}}]--[\u0000-\u036f]--[{CJK}]]+", regex.V1)


class ScriptTokenizer:
    """rouge-score's tokenizer, and other scripts instead of nothing: see "Deliberate differences" of docs/metrics.md."""

    def __init__(self, stem):
        self.stemmer = PorterStemmer() if stem else None

    def tokenize(self, text):
        tokens = TOKEN.findall(text.lower())
        if self.stemmer:
            plain = re.compile("[a-z0-9]+")
            tokens = [self.stemmer.stem(t) if len(t) > 3 and plain.fullmatch(t) else t for t in tokens]
        return tokens


def rouge(stem):
    names = ["rouge1", "rouge2", "rougeL"]
    ours = rouge_scorer.RougeScorer(names, tokenizer=ScriptTokenizer(stem))
    default = rouge_scorer.RougeScorer(names, use_stemmer=stem)

    def scores(answer, reference):
        values = {name: score.fmeasure for name, score in ours.score(reference, answer).items()}
        if not re.search(r"[\u0370-\U0010ffff]", (answer + reference).lower()):
            plain = {name: score.fmeasure for name, score in default.score(reference, answer).items()}
            assert plain == values, (answer, reference)
        return values

    return scores


def squad(text):
    """normalize_answer of SQuAD's evaluate-v1.1.py."""
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def token_f1(answer, reference):
    answer, reference = squad(answer).split(), squad(reference).split()
    if not answer or not reference:
        return float(answer == reference)
    same = sum((collections.Counter(answer) & collections.Counter(reference)).values())
    return 2 * same / (len(answer) + len(reference))


def bleu(cut, lowercase=False):
    metric = BLEU(tokenize=cut, lowercase=lowercase, effective_order=True)
    return lambda answer, reference: metric.sentence_score(answer, [reference]).score / 100


def chrf(word_order):
    metric = CHRF(word_order=word_order)
    return lambda answer, reference: metric.sentence_score(answer, [reference]).score / 100


def scorers():
    plain, stemmed = rouge(False), rouge(True)
    one = lambda scores, name: lambda a, r: scores(a, r)[name]
    return {
        "rouge_1": one(plain, "rouge1"),
        "rouge_2": one(plain, "rouge2"),
        "rouge_l": one(plain, "rougeL"),
        "rouge_1_stem": one(stemmed, "rouge1"),
        "rouge_2_stem": one(stemmed, "rouge2"),
        "rouge_l_stem": one(stemmed, "rougeL"),
        "bleu_13a": bleu("13a"),
        "bleu_13a_lower": bleu("13a", True),
        "bleu_zh": bleu("zh"),
        "bleu_char": bleu("char"),
        "bleu_none": bleu("none"),
        "chrf": chrf(0),
        "chrf_2": chrf(2),
        "levenshtein": Levenshtein.normalized_similarity,
        "edits": Levenshtein.distance,
        "ratio": lambda a, r: fuzz.ratio(a, r) / 100,
        "jaro_winkler": JaroWinkler.similarity,
        "exact_match": lambda a, r: float(squad(a) == squad(r)),
        "token_f1": token_f1,
    }


# --- retrieval ---------------------------------------------------------------------------------------------------------------------


def of_ragas(wheel, path, owner, name):
    """One method of ragas' source, without the imports of its file."""
    source = zipfile.ZipFile(wheel).read(path).decode()
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == owner]
    functions = [node for node in classes[0].body if isinstance(node, ast.FunctionDef) and node.name == name]
    module = ast.Module(body=functions, type_ignores=[])
    space = {"np": math, "t": __import__("typing")}
    exec(compile(module, path, "exec"), space)  # noqa: S102 - a pinned package's own code
    return space[name]


def retrieval(wheel):
    rng = random.Random(8)
    graded = []
    for _ in range(120):
        size = rng.randint(2, 9)
        gains = [rng.choice([0, 0, 1, 1, 2, 3, 0.5]) for _ in range(size)]
        if not any(gains):
            gains[0] = 1
        order = rng.sample(range(size), size)
        k = rng.choice([None, 1, 2, 3, 5, 10])
        # Ranks as scores: the first of `order` is the best.
        scores = [0.0] * size
        for rank, item in enumerate(order):
            scores[item] = size - rank
        graded.append({"gains": gains, "order": order, "k": k, "ndcg": float(ndcg_score([gains], [scores], k=k))})
    folder = "ragas/metrics"
    precision = of_ragas(wheel, f"{folder}/_context_precision.py", "NonLLMContextPrecisionWithReference", "_calculate_average_precision")
    recall = of_ragas(wheel, f"{folder}/_context_recall.py", "NonLLMContextRecall", "_compute_score")

    class Self:
        threshold = 0.5

    texts = [text for _, texts in sorted(reference_texts.SCRIPTS.items()) for text in texts]
    similar = []
    for _ in range(80):
        expected = rng.sample(texts, rng.randint(1, 4))
        retrieved = [disturbed(rng.choice(expected), rng) if rng.random() < 0.6 else rng.choice(texts) for _ in range(rng.randint(1, 5))]
        likeness = [[1 - Levenshtein.normalized_distance(text, other) for other in expected] for text in retrieved]
        verdicts = [int(max(row) >= Self.threshold) for row in likeness]
        best = [max(row[at] for row in likeness) for at in range(len(expected))]
        similar.append({
            "retrieved": retrieved,
            "expected": expected,
            "context_precision": precision(Self, verdicts),
            "context_recall": recall(Self, best),
        })
    return {"graded": graded, "similar": similar}


# --- XML ---------------------------------------------------------------------------------------------------------------------------


def documents():
    """[text, whether expat takes it]"""
    rng = random.Random(3)
    found = list(reference_texts.DOCUMENTS)
    for _ in range(220):
        text = list(rng.choice(reference_texts.DOCUMENTS))
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(text))
            luck = rng.random()
            if luck < 0.4:
                del text[at]
            elif luck < 0.7:
                text.insert(at, rng.choice("<>/&;'\"= a1-]!?x"))
            else:
                other = rng.randrange(len(text))
                text[at], text[other] = text[other], text[at]
        found.append("".join(text))
    return [[text, well_formed(text)] for text in sorted(set(found)) if "<!DOCTYPE" not in text]


def well_formed(text):
    try:
        xml.parsers.expat.ParserCreate().Parse(text.strip(), True)
    except xml.parsers.expat.ExpatError:
        return False
    return True


# --- all of it ---------------------------------------------------------------------------------------------------------------------


def rounded(value):
    return value if isinstance(value, int) else round(float(value), 9)


def write(name, value, compact):
    text = compact(value)
    (OUT / name).write_text(text + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ragas", required=True, help="the wheel of ragas 0.4.3")
    wheel = parser.parse_args().ragas
    OUT.mkdir(exist_ok=True)
    dump = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    functions = scorers()
    rows = []
    for at, (group, answer, reference) in enumerate(pairs()):
        scores = [rounded(function(answer, reference)) for function in functions.values()]
        rows.append({"id": f"{group}-{at:03}", "answer": answer, "reference": reference, "scores": scores})
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    head = {"scores": list(functions), "versions": {"python": platform.python_version(), "ragas": "0.4.3", **versions}}
    write("texts.jsonl", [head, *rows], lambda rows: "\n".join(map(dump, rows)))

    words = set()
    chunks = [context["text"] for row in lines(PEPS / "runs" / "base.jsonl") for context in row["contexts"]]
    for text in [row["reference"] for row in rows] + chunks:
        words.update(word for word in DefaultTokenizer().tokenize(text) if len(word) > 3 and word.isalpha())
    stemmer = PorterStemmer()
    words = sorted(words | set(reference_texts.WORDS))
    write("stems.json", [[word, stemmer.stem(word)] for word in words], lambda rows: "[\n" + ",\n".join(map(dump, rows)) + "\n]")

    write("retrieval.json", retrieval(wheel), lambda value: json.dumps(value, ensure_ascii=False, indent=0))
    write("documents.json", documents(), lambda rows: "[\n" + ",\n".join(map(dump, rows)) + "\n]")
    print(len(rows), "pairs,", len(words), "words;", dict(collections.Counter(row["id"].rsplit("-", 1)[0] for row in rows)))


if __name__ == "__main__":
    main()
