"""Numbers that states give to persons: how each is written, what checks it, and the words that announce it.

One entry a kind of number. `checked_by` is its module of `python-stdnum` (https://arthurdejong.org/python-stdnum/),
which knows the check digits and the dates and places inside. A shape is how people write it: `9` is a digit, `A` a
capital, `a` a small letter, `_` a blank, and `-`, `.`, `/` and `+` are themselves. What chance writes seldom enough
counts wherever it stands (`telling`: letters at fixed places, a date and check digits between separators); of the
others, one in ten or hundred numbers of that length passes its check, so a word must announce them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from winnow.filters.private.personal.cues import words


@dataclass(frozen=True, slots=True)
class PersonNumber:
    """One kind of number in one country."""

    region: str  # ISO 3166
    name: str
    checked_by: str  # a module of stdnum
    telling: tuple[str, ...]  # shapes that need no word
    announced: tuple[str, ...]  # shapes that do
    cues: tuple[str, ...]


_TABLE = """
AR dni ar.dni
  announced 99999999 9999999 99.999.999 9.999.999
  cues dni documento d.n.i l.e l.c
AR cuit ar.cuit
  telling 99-99999999-9
  announced 99999999999
  cues cuit cuil c.u.i.t c.u.i.l
AT vnr at.vnr
  announced 9999999999 9999_999999
  cues svnr sv-nr sv-nummer versicherungsnummer vsnr sozialversicherungsnummer e-card
AU tfn au.tfn
  announced 999999999 999_999_999
  cues tfn tax·file·number
BA jmbg si.emso
  announced 9999999999999
  cues jmbg embg матични·број јмбг jedinstveni·matični matični·broj ембг emšo emso
BE nn be.nn
  telling 99.99.99-999.99 99.99.99-999-99
  announced 99999999999 999999-999-99 99.99.99.999.99
  cues rijksregisternummer registre·national insz niss rrn nationaal·nummer numéro·national
BG egn bg.egn
  announced 9999999999
  cues егн egn лнч е.г.н
BR cpf br.cpf
  telling 999.999.999-99
  announced 99999999999 999999999-99
  cues cpf c.p.f cadastro·de·pessoa
CA sin ca.sin
  announced 999999999 999_999_999 999-999-999
  cues sin social·insurance·number nas numéro·d'assurance·sociale
CH ahv ch.ssn
  telling 999.9999.9999.99
  announced 9999999999999
  cues ahv avs ahv-nr ahv-nummer sozialversicherungsnummer numéro·avs
CL rut cl.rut
  telling 99.999.999-9 99.999.999-A 9.999.999-9 9.999.999-A 99.999.999-a
  announced 99999999-9 99999999-A 9999999-9 9999999-A 999999999
  cues rut run r.u.t cédula
CN ric cn.ric
  telling 999999999999999999 99999999999999999A 99999999999999999a
  cues 身份证
CO nit co.nit
  announced 999.999.999-9 9999999999 99999999-9
  cues nit cédula c.c cedula
CU ni cu.ni
  announced 99999999999
  cues carné·de·identidad ci c.i identidad
CZ rc cz.rc
  announced 999999/9999 999999/999 9999999999
  cues rodné·číslo rč r.č r.·č rodného·čísla rodne·cislo
DE idnr de.idnr
  announced 99999999999 99_999_999_999
  cues idnr steuer-id steuer-idnr steuerid steuer-identifikationsnummer steueridentifikationsnummer
  cues identifikationsnummer
DK cpr dk.cpr
  announced 999999-9999 9999999999
  cues cpr cpr-nr cpr-nummer personnummer cprnr
DO cedula do.cedula
  announced 999-9999999-9 99999999999
  cues cédula cedula
EC ci ec.ci
  announced 9999999999 999999999-9
  cues cédula cedula c.i ci
EE ik ee.ik
  announced 99999999999
  cues isikukood ik isikukoodiga i.k
ES dni es.dni
  telling 99999999A 99999999-A 99.999.999-A 99.999.999A
  announced 99999999_A 99999999a 99.999.999_A
  cues dni d.n.i nif n.i.f documento·nacional
ES nie es.nie
  telling A9999999A A-9999999-A A9999999-A A-9999999A
  announced a9999999a
  cues nie n.i.e
FI hetu fi.hetu
  telling 999999-999A 999999A999A 999999+999A 999999A9999
  announced 999999-9999 999999-999a
  cues hetu henkilötunnus sosiaaliturvatunnus
FR nir fr.nir
  telling 9_99_99_99_999_999_99 9_99_99_9A_999_999_99
  announced 999999999999999 9999999999999_99 999999A99999999
  cues sécurité·sociale numéro·de·sécurité n°·ss nir insee
FR nif fr.nif
  announced 9999999999999 99_99_999_999_999
  cues numéro·fiscal spi
GB nhs gb.nhs
  announced 9999999999 999_999_9999 999-999-9999
  cues nhs nhs·number nhs·no
GB nino gb.nino
  announced AA999999A AA_99_99_99_A
  cues nino national·insurance ni·number ni·no
GR amka gr.amka
  announced 99999999999
  cues αμκα amka α.μ.κ.α
HR oib hr.oib
  announced 99999999999
  cues oib osobni·identifikacijski
HR jmbg si.emso
  announced 9999999999999
  cues jmbg embg матични·број јмбг jedinstveni·matični matični·broj ембг emšo emso
ID nik id.nik
  announced 9999999999999999
  cues nik ktp no.·ktp nomor·induk·kependudukan
IE pps ie.pps
  announced 9999999A 9999999AA
  cues pps ppsn pps·no pps·number rsi
