"""Prefixes and suffixes that a listed word may have, for languages that inflect that way.

These are closed lists from grammars; nothing is guessed from letters. In other languages only listed forms match: for
Slavic languages, Greek or Hindi, forms that are not listed are missed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True, slots=True)
class Affixes:
    """The affixes of a language."""

    suffixes: frozenset[str]
    prefixes: frozenset[str] = frozenset()
    min_letters: int = 4  # of a word with affixes: shorter ones become other words too easily


def _chains(*slots: str) -> frozenset[str]:
    """All combinations of one affix per slot, where `-` is none."""
    parts = [["" if part == "-" else part for part in slot.split()] for slot in slots]
    return frozenset({"".join(chain) for chain in product(*parts)} - {""})


def _one_of(affixes: str) -> frozenset[str]:
    return frozenset(affixes.split())


_KOREAN = """
    이 가 은 는 을 를 의 에 에서 에게 에게서 께 께서 한테 와 과 랑 이랑 하고 도 만 로 으로 부터 까지 처럼 보다 마다
    조차 밖에 들 들이 들은 들을 들의 들에게 들도 들과 야 이야 이다 입니다 이에요 예요 이고 이나 나 인 이라 라 이라고
    라고 이라는 라는 같은 같이 이었다 였다 이네 네
"""
_ARABIC_BEFORE = "و ف ب ك ل ال وال بال فال كال لل ول وب ولل يا"
_ARABIC_BEHIND = "ه ها هم هن ك كم ي نا ين ون ان"  # without the feminine endings, which make other words
_HUNGARIAN = (
    "- k ok ek ak ök m d ja je a e unk ünk om em am öm od ed ad öd juk jük uk ük ai ei",
    "- t ot et at öt nak nek ban ben ba be ból ből ra re ról ről tól től hoz hez höz nál nél val vel kal kel ért ig",
)
_FINNISH = (
    "- i j e",
    "- n a ä ta tä ssa ssä sta stä lla llä lta ltä lle na nä ksi t en in an on un yn än ön den tten hin",
    "- ni si nsa nsä mme nne",
    "- ko kö kin han hän pa pä",
)
_TURKISH = (
    "- lar ler",
    "- ım im um üm m ın in un ün n ı i u ü sı si su sü ımız imiz umuz ümüz ları leri",
    "- yı yi yu yü nı ni nu nü a e ya ye na ne da de ta te nda nde dan den tan ten ndan nden nın nin nun nün la le "
    "yla yle",
    "- dır dir dur dür tır tir tur tür",
)

AFFIXES: Mapping[str, Affixes] = {
    "ara": Affixes(_one_of(_ARABIC_BEHIND), _one_of(_ARABIC_BEFORE), min_letters=3),
    "deu": Affixes(_one_of("n en s es e er ern")),
    "eng": Affixes(_one_of("s es")),
    "fas": Affixes(_one_of("ها های هایی ی ای م ت ش مان تان شان"), min_letters=3),
    "fin": Affixes(_chains(*_FINNISH)),
    "fra": Affixes(_one_of("s e es x")),
    "hun": Affixes(_chains(*_HUNGARIAN)),
    "kor": Affixes(_one_of(_KOREAN), min_letters=2),
    "nld": Affixes(_one_of("s en")),
    "por": Affixes(_one_of("s es")),
    "spa": Affixes(_one_of("s es")),
    "tur": Affixes(_chains(*_TURKISH)),
}
