"""Numbering plans: which telephone numbers are valid, exactly as in `phonenumbers`.

The metadata of libphonenumber (https://github.com/google/libphonenumber) are patterns and lengths; here two or three
patterns per number do the work of the package's `parse` and `is_valid_number`, about ten times faster. The tests
compare both over every region.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from winnow.filters.extras import required_package

if TYPE_CHECKING:
    from phonenumbers.phonemetadata import NumberFormat, PhoneMetadata, PhoneNumberDesc

_SHORTEST, _LONGEST = 2, 17  # digits of a national number that the package parses
_LONGEST_CODE = 3
_WORLD = "001"  # the region of calling codes without a country
_TYPES = (
    "premium_rate",
    "toll_free",
    "shared_cost",
    "voip",
    "personal_number",
    "pager",
    "uan",
    "voicemail",
    "fixed_line",
    "mobile",
)


@lru_cache(maxsize=1)
def calling_codes() -> dict[int, tuple[str, ...]]:
    """Every calling code with its regions, the main one first; `001` for codes without a country."""
    codes: dict[int, tuple[str, ...]] = required_package("text.pii", "phonenumbers", "pii").COUNTRY_CODE_TO_REGION_CODE
    return codes


@lru_cache(maxsize=1)
def plan_regions() -> frozenset[str]:
    """Every region with a plan, as ISO 3166 codes."""
    return frozenset(region for regions in calling_codes().values() for region in regions if region != _WORLD)


@dataclass(frozen=True, slots=True)
class Plan:
    """How numbers of one region are dialled."""

    region: str
    code: int
    trunk: str  # prefix of national numbers at home; may be empty
    general: re.Pattern[str]
    lengths: frozenset[int]
    local: frozenset[int]  # lengths that are dialled only within an area
    prefix: re.Pattern[str] | None  # the part of a dialled number that is not national
    replaced: str | None  # its replacement
    abroad: re.Pattern[str]  # prefix before a calling code
    groups: frozenset[tuple[int, ...]]  # lengths of its written groups
    mobile: re.Pattern[str]  # numbers of mobiles alone
    bare: bool  # a mobile is also written without the trunk prefix

    def stripped(self, number: str) -> str:
        """The number without its dialling prefix, unless only the whole can be a number."""
        found = self.prefix.match(number) if self.prefix is not None else None
        if found is None:
            return number
        if self.replaced is None or not found.groups() or found.groups()[-1] is None:
            left = number[found.end() :]
        else:
            left = found.expand(self.replaced) + number[found.end() :]
        return number if self.general.fullmatch(number) and not self.general.fullmatch(left) else left

    def national(self, number: str) -> str:
        """The national number as written at home or after the calling code."""
        left = self.stripped(number)
        length = len(left)
        if length in self.local or (length not in self.lengths and length <= max(self.lengths)):
            return number
        return left


def dialled(number: str, plan: Plan) -> tuple[int, str] | None:
    """The calling code and national number of digits dialled in a region; None if invalid."""
    found = plan.abroad.match(number)
    if found is not None and number[found.end() : found.end() + 1] not in ("0", ""):
        return international(number[found.end() :])
    code = str(plan.code)
    if number.startswith(code):
        left = plan.stripped(number[len(code) :])
        missed = not plan.general.fullmatch(number) and plan.general.fullmatch(left)
        if missed or (len(number) not in plan.local and len(number) > max(plan.lengths)):
            return _valid_number(plan.code, plan.national(left))
    return _valid_number(plan.code, plan.national(number))


def international(number: str) -> tuple[int, str] | None:
    """The calling code and national number of digits after `+`; None if invalid."""
    if number[:1] == "0" or len(number) <= _SHORTEST:
        return None
    for length in range(1, _LONGEST_CODE + 1):
        code = int(number[:length])
        if code in calling_codes():
            return _valid_number(code, plan(calling_codes()[code][0], code).national(number[length:]))
    return None


def _valid_number(code: int, number: str) -> tuple[int, str] | None:
    if not _SHORTEST <= len(number) <= _LONGEST or not _valid(code, len(number)).match(number):
        return None
    return code, number


@lru_cache(maxsize=512)
def plan(region: str, code: int = 0) -> Plan:
    """The plan of a region; the calling code is needed for region `001`."""
    code = code or next(code for code, regions in calling_codes().items() if region in regions)
    metadata = _metadata(code, region)
    general, prefix = metadata.general_desc, metadata.national_prefix_for_parsing
    assert general is not None  # every region has one
    return Plan(
        region=region,
        code=code,
        trunk=metadata.national_prefix or "",
        general=re.compile(general.national_number_pattern or r"(?!)", re.ASCII),
        lengths=frozenset(general.possible_length),
        local=frozenset(general.possible_length_local_only),
        prefix=re.compile(prefix, re.ASCII) if prefix else None,
        replaced=metadata.national_prefix_transform_rule or None,
        abroad=re.compile(metadata.international_prefix or r"(?!)", re.ASCII),
        groups=frozenset(sizes for one in _formats(code, region) for sizes in _groups(one)),
        mobile=re.compile(_mobile(metadata) or r"(?!)", re.ASCII),
        bare=_bare(metadata),
    )


def _bare(metadata: "PhoneMetadata") -> bool:
    """Whether the format of a country's mobiles can do without the trunk prefix."""
    trunk, mobile = metadata.national_prefix, metadata.mobile
    if not trunk or mobile is None or mobile.example_number is None:
        return not trunk
    for one in metadata.number_format:
        leads = one.leading_digits_pattern
        if re.fullmatch(one.pattern or "", mobile.example_number) and (
            not leads or re.match(leads[-1], mobile.example_number)
        ):
            rule = one.national_prefix_formatting_rule
            return bool(one.national_prefix_optional_when_formatting) or not rule or trunk not in rule
    return False