IL idnr il.idnr
  announced 999999999 99999999 99999999-9
  cues ת.ז תעודת·זהות ת״ז ת"ז מספר·זהות teudat·zehut national·id id·number id·no id·card identity·number identity·card
IN aadhaar in_.aadhaar
  announced 9999_9999_9999 999999999999 9999-9999-9999
  cues aadhaar aadhar uid uidai आधार ஆதார் ఆధార్ ಆಧಾರ್ ആധാർ আধার આધાર
IN pan in_.pan
  announced AAAAA9999A aaaaa9999a
  cues pan pan·card pan·no
IS kennitala is_.kennitala
  telling 999999-9999
  announced 9999999999
  cues kennitala kt
IT codice_fiscale it.codicefiscale
  telling AAAAAA99A99A999A aaaaaa99a99a999a
  cues codice·fiscale c.f cf cod.·fisc
JP my_number jp.in_
  announced 9999_9999_9999 999999999999 9999-9999-9999
  cues マイナンバー 個人番号 my·number
KR rrn kr.rrn
  telling 999999-9999999
  announced 9999999999999
  cues 주민등록번호 주민번호 주민등록
LT asmens lt.asmens
  announced 99999999999
  cues asmens·kodas asmens·kodo a.k asm.·kodas
LV pk lv.pvn
  announced 999999-99999 99999999999
  cues personas·kods personas·kodu p.k pers.·kods
ME jmbg si.emso
  announced 9999999999999
  cues jmbg embg матични·број јмбг jedinstveni·matični matični·broj ембг emšo emso
MK embg si.emso
  announced 9999999999999
  cues jmbg embg матични·број јмбг jedinstveni·matični matični·broj ембг emšo emso
MX curp mx.curp
  telling AAAA999999AAAAAA99 AAAA999999AAAAAAA9 aaaa999999aaaaaa99
  cues curp
MY nric my.nric
  telling 999999-99-9999
  announced 999999999999
  cues nric mykad kad·pengenalan ic·no no.·k/p no·kp
NL bsn nl.bsn
  announced 999999999 9999.99.999 9999_99_999 99999999
  cues bsn burgerservicenummer sofinummer sofi-nummer sofi bsn-nummer
NO fnr no.fodselsnummer
  telling 999999_99999
  announced 99999999999 999999-99999
  cues fødselsnummer personnummer fnr fødselsnr personnr d-nummer fødsels-
NZ ird nz.ird
  announced 999999999 99999999 999-999-999 99-999-999
  cues ird ird·number ird·no
PE dni pe.cui
  announced 99999999 99999999-9
  cues dni d.n.i
PK cnic pk.cnic
  telling 99999-9999999-9
  announced 9999999999999
  cues cnic nic شناختی·کارڈ
PL pesel pl.pesel
  announced 99999999999
  cues pesel nr·pesel peselu pesel-u
PT cc pt.cc
  announced 99999999_9_AA9 999999999AA9 99999999_9AA9
  cues cartão·de·cidadão cc bi n.º·cc cartao·de·cidadao
PT nif pt.nif
  announced 999999999 999_999_999
  cues nif contribuinte n.i.f número·de·contribuinte
RO cnp ro.cnp
  announced 9999999999999
  cues cnp c.n.p cod·numeric·personal
RS jmbg si.emso
  announced 9999999999999
  cues jmbg embg матични·број јмбг jedinstveni·matični matični·broj ембг emšo emso
RU inn ru.inn
  announced 999999999999
  cues инн inn
SE personnummer se.personnummer
  announced 999999-9999 99999999-9999 9999999999 999999999999 999999+9999
  cues personnummer pnr personnr person-nr födelsenummer samordningsnummer
SI emso si.emso
  announced 9999999999999
  cues emšo emso
SK rc sk.rc
  announced 999999/9999 999999/999 9999999999
  cues rodné·číslo rč r.č r.·č rodného·čísla rodne·cislo
TH pin th.pin
  telling 9-9999-99999-99-9
  announced 9999999999999 9_9999_99999_99_9
  cues เลขบัตรประชาชน บัตรประชาชน เลขประจำตัวประชาชน
TR kimlik tr.tckimlik
  announced 99999999999
  cues tc t.c tckn kimlik·no tc·kimlik t.c.·kimlik kimlik·numarası
UA rntrc ua.rntrc
  announced 9999999999
  cues рнокпп іпн ідентифікаційний·код ідентифікаційний·номер ідн
US ssn us.ssn
  announced 999-99-9999 999_99_9999 999999999
  cues ssn social·security ss# soc·sec s.s.n
US itin us.itin
  announced 999-99-9999 999999999
  cues itin taxpayer·identification
VE rif ve.rif
  telling A-99999999-9
  announced A999999999 A-999999999
  cues rif cédula c.i
ZA idnr za.idnr
  announced 9999999999999 999999_9999_99_9 999999_9999_999
  cues rsa·id id·nr identiteitsnommer national·id id·number id·no id·card identity·number identity·card
"""


def _entry(block: list[str]) -> PersonNumber:
    """An entry of the table: a line of region, name and module, and lines of shapes and cues below it."""
    region, name, module = block[0].split()
    parts: dict[str, list[str]] = {"telling": [], "announced": [], "cues": []}
    for line in block[1:]:
        part, *entries = line.split()
        parts[part] += entries
    telling, announced = (tuple(one.replace("_", " ") for one in parts[part]) for part in ("telling", "announced"))
    return PersonNumber(region, name, module, telling, announced, words(" ".join(parts["cues"])))


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    starts = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    for start, end in pairwise([*starts, len(lines)]):
        yield lines[start:end]


STATES: tuple[PersonNumber, ...] = tuple(map(_entry, _blocks(_TABLE.strip().splitlines())))
"""Every kind of number that is searched for."""
