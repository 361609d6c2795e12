"""Pages planted to be found: repetitions, spam, adult hosts, personal data, pages without an article, opt-outs."""

from dataclasses import replace

from winnow.runners.demo.captures import Capture, Truth
from winnow.runners.demo.choice import between, number, pick, shuffled
from winnow.runners.demo.grammar import entry, place
from winnow.runners.demo.pages import article, page, path_of, published, truth_of
from winnow.runners.demo.sites import BY_ADDRESS, FORUM, MIRRORS, OPTED_OUT, PLANTED, SITES, Site, site_for
from winnow.runners.demo.texts import Text, language, spare_text

EDITED_PERCENT = (1, 3, 8, 20, 35)
COPIES_PER_STEP = 6
ADULT_HOSTS = ("velvet-evenings.example", "after-midnight.test", "peach-lounge.example", "www.late-show-only.test")
LISTED_ONLY = (
    "silk-and-candle.example",
    "midnight-postcards.test",
    "red-curtain.invalid",
)  # on the list, not in the crawl


def planted_pages() -> list[Capture]:
    """All of them, in a fixed order."""
    return [*near_duplicates(), *spam(), *adult(), *personal_data(), *boilerplate_only(), *opted_out(), *canonical()]


def adult_list() -> str:
    """The domain list in the usual format: one host per line."""
    hosts = sorted({host.removeprefix("www.") for host in ADULT_HOSTS} | set(LISTED_ONLY))
    return "# Fictional hosts of the demo crawl.\n" + "".join(f"{host}\n" for host in hosts)


def similarity(one: str, other: str) -> float:
    """Jaccard over 5-grams of words; of characters where the text has few spaces. Four decimals."""
    grams = [_five_grams(text) for text in (one, other)]
    return round(len(grams[0] & grams[1]) / max(1, len(grams[0] | grams[1])), 4)


