"""Cues: words that announce a kind of number, such as `Tel.`, `Fax` and `DNI`, in many languages.

A cue counts if it precedes a number with little between: `Tel. (privat): `, `call us on `. The window is bounded, so
even a text of only cues takes linear time.
"""

import re
from collections.abc import Sequence

__all__ = ["Cues", "window", "words"]

_LOOK_BACK = 96  # bytes before a number
_GAP = 24  # characters between a cue and its number, none of them a digit or the end of a line
_SIGNS = " \t\n\r\xa0\u202f\u3000:：.-–—=>(（)[]#№º°'\"“”„|/,;*_+、，。"  # allowed between, also across two lines
_MAX_SIGNS = 8
_LONGEST_WORD = 24
_MAX_FILLERS = 2
_FILLER_WORDS = """
n no nr nro num number nummer numer numero número numéro nombre nos is ist es est er är on je jest è é z номер code kod
kode kood código codice der des del di de do da of the my your
"""  # allowed between a cue and its number
_FILLERS = frozenset(_FILLER_WORDS.split())
_LINES = re.compile(r"[\d\n]")
_WORDS = re.compile(r"[^\W\d_]+")
_LAST_WORD = re.compile(r"(?<![^\W_])[^\W\d_]+\Z")
_SPACED_SCRIPTS = "\u0900"  # below it are scripts of whole letters whose words are separated by blanks
_INITIAL = re.compile(r"(?<![^\W_])([a-z])[.:]\s{0,2}[(+]{0,2}\Z")


class Cues:
    """The cues of one kind, matched in lower case before a position.

    Words match as whole words in scripts that separate words by blanks; in other scripts, and those whose vowels are
    marks, they match anywhere. Other words may stand between `strong` cues and the number; after ambiguous `weak` ones
    only signs and blanks may; `letters` are weak cues of one letter before a colon or dot.
    """

    def __init__(self, strong: Sequence[str], weak: Sequence[str] = (), letters: str = "") -> None:
        everything = (*strong, *weak)
        self._far = frozenset(word for word in strong if _whole(word))
        self._far_parts = tuple(word for word in strong if not _whole(word))
        self._far_ascii = tuple(word for word in self._far_parts if word.isascii())
        self._near = frozenset(word for word in everything if _whole(word))
        self._near_parts = tuple(word for word in everything if not _whole(word))
        self._letters = frozenset(letters)

    def before(self, text: str) -> bool:
        """Whether this lower-case text ends with a cue."""
        if self._directly_before(text):
            return True
        line = _LINES.split(text[-_GAP - _LONGEST_WORD :])[-1]
        gap = len(line) - _GAP
        if any(word[0] in self._far and word.end() >= gap for word in _WORDS.finditer(line)):
            return True
        for part in self._far_ascii if line.isascii() else self._far_parts:
            if part in line and _bounded(line, line.index(part)):
                return True
        initial = _INITIAL.search(text, max(0, len(text) - _MAX_SIGNS))
        return initial is not None and initial[1] in self._letters

    def _directly_before(self, text: str) -> bool:
        """Whether the text ends with a cue followed only by signs or a filler such as `number`."""
        for _ in range(_MAX_FILLERS + 1):
            left = text.rstrip(_SIGNS)
            if len(text) - len(left) > _MAX_SIGNS:
                return False
            last = _LAST_WORD.search(left, max(0, len(left) - _LONGEST_WORD))
            if last is not None and last[0] in self._near:
                return True
            if left.endswith(self._near_parts) and any(
                left.endswith(part) and _bounded(left, len(left) - len(part)) for part in self._near_parts
            ):
                return True
            if last is None or last[0] not in _FILLERS:
                return False
            text = left[: last.start()]
        return False


def _bounded(text: str, at: int) -> bool:
    """Whether no word of a script with blanks continues across this position."""
    return at == 0 or text[at] >= _SPACED_SCRIPTS or not text[at - 1].isalnum()