def _mobile(metadata: "PhoneMetadata") -> str | None:
    """The pattern of mobiles, if landlines have another: in North America both look alike."""
    if metadata.same_mobile_and_fixed_line_pattern or metadata.mobile is None:
        return None
    return metadata.mobile.national_number_pattern


@lru_cache(maxsize=512)
def _metadata(code: int, region: str) -> "PhoneMetadata":
    package = required_package("text.pii", "phonenumbers", "pii")
    found: PhoneMetadata = package.PhoneMetadata.metadata_for_region_or_calling_code(code, region)
    return found


def _formats(code: int, region: str) -> "Sequence[NumberFormat]":
    """The formats of a region; where it has none, those of its code's main region: Kazakhstan has Russia's."""
    return _metadata(code, region).number_format or _metadata(code, calling_codes()[code][0]).number_format


@lru_cache(maxsize=4096)
def _valid(code: int, length: int) -> re.Pattern[str]:
    """The patterns of valid national numbers with this calling code and length.

    Of several regions the first decides whose leading digits match, or, if it has none, whose pattern does.
    """
    whole = r"(?!)"
    for region in reversed(calling_codes()[code]):
        metadata = _metadata(code, region)
        taken = _taken(metadata, length)
        lead = metadata.leading_digits
        whole = f"(?:{taken}|{whole})" if lead is None else f"(?:(?={lead}){taken}|(?!{lead}){whole})"
    return re.compile(whole, re.ASCII)


def _taken(metadata: "PhoneMetadata", length: int) -> str:
    """The patterns of a region's numbers: the general form and one of the kinds."""
    general = _pattern(metadata.general_desc, length)
    kinds = [
        pattern
        for name in _TYPES
        if (name != "mobile" or not metadata.same_mobile_and_fixed_line_pattern)
        and (pattern := _pattern(getattr(metadata, name), length)) is not None
    ]
    if general is None or not kinds:
        return r"(?!)"
    return rf"(?=(?:{general})\Z)(?:{'|'.join(kinds)})\Z"


def _pattern(kind: "PhoneNumberDesc | None", length: int) -> str | None:
    """The pattern of a kind of number, if it allows this length."""
    if kind is None or not kind.national_number_pattern:
        return None
    return kind.national_number_pattern if not kind.possible_length or length in kind.possible_length else None


def _groups(written: "NumberFormat") -> Iterator[tuple[int, ...]]:
    r"""The lengths of the groups of a format: `(\d{2})(\d{3,5})` is written in 2 and 3, 2 and 4, or 2 and 5."""
    sizes: list[tuple[int, ...]] = [()]
    for digits in re.findall(r"\(([^()]*)\)", written.pattern or ""):
        found = re.fullmatch(r"(?:\\d|\[[^]]*\]|\d)(?:\{(\d+)(?:,(\d+))?\})?", digits)
        if found is None:  # such as `15\d\d`: a group that is not only of some length
            return
        least = int(found[1] or 1)
        sizes = [(*before, size) for before in sizes for size in range(least, int(found[2] or least) + 1)]
    yield from sizes