def _five_grams(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    units = words if len(text) < 14 * len(words) else list("".join(words))
    return {tuple(units[at : at + 5]) for at in range(max(1, len(units) - 4))}


def edited(text: Text, percent: int, *purpose: str | int) -> Text:
    """The text with about this percentage of its words replaced by other words from it."""
    words = text.body.split()

    def edit(paragraph: str, row: int) -> str:
        return " ".join(
            pick(words, "with", *purpose, row, at) if number("edit", *purpose, row, at) % 100 < percent else word
            for at, word in enumerate(paragraph.split(" "))
        )

    return replace(text, paragraphs=tuple(edit(paragraph, row) for row, paragraph in enumerate(text.paragraphs)))


def near_duplicates() -> list[Capture]:
    """Copies of different similarity: edited words, mirrors, a missing end, an added beginning, other addresses."""
    every = shuffled(published().items(), "originals")
    originals = iter([(url, text, site) for url, (text, site) in every if len(text.body.split()) > 90])
    unspaced = [(url, text) for url, (text, _) in every if text.language.key in ("jpn", "cmn-Hans", "tha", "khm")]
    copies = []
    for percent in EDITED_PERCENT:
        for at in range(COPIES_PER_STEP):
            url, text, _ = next(originals)
            changed = edited(text, percent, "edit", at)
            copies.append(_copy(url, text, changed, f"edited-{percent}", pick(MIRRORS, percent, at)))
    for url, text in unspaced[:6]:
        copies.append(_copy(url, text, _edited_characters(text), "edited-characters", MIRRORS[1]))
    for at in range(8):
        url, text, _ = next(originals)
        copies.append(_copy(url, text, text, "mirror", pick(MIRRORS, "mirror", at)))
    for _ in range(4):
        url, text, _ = next(originals)
        copies.append(_copy(url, text, replace(text, paragraphs=text.paragraphs[:-1]), "lost-end", MIRRORS[0]))
        url, text, site = next(originals)
        credit = f"Reposted from {site.host} with kind permission of nobody in particular."
        longer = replace(text, paragraphs=(credit, *text.paragraphs))
        copies.append(_copy(url, text, longer, "credited", MIRRORS[1]))
    for at in range(10):
        url, _, _ = next(originals)
        copies.append(_same_page(url, at))
    return copies


def _copy(url: str, text: Text, changed: Text, case: str, site: Site) -> Capture:
    """The changed text on another site, with its similarity to the original."""
    truth = replace(truth_of(changed, "near_duplicate", case), of=url, similarity=similarity(text.body, changed.body))
    return page(site, changed, path=f"/{case}{path_of(text)}", truth=truth)


def _same_page(url: str, at: int) -> Capture:
    """The same page under the other scheme, or with tracking parameters in its address."""
    scheme, _, rest = url.partition("://")
    tracked = f"{url}?utm_source=letter&utm_medium=mail&utm_id={at}"
    other = f"{'http' if scheme == 'https' else 'https'}://{rest}" if at % 2 else tracked
    original = article(url)
    truth = replace(original.truth, kind="near_duplicate", case="same-page", of=url, similarity=1.0)
    return replace(original, url=other, truth=truth)


def _edited_characters(text: Text) -> Text:
    """The text with 3 % of its characters replaced by others from it: an edit for scripts without spaces."""

    def edit(paragraph: str, row: int) -> str:
        return "".join(
            pick(text.body, "character", row, at) if number("edit", text.title, row, at) % 100 < 3 else character
            for at, character in enumerate(paragraph)
        )

    return replace(text, paragraphs=tuple(edit(paragraph, row) for row, paragraph in enumerate(text.paragraphs)))


_STUFFING = (
    ("cheap watches", "replica watches", "buy watches online", "best watches price", "luxury watches discount"),
    ("casino bonus", "free spins", "online slots", "no deposit bonus", "best casino 2023"),
    ("discount pills", "pharmacy online", "cheap pills no prescription", "order pills", "fast shipping pills"),
    ("payday loan", "instant loan", "bad credit loan", "loan approval today", "cheap loan online"),
    ("essay writing", "buy essay", "cheap essay service", "essay help online", "write my essay"),
)
_STUFFING_ELSEWHERE = {
    "spa": ("casino online", "bono gratis", "tragaperras gratis", "apuestas seguras", "giros gratis"),
    "rus": ("казино онлайн", "бонус без депозита", "игровые автоматы", "бесплатные вращения", "играть на деньги"),
    "deu": ("Kredit ohne Schufa", "Sofortkredit", "Kredit billig", "Kredit online", "Kredit vergleichen"),
}


def spam() -> list[Capture]:
    """Keyword stuffing, link farms and doorway pages."""
    captures = []
    for at in range(12):
        words = pick(_STUFFING, "stuffing", at)
        captures.append(_keyword_stuffing("eng", words, at))
    captures += [_keyword_stuffing(key, words, 50 + at) for at, (key, words) in enumerate(_STUFFING_ELSEWHERE.items())]
    for at in range(6):
        words = _STUFFING[at % len(_STUFFING)]
        names = [f"{pick(words, 'farm', at, row)} {place('farm', at, row).lower()}" for row in range(60)]
        markup = (
            "<ul>"
            + "".join(
                f'<li><a href="http://farm{at}-{row}.linkpile.test/">{name}</a></li>' for row, name in enumerate(names)
            )
            + "</ul>"
        )
        text = Text(language("eng"), "spam", f"Links about {words[0]}", tuple(names))
        site = Site(f"farm{at}.linkpile.test", "Link pile", "tables", (), "http")
        captures.append(page(site, text, path="/index.html", truth=truth_of(text, "spam", "link_farm"), body=markup))
    return captures


def _keyword_stuffing(key: str, words: tuple[str, ...], at: int) -> Capture:
    lines = tuple(
        " ".join(pick(words, "stuff", at, row, column) for column in range(between(18, 34, "stuff", at, row))) + "."
        for row in range(8)
    )
    text = Text(language(key), "spam", f"{words[0]} {words[1]} {words[4]}".upper(), lines)
    site = Site(f"{place('spam', at).lower()}-deals{at}.example", "Best deals", "blog", (), "http")
    return page(site, text, path=f"/{words[0].split(' ')[0]}", truth=truth_of(text, "spam", "keyword_stuffing"))


_HOUSE_RULES = (
    "Nothing on this page is for minors.",
    "Leave now if you came here by mistake.",
    "Photographs may not be taken inside.",
    "Coats are kept at the door and returned at three.",
    "The bar accepts tokens only.",
    "Names are never used, and nobody is asked for one.",
    "Members may bring one guest, who signs the same book.",
    "Complaints are read aloud on Mondays.",
)


def adult() -> list[Capture]:
    """Pages on the hosts of the adult list."""
    captures = []
    for at in range(8):
        host = ADULT_HOSTS[at % len(ADULT_HOSTS)]
        text = Text(
            language("eng"),
            "adult",
            f"Evening programme {at + 1}",
            (
                "This site is for adults only. By entering you confirm that you are of legal age where you live.",
                f"Tonight's programme has {between(3, 9, 'adult', at)} parts. Members sign in above; visitors may read the house rules.",
                " ".join(shuffled(_HOUSE_RULES, "rules", at)[:4]),
            ),
        )
        site = Site(host, "Adults only", "magazine")
        captures.append(page(site, text, path=f"/tonight/{at}", truth=truth_of(text, "adult", "listed_host")))
    return captures


# Telephone numbers from ranges reserved for fiction, and account numbers from documentation of the formats.
_PEOPLE: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("eng", "You can reach {name} at {email} or, during office hours, on {phone}.", (("phone", "+44 20 7946 0123"),)),
    (
        "eng",
        "Call {name} on {phone} or write to {email}; the front desk is at {phone2}.",
        (("phone", "(212) 555-0143"), ("phone2", "+1 202 555 0108")),
    ),
    (
        "eng",
        "Please transfer the fee to {iban} and send the receipt to {email}. {name} keeps the list.",
        (("iban", "GB82 WEST 1234 5698 7654 32"),),
    ),
    (
        "eng",
        "{name} pasted a card number into the thread, {card}, and the moderators were not amused. Mail {email}.",
        (("card", "4111 1111 1111 1111"),),
    ),
    (
        "eng",
        "The log shows {ip} and {ip6}; the account belongs to {email}, says {name}.",
        (("ip", "198.51.100.23"), ("ip6", "2001:db8::8a2e:370:7334")),
    ),
    (
        "deu",
        "Anmeldung bei {name}, Telefon {phone}, E-Mail {email}. Die Gebühr geht auf das Konto {iban}.",
        (("phone", "+49 30 23125 042"), ("iban", "DE89 3704 0044 0532 0130 00")),
    ),
    (
        "swe",
        "Kontakta {name} på {phone} eller {email}. Avgiften betalas till {iban}.",
        (("phone", "070-174 06 35"), ("iban", "SE45 5000 0000 0583 9825 7466")),
    ),
    (
        "fra",
        "Inscriptions auprès de {name} au {phone} ou par courriel à {email}; virement sur {iban}.",
        (("phone", "01 99 00 12 34"), ("iban", "FR14 2004 1010 0505 0001 3M02 606")),
    ),
    ("nld", "Aanmelden bij {name} via {email}. Het bedrag kan naar {iban}.", (("iban", "NL91 ABNA 0417 1643 00"),)),
    ("nob", "Meld deg på hos {name}, {email}. Kontonummeret er {iban}.", (("iban", "NO93 8601 1117 947"),)),
    (
        "spa",
        "Escriba a {name} en {email} o llame al {phone}. La tarjeta de prueba es {card}.",
        (("phone", "+1 (303) 555-0177"), ("card", "5555 5555 5555 4444")),
    ),
    ("jpn", "お問い合わせは {name}、{email} まで。", ()),
)
_NAMES = ("Mara Lindqvist", "Otto Brenner", "Jean Aubert", "Priya Dorrit", "Sam Treddle", "Ines Castell")