def words(written: str) -> tuple[str, ...]:
    """Split a list at blanks; `·` is a blank inside a word."""
    return tuple(word.replace("·", " ") for word in written.split())


def _whole(word: str) -> bool:
    """Whether a cue is a single word of a script with blanks."""
    return word.isalpha() and word[0] < _SPACED_SCRIPTS


def window(buffer: memoryview, low: int, at: int) -> str:
    """The lower-case text before a position that is searched for cues; texts begin at `low`."""
    return bytes(buffer[max(low, at - _LOOK_BACK) : at]).decode("utf-8", "ignore").lower()


_TELEPHONES = """
tel telefon telefone telefono teléfono telèfon telefoon telefoni telefona telefonu telefonas telefons telefonska
telefonszám telefonszáma telefonnummer telefonnumre telefonnumme telefonnúmer telefoninumero telefonní telefonu
telefonla telefonunuz telephone telephones téléphone téléphoner teléfonos telefones telefonos telefony telefoane
telefoonnummer telefonische telefonisch telefonicznie telf telef tlf tlfn tfno tfn tél tlp telp telpon telepon phone
festnetz rufnummer mobiltelefon mobilnummer mobiltel
handynummer puh puhelin puhelinnumero matkapuhelin matkapuh
komórka komórkowy faxnummer telefax téléfax whatsapp hotline helpline infoline infolinia
rückruf cellphone landline freephone toll-free tollfree mobile·number mobile·no mobilenumber número·de·móvil
numero·cellulare guthán fón ffôn
тел телефон телефона телефону телефоны телефоном телефонам моб мобильный мобільний мобилен факс вайбер ватсап вотсап
сотовый утас ұялы телефонлар
τηλ τηλέφωνο τηλεφωνο τηλέφωνα τηλεφωνικό κινητό κιν φαξ
տել հեռ հեռախոս ტელ ტელეფონი მობ მობილური
טל טלפון נייד פקס בטלפון טלפקס
هاتف الهاتف تليفون تلفون جوال الجوال موبايل محمول فاكس واتساب للاتصال تلفن تماس موبایل فکس نمابر فون ٹیلی
फोन फ़ोन मोबाइल मोबाईल दूरभाष टेलीफोन फैक्स व्हाट्सएप ফোন মোবাইল ফ্যাক্স টেলিফোন தொலைபேசி கைபேசி மொபைல் போன் ఫోన్
మొబైల్ ഫോൺ മൊബൈൽ ಫೋನ್ ಮೊಬೈಲ್ ફોન મોબાઇલ ਫੋਨ ਮੋਬਾਈਲ දුරකථන
โทร โทรศัพท์ มือถือ แฟกซ์ แฟ็กซ์ ໂທ ໂທລະສັບ ទូរស័ព្ទ ទូរសព្ទ ဖုန်း ስልክ
điện·thoại sđt đt đtdđ di·động
電話 电话 手机 手機 传真 傳真 热线 熱線 携帯 ファックス ファクス 联系方式 联系电话
전화 전화번호 휴대폰 핸드폰 팩스 연락처 휴대전화
☎ ☏ ✆ 📞 📱 📲 📠 ℡ 🕻 🕿
"""
_AMBIGUOUS = """
mobil mobile mobiele mobilni mobilní mobilný móvil móbil mòbil cellulare celular handy gsm natel sími mobils mobilais
kom fon fax faks sms viber notruf handset phones
call ph mob cell portable appel appeler rufen anrufen llamar llame ligue ligar chiamare chiama
chiamaci volaj zadzwoń zadzwon dzwoń bel soita nr·telefonu no·hp nomor·wa contact kontakt contacto contato contatti
звоните звонить дзвоніть позвонить обадете arayın اتصل liên·hệ callto
"""

PHONES = Cues(words(_TELEPHONES), words(_AMBIGUOUS), letters="tmfphdwc")
"""Words before telephone and fax numbers."""
