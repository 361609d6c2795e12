"""Small n-gram models of real text, to ask for perplexity."""

from collections import Counter
from collections.abc import Sequence
from math import log10

DISCOUNT = 0.5


def arpa(lines: Sequence[str]) -> str:
    """A trigram model of lines of words: absolute discounting, what it frees goes to shorter n-grams."""
    counts: list[Counter[tuple[str, ...]]] = [Counter(), Counter(), Counter()]
    for line in lines:
        words = ["<s>", *line.split(), "</s>"]
        for size, counter in enumerate(counts, 1):
            counter.update(tuple(words[at : at + size]) for at in range(len(words) - size + 1))
    total = sum(counts[0].values())
    rows = ["\\data\\", f"ngram 1={len(counts[0]) + 1}", f"ngram 2={len(counts[1])}", f"ngram 3={len(counts[2])}"]
    follow = [Counter(gram[:-1] for gram in counter) for counter in counts[1:]]
    for size, counter in enumerate(counts, 1):
        rows += ["", f"\\{size}-grams:"]
        if size == 1:
            rows.append(f"{log10(DISCOUNT / total):.6f}\t<unk>\t0")
        for gram, count in sorted(counter.items()):
            whole = total if size == 1 else counts[size - 2][gram[:-1]]
            prob = -99.0 if gram == ("<s>",) else log10((count - DISCOUNT) / whole)
            weight = ""
            if size < 3:
                free = DISCOUNT * follow[size - 1][gram] / count
                weight = f"\t{log10(free) if free else 0:.6f}"
            rows.append(f"{prob:.6f}\t{' '.join(gram)}{weight}")
    return "\n".join([*rows, "", "\\end\\", ""])