def personal_data() -> list[Capture]:
    """Contact lists, threads and notices with invented people; the truth lists the values."""
    captures = []
    for at, (key, sentence, values) in enumerate(_PEOPLE):
        name = pick(_NAMES, "person", at)
        email = name.lower().replace(" ", ".") + pick(("@example.com", "@example.org", "@mail.example.net"), "mail", at)
        filled = sentence.format(name=name, email=email, **dict(values))
        around = (entry(at, "contact") if key == "eng" else spare_text(key, 0)).paragraphs
        text = Text(language(key), "contact", f"{name} ({at + 1})", (around[0], filled, *around[1:]))
        personal = (("email", email), *((what.rstrip("0123456789"), value) for what, value in values))
        truth = replace(truth_of(text, "pii", "contact"), personal=personal)
        site = FORUM if at == 3 else site_for(key, "pii", at)
        body = None
        if site is FORUM:
            body = "".join(f'<div class="post"><div class="content">{part}</div></div>' for part in text.paragraphs)
        captures.append(page(site, text, path=f"/contact/{at}", truth=truth, body=body))
    return captures


def boilerplate_only() -> list[Capture]:
    """Pages with a template but no article: section fronts, consent walls, an empty search."""
    captures = []
    for at, site in enumerate(SITES[:10]):
        key = site.languages[0] if site.languages else "eng"
        text = Text(language(key), "front", site.name, ())
        truth = Truth("boilerplate_only", "front", language(key).iso, site.name)
        captures.append(page(site, text, path=f"/section/{at}", truth=truth, body='<div class="results"></div>'))
    return captures


