"""The taxonomy of harmful content: categories, subcategories, and the operators that detect each.

The taxonomy is versioned: a subcategory keeps its meaning under a version. One without operators is still listed, so
that a report shows that it was not examined. An operator declares which of its columns detect which subcategory
(`Operator.detects`); both declarations must agree.
"""

from dataclasses import dataclass
from functools import lru_cache

VERSION = 2
"""Increased when a subcategory is added, removed or changed."""


@dataclass(frozen=True, slots=True)
class Subcategory:
    """One kind of harm, and the operators that look for it."""

    name: str
    meaning: str
    operators: tuple[str, ...] = ()  # that can detect it


@dataclass(frozen=True, slots=True)
class Category:
    """A group of related kinds of harm."""

    name: str
    meaning: str
    subcategories: tuple[Subcategory, ...]


_URLS = "url.blocklist"
_WORDS = "text.wordlist"
_TOXIC = "text.toxicity"
_MODEL = "text.safety_model"
_SPAM = "text.spam"
_PII = "text.pii"
_NAMES = "text.names"
_SECRETS = "text.secrets"
_OPT_OUT = "page.opt_out"
_ROBOTS = "url.robots"
_PICTURES = "image.nsfw"

TAXONOMY: tuple[Category, ...] = (
    Category(
        "sexual",
        "sexual content",
        (
            Subcategory("adult_site", "the page lies on a site that is listed as adult", (_URLS,)),
            Subcategory("explicit", "the text is sexually explicit", (_MODEL,)),
            Subcategory("spam", "sexual services, adverts and link farms", (_SPAM,)),
            Subcategory("minors", "sexual content that involves minors", (_MODEL,)),
            Subcategory("picture", "a picture is pornographic", (_PICTURES,)),
        ),
    ),
    Category(
        "language",
        "abusive and vulgar language",
        (
            Subcategory("vulgar", "words of lists of vulgar, obscene and abusive words", (_WORDS,)),
            Subcategory("toxic", "rude or disrespectful, likely to make people leave a discussion", (_TOXIC, _MODEL)),
            Subcategory("severe_toxic", "very hateful or aggressive", (_TOXIC, _MODEL)),
            Subcategory("obscene", "obscene language", (_TOXIC, _MODEL)),
            Subcategory("insult", "insults of a person or a group", (_TOXIC, _MODEL)),
            Subcategory("identity_hate", "hatred of a group for what its members are", (_TOXIC, _MODEL)),
            Subcategory("threat", "threats of harm", (_TOXIC, _MODEL)),
        ),
    ),
    Category(
        "danger",
        "what may hurt people",
        (
            Subcategory("violence", "graphic or glorified violence", (_MODEL,)),
            Subcategory("self_harm", "suicide and self-harm, encouraged or instructed", (_MODEL,)),
            Subcategory("extremism", "propaganda of violent movements", (_MODEL,)),
            Subcategory("weapons_drugs", "making and selling of weapons and drugs", (_MODEL,)),
            Subcategory("listed_site", "the page lies on a site of a list of dangerous sites", (_URLS,)),
        ),
    ),
    Category(
        "spam",
        "texts made to sell or to deceive",
        (
            Subcategory("gambling", "adverts and link farms of betting and casinos", (_SPAM, _URLS)),
            Subcategory("listed_site", "the page lies on a site of a list of spam and fraud", (_URLS,)),
        ),
    ),
    Category(
        "personal",
        "data about a person",
        (
            Subcategory("email", "e-mail addresses", (_PII,)),
            Subcategory("phone", "telephone numbers", (_PII,)),
            Subcategory("ip", "public IP addresses", (_PII,)),
            Subcategory("iban", "bank accounts", (_PII,)),
            Subcategory("card", "payment cards", (_PII,)),
            Subcategory("national_id", "numbers that states give to persons", (_PII,)),
            Subcategory("crypto_address", "addresses of Bitcoin wallets", (_PII,)),
            Subcategory("name", "names of persons", (_NAMES,)),
            Subcategory("address", "street addresses", (_NAMES,)),
        ),
    ),
    Category(
        "secrets",
        "what gives access",
        (Subcategory("credential", "tokens, keys and passwords", (_SECRETS,)),),
    ),
    Category(
        "rights",
        "what its owner does not want to be trained on",
        (
            Subcategory(
                "opt_out", "the response, the page or its host opts out of mining or training", (_OPT_OUT, _ROBOTS)
            ),
            Subcategory("listed_domain", "the domain is on a list of those that opted out", (_URLS,)),
        ),
    ),
)


@lru_cache(maxsize=1)
def subcategories() -> dict[str, Subcategory]:
    """Every subcategory by its full name, such as `sexual.adult_site`, in the taxonomy's order."""
    return {f"{category.name}.{one.name}": one for category in TAXONOMY for one in category.subcategories}
