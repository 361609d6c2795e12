"""The rules of C4, FineWeb, RefinedWeb and MADLAD-400 on lines and sentences, as slow plain Python over strings."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

CITATION = re.compile(r"\[(?:\d*|edit|citation needed)\]")
POLICIES = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
STOPS = frozenset({"the", "be", "to", "of", "and", "that", "have", "with"})
ELLIPSES = ("...", ". . .", "…")
COUNTER = re.compile(
    r"\W*\d[,.\d]*[kmb]?\s+(?:likes|shares|comments|retweets|reposts|quotes|bookmarks|upvotes|downvotes|downloads|views"
    r"|followers)\W*"
)


def c4(text: str, config: Any) -> tuple[dict[str, int], list[str]]:
    """The counts of a page, and its lines that stay."""
    names = ("lines", "kept_lines", "long_word_lines", "unterminated_lines", "short_lines", "javascript_lines")
    counts = dict.fromkeys((*names, "policy_lines", "lorem_ipsum_lines", "curly_lines", "citations", "words"), 0)
    kept = []
    for whole in text.splitlines():
        counts["lines"] += 1
        bare, cited = CITATION.subn("", whole.strip())
        low, words = bare.lower(), whole.split()
        counted = bare.split() if config.count_words == "after_citations" else words
        if max(map(len, words), default=0) > config.max_word_chars:
            counts["long_word_lines"] += 1
        elif config.require_end_mark and (bare[-1:] not in [*config.end_marks] or bare.endswith("...")):
            counts["unterminated_lines"] += 1
        elif len(counted) < config.min_line_words:
            counts["short_lines"] += 1
        elif "javascript" in low:
            counts["lorem_ipsum_lines"] += "lorem ipsum" in low
            counts["javascript_lines"] += 1
        else:
            counts["lorem_ipsum_lines"] += "lorem ipsum" in low
            counts["curly_lines"] += "{" in bare
            if any(policy in low for policy in POLICIES):
                counts["policy_lines"] += 1
            else:
                counts["kept_lines"] += 1
                counts["citations"] += cited
                counts["words"] += len(bare.split())
                kept.append(bare)
    return counts, kept


def fineweb(text: str, stops: Sequence[str], short_chars: int = 30) -> dict[str, float]:
    """The measures of a page whose words are those between white space."""
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    repeated = [line for number, line in enumerate(lines) if line in lines[:number]]
    counts = {
        "lines": len(lines),
        "stopped_lines": sum(line[-1] in stops for line in lines),
        "short_lines": sum(len(line) <= short_chars for line in lines),
        "duplicate_chars": sum(map(len, repeated)),
        "chars": len(text) - text.count("\n"),
        "newlines": text.count("\n"),
        "words": len(text.split()),
    }
    return {
        **counts,
        "line_punct_ratio": share(counts["stopped_lines"], counts["lines"]),
        "short_line_ratio": share(counts["short_lines"], counts["lines"]),
        "char_dup_ratio": share(counts["duplicate_chars"], counts["chars"]),
        "newline_ratio": share(counts["newlines"], counts["words"]),
    }


def refinedweb(text: str, config: Any) -> tuple[dict[str, float], str]:
    """The measures of a page, and what is left of it."""
    counts = dict.fromkeys(("uppercase_lines", "numeric_lines", "counter_lines", "short_lines", "substring_cuts"), 0)
    left = re.sub(r"\n{3,}", "\n\n", text)

    def without(name: str, goes: Callable[[str], bool]) -> str:
        lines = left.split("\n")
        counts[name] = sum(bool(line) and goes(line) for line in lines)
        return "\n".join(line for line in lines if not line or not goes(line))

    left = without("uppercase_lines", lambda line: share(sum(map(str.isupper, line)), len(line)) > 0.5).strip()
    left = without("numeric_lines", lambda line: all(map(str.isdigit, line))).strip()
    left = without("counter_lines", lambda line: COUNTER.fullmatch(line.lower()) is not None).strip()
    left = without("short_lines", lambda line: len(line.split()) < config.min_line_words)
    for pattern in (r"\s?items in cart", r"\s?read more...$", r"^sign-in\s?"):
        lines = []
        for line in left.split("\n"):
            short = len(line.split()) <= config.max_substring_words
            rest, cuts = re.subn(pattern, "", line, flags=re.IGNORECASE) if short else (line, 0)
            counts["substring_cuts"] += cuts > 0
            if not cuts or rest.strip():
                lines.append(rest)
        left = "\n".join(lines).strip()
    words, lines = text.split(), [line.strip() for line in text.split("\n") if line.strip()]
    before, after = _tokens(text), _tokens(left)
    return {
        **counts,
        "lines": len(text.split("\n")),
        "words": before,
        "kept_words": after,
        "removed_word_ratio": share(before - after, before),
        "mean_word_chars": share(sum(map(len, words)), len(words)),
        "symbol_ratio": share(sum(map(text.count, ("#", *ELLIPSES))), len(words)),
        "non_alpha_ratio": share(sum(not any(map(str.isalpha, word)) for word in words), len(words)),
        "bullet_ratio": share(sum(line[0] in "●•*-" for line in lines), len(lines)),
        "ellipsis_ratio": share(sum(line.endswith(ELLIPSES) for line in lines), len(lines)),
        "stop_words": sum(word.lower() in STOPS for word in words),
    }, left


def _tokens(text: str) -> int:
    """fastText's words, those that begin with a letter or a digit."""
    return sum(word[:1].isalnum() for word in re.split("[ \n\r\t\v\f\0]", text))


def madlad(
    text: str, config: Any, curses: Sequence[str] | None = None, expressions: Sequence[str] = ()
) -> Mapping[str, float | None]:
    """The measures of a page."""
    sentences = [piece for piece in re.split(r"[.!?]+\s+", text) if piece.strip()]
    broken: list[set[str]] = []
    for sentence in sentences:
        firsts = [next(filter(lambda c: c.isalpha() or c.isdecimal(), word), "") for word in sentence.split()]
        words = [first for first in firsts if first]
        found = {
            "list_case": len(words) >= config.min_case_words
            and share(sum(map(str.isupper, words)), len(words)) > config.max_case_share,
            "short": len(sentence) < config.min_chars,
            "long": len(sentence) > config.max_chars,
            "technical": share(sum(c in "0123456789{}+/()>" for c in sentence), len(sentence))
            > config.max_technical_share,
            "cursed": any(curse in sentence for curse in curses or ())
            or any(re.search(expression, sentence) for expression in expressions),
        }
        broken.append({name for name, breaks in found.items() if breaks})
    chosen = {
        "language": set(),
        "case": {"list_case"},
        "length": {"short", "long"},
        "technical": {"technical"},
        "cursed": {"cursed"},
    }
    asked = set().union(*(chosen[rule] for rule in config.rules))
    questionable = sum(bool(names & asked) for names in broken)
    return {
        "sentences": len(sentences),
        "other_language_sentences": None,
        **{f"{name}_sentences": sum(name in names for names in broken) for name in ("list_case", "short", "long")},
        "technical_sentences": sum("technical" in names for names in broken),
        "cursed_sentences": None if curses is None else sum("cursed" in names for names in broken),
        "questionable_sentences": questionable,
        "questionable_ratio": share(questionable, len(sentences)),
    }


def share(part: int, whole: int) -> float:
    """A share of nothing is 0."""
    return part / whole if whole else 0.0
