"""Texts that follow a pattern: encyclopedia entries, board threads, forecasts, product sheets, match reports.

Entries and threads are composed sentence by sentence, so they differ; forecasts, products and matches deliberately
share their wording and differ in numbers and names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from winnow.runners.demo.choice import between, pick, shuffled
from winnow.runners.demo.texts import Text, language

_FIRST = (
    "Al",
    "Bren",
    "Carr",
    "Dun",
    "Ell",
    "Fen",
    "Gar",
    "Hol",
    "Ing",
    "Kel",
    "Lin",
    "Mor",
    "Nor",
    "Os",
    "Pen",
    "Rav",
)
_LAST = (
    "bridge",
    "by",
    "combe",
    "dale",
    "ford",
    "ham",
    "holm",
    "ley",
    "mere",
    "ness",
    "stead",
    "thorpe",
    "ton",
    "wick",
)
_DIRECTIONS = ("northern", "southern", "eastern", "western", "lower", "upper")
_TRADES = ("slate", "wool", "salt", "glass", "rope", "paper", "barley", "bells", "clay pipes", "oak bark")

_ENTRY: tuple[tuple[str, ...], ...] = (
    (
        "{place} is a parish of {people} inhabitants in the {side} part of {county}, known chiefly for its {trade}.",
        "{place} is a village in {county}, on the {side} bank of the river {river}, with a population of {people}.",
        "The town of {place}, {people} inhabitants at the last count, is the seat of the {side} hundred of {county}.",
    ),
    (
        "Its name is first recorded in {year} in a list of debts, where it is spelled in three different ways.",
        "The oldest document to mention it, from {year}, concerns a dispute over a millstone.",
        "It received the right to hold a market in {year}, and lost it again for a time after a fight among drovers.",
    ),
    (
        "The church has a wooden tower, a clock without a minute hand and a font carved from a single block of {trade2} stone.",
        "Of the old walls only the gate towards the {river} is left, and it is used as a store for fishing nets.",
        "A school stands on the site of the former customs house; its attic is let to a society of bell ringers.",
    ),
    (
        "Until {year2} most families lived by {trade}, which was carried to the coast on flat boats.",
        "Trade in {trade} and {trade2} declined after {year2}, when the railway was built along the other shore.",
        "In {year2} a fire destroyed the {side} quarter, and the streets there are still wider than elsewhere.",
    ),
    (
        "Every {month} a procession carries an empty chair from the bridge to the square; its origin is unknown.",
        "The annual fair in {month} begins with a race in which the competitors walk backwards.",
        "In {month} the river is closed for one day so that children may be taught to row.",
    ),
    (
        "Among those born here are a maker of globes, two bishops and the author of a cookery book without recipes.",
        "The surveyor who first measured the height of the {county} hills is buried beneath a stone of {number} sides.",
        "A bus runs {number} times a day, except in {month}, when it runs when the driver thinks it is needed.",
    ),
)

_QUESTIONS = (
    "My {thing} makes a {noise} noise since I {did} it last week. It only happens when it is cold. Any ideas before I take it apart?",
    "Found an old {thing} in the shed, probably from {year}. It turns but it will not hold. Is it worth saving?",
    "What do you use to clean a {thing}? I tried vinegar and the colour changed, which I did not expect.",
    "Second {thing} that broke on me in {number} months. Same part both times. Is there a stronger one?",
)
_ANSWERS = (
    "I had the same with mine. It was the {part}, and a drop of oil was enough. Check that before you order anything.",
    "Please post a picture of the {part}. There were at least {number} versions and they look alike from outside.",
    "Do not force it. Warm the {part} with a hair dryer for ten minutes and it comes off by hand.",
    "Vinegar is fine for brass but not for anything plated. Use warm soapy water and an old toothbrush.",
    "The {year} model has a left-handed thread. Guess how I found out.",
    "Mine has run for {number} years with a {part} cut from a yoghurt pot. Not pretty, but there you are.",
    "Update: it was the {part} after all. Thanks to everybody, especially for talking me out of the hammer.",
    "If the {noise} noise comes back, put a washer of thin leather behind the {part}.",
)
_THINGS = (
    "hand drill",
    "sewing machine",
    "bicycle pump",
    "coffee grinder",
    "paraffin lamp",
    "wall clock",
    "apple press",
    "typewriter",
)
_PARTS = ("spring", "felt washer", "bearing", "pawl", "gasket", "set screw", "belt", "ratchet")
_NOISES = ("grinding", "clicking", "whistling", "dull", "squeaking")
_REPAIRS = ("oiled", "moved", "cleaned", "lent out", "painted")
_MEMBERS = ("oldbrass", "tinker_77", "Marit", "greasemonkey", "left_thread", "quietfile", "bea", "nils_h")
_MONTHS = ("March", "April", "May", "June", "July", "August", "September", "October")
_TEAMS = ("Näs IF", "Brackens BK", "Sjövalla", "Hallens SK", "Ostlings AIS", "Varns FF", "Gullbergs IK", "Skärets BoIS")
_PRODUCTS = ("wood screw", "hinge", "hook", "bolt", "bracket", "washer", "latch", "nail")
_FINISHES = ("zinc", "brass", "black", "stainless")


def place(*purpose: str | int) -> str:
    """A plausible place name."""
    return pick(_FIRST, "first", *purpose) + pick(_LAST, "last", *purpose)


def entry(number: int, purpose: str = "wiki") -> Text:
    """An encyclopedia entry about a place: six sentences, chosen and filled in by its number."""
    words = {
        "place": place(purpose, number),
        "county": place(purpose, number, "county") + "shire",
        "river": pick(_FIRST, purpose, number, "river"),
        "people": str(between(180, 9_800, purpose, number, "people")),
        "side": pick(_DIRECTIONS, purpose, number),
        "trade": pick(_TRADES[:5], purpose, number),
        "trade2": pick(_TRADES[5:], purpose, number),
        "year": str(between(1090, 1560, purpose, number)),
        "year2": str(between(1790, 1930, purpose, number)),
        "month": pick(_MONTHS, purpose, number),
        "number": str(between(3, 11, purpose, number)),
    }
    sentences = [pick(options, purpose, number, at).format(**words) for at, options in enumerate(_ENTRY)]
    paragraphs = (" ".join(sentences[:2]), " ".join(sentences[2:4]), " ".join(sentences[4:]))
    return Text(language("eng"), "place", words["place"], paragraphs)


@dataclass(frozen=True, slots=True)
class Thread:
    """A topic on a board: its text, and the markup of its posts with names, dates and signatures."""

    text: Text
    markup: str


def thread(number: int) -> Thread:
    """A question and three to six answers."""
    thing = pick(_THINGS, "thread", number)

    def fill(sentence: str, at: int) -> str:
        return sentence.format(
            thing=thing,
            part=pick(_PARTS, "thread", number, at),
            noise=pick(_NOISES, "thread", number),
            did=pick(_REPAIRS, "thread", number),
            year=between(1931, 1988, "thread", number),
            number=between(2, 30, "thread", number, at),
        )

    answers = shuffled(_ANSWERS, "answers", number)[: between(3, 6, "answers", number)]
    posts = (fill(pick(_QUESTIONS, "thread", number), 0), *(fill(answer, at) for at, answer in enumerate(answers, 1)))
    members = shuffled(_MEMBERS, "members", number)
    markup = "\n".join(
        f'<div class="post" id="p{number}{at}"><p class="author">by <b>{members[at]}</b> » 2023-10-{at + 10}, 19:{at + 20}</p>'
        f'<div class="content">{escape(post, quote=False)}</div><div class="signature">{members[at]} — joined 2019 — posts: {between(3, 4000, members[at])}</div></div>'
        for at, post in enumerate(posts)
    )
    return Thread(
        Text(language("eng"), "repair", f"{thing.capitalize()}: {pick(_NOISES, 'thread', number)} trouble", posts),
        markup,
    )


def forecast(number: int) -> Text:
    """A weather page; all of them have the same sentences."""
    where = place("weather", number)
    low, high = between(-6, 9, "low", number), between(10, 24, "high", number)
    return Text(
        language("eng"),
        "weather",
        f"Weather in {where}",
        (
            f"Today in {where}: high {high} °C, low {low} °C, chance of rain {between(0, 100, 'rain', number)} %.",
            f"Wind {between(1, 18, 'wind', number)} m/s from the {pick(('north', 'east', 'south', 'west'), 'wind', number)}, "
            f"humidity {between(30, 99, 'humid', number)} %, pressure {between(980, 1036, 'pressure', number)} hPa.",
            f"Sunrise 0{between(4, 8, 'up', number)}:{between(10, 59, 'up', number)}, "
            f"sunset {between(16, 21, 'down', number)}:{between(10, 59, 'down', number)}. "
            f"Tomorrow: {between(5, 24, 'next', number)} °C and {pick(('sun', 'cloud', 'showers', 'fog', 'sleet'), 'next', number)}.",
        ),
    )


def product(number: int) -> Text:
    """A product sheet; all of them have the same sentences."""
    name = pick(_PRODUCTS, "product", number)
    finish = pick(_FINISHES, "product", number)
    length = between(8, 160, "length", number)
    return Text(
        language("eng"),
        "product",
        f"{finish.capitalize()} {name}, {length} mm",
        (
            f"Article {between(100_000, 999_999, 'article', number)}. {finish.capitalize()} {name}, length {length} mm, "
            f"diameter {between(2, 14, 'diameter', number)} mm, sold in bags of {pick((10, 25, 50, 100), 'bag', number)}.",
            f"Price {between(1, 39, 'price', number)}.{between(10, 99, 'price', number)} per bag. "
            f"In stock: {between(0, 900, 'stock', number)}. Weight {between(40, 2_000, 'weight', number)} g. Delivery in two to four days.",
        ),
    )


def match(number: int) -> Text:
    """A football result in Swedish; all of them have the same sentences."""
    home, away = shuffled(_TEAMS, "match", number)[:2]
    ours, theirs = between(0, 5, "home", number), between(0, 4, "away", number)
    return Text(
        language("swe"),
        "football",
        f"{home}–{away} {ours}–{theirs}",
        (
            f"{home} mötte {away} i omgång {between(1, 26, 'round', number)} och matchen slutade {ours}–{theirs} "
            f"inför {between(80, 2_400, 'crowd', number)} åskådare.",
            f"Halvtid {min(ours, 1)}–{min(theirs, 1)}. Gula kort: {between(0, 6, 'cards', number)}. "
            f"Hörnor: {between(1, 14, 'corners', number)}–{between(1, 14, 'corners', 'away', number)}.",
        ),
    )


TEMPLATED: dict[str, tuple[Callable[[int], Text], int]] = {
    "forecast": (forecast, 30),
    "product": (product, 30),
    "match": (match, 12),
}