def opted_out() -> list[Capture]:
    """Reservations in meta tags, in headers, as malformed values, and for one named crawler only."""
    cases: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
        ("meta-noai", '<meta name="robots" content="noai, noimageai">\n', ()),
        ("meta-noindex", '<meta name="robots" content="noindex">\n', ()),
        (
            "meta-tdm",
            '<meta name="tdm-reservation" content="1">\n<meta name="tdm-policy" content="https://www.keepout.example/policy.json">\n',
            (),
        ),
        ("header-noai", "", (("X-Robots-Tag", "noai"),)),
        ("header-tdm", "", (("tdm-reservation", "1"),)),
        ("header-tdm-no", "", (("tdm-reservation", "0"),)),
        ("header-named", "", (("X-Robots-Tag", "examplebot: noindex, nofollow"),)),
        ("malformed-tdm", "", (("tdm-reservation", "yes please"),)),
        ("malformed-meta", '<meta name="robots" content="noai;;all,,">\n', ()),
    )
    texts = [spare_text(key) for key in ("eng", "por", "vie", "ind", "hun", "ron", "ces", "pes", "urd")]
    captures = []
    for (case, head, headers), text in zip(cases, texts, strict=True):
        one = page(OPTED_OUT, text, path=f"/{case}", truth=truth_of(text, "opt_out", case), head=head)
        captures.append(replace(one, headers=headers))
    return captures


def canonical() -> list[Capture]:
    """Pages whose canonical link is their own address, another host or a script, and one page on a bare IP address."""
    texts = [spare_text(key) for key in ("kat", "isl", "bul")]
    links = ("{url}", "https://elsewhere.example/original", "javascript:alert(1)")
    captures = []
    for at, (text, link) in enumerate(zip(texts, links, strict=True)):
        target = link.format(url=PLANTED.url(f"/canonical/{at}"))
        head = f'<link rel="canonical" href="{target}">\n'
        captures.append(
            page(
                PLANTED,
                text,
                path=f"/canonical/{at}",
                truth=truth_of(text, "canonical", ("self", "other", "script")[at]),
                head=head,
            )
        )
    text = spare_text("ekk")
    captures.append(page(BY_ADDRESS, text, path="/index", truth=truth_of(text, "canonical", "bare_address")))
    return captures
