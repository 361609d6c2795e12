"""URLs of pages: canonical form, resolution of links, and registered domain.

Parsing follows the WHATWG URL Standard for http and https. Domains come from the Public Suffix List that ships
inside tldextract; the network is never used. No function here raises, whatever its input.
"""

import hashlib
import re
from functools import lru_cache
from importlib.resources import files
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import unquote_to_bytes

import idna
from tldextract import TLDExtract

MAX_URL_CHARACTERS = 65536
MAX_HOST_CHARACTERS = 253  # RFC 1035
MAX_LABEL_CHARACTERS = 63
CACHED_HOSTS = 65536

_EXTRACT = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)

_PARTS = re.compile(r"(https?):[/\\]{2,}([^/\\?#]*)([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PLAIN_HOST = re.compile(r"https?://([a-z0-9.-]{1,253})(?=[/?#]|\Z)")
_PORT = re.compile(r"0*([0-9]{0,5})")
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_EDGES = "".join(map(chr, range(33)))
_DROPPED = str.maketrans("", "", "\t\n\r")
_SURROGATES = re.compile("[\ud800-\udfff]")
_PATH = re.compile(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9/._~!$&'()*+,;=:@\[\]|^-]")
_QUERY = re.compile(r"[^!$-&(-;=?-~]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN_PATH = re.compile(r"(?!.*/\.)[A-Za-z0-9/._~!$&'()*+,;=:@-]*\Z")


def canonical_url(url: str) -> str | None:
    """The canonical form of an http or https address; None if it is not one.

    Scheme and host are lower-case ASCII (IDNA); the default port, user, password and fragment are removed; dot
    segments are resolved and percent-encoding is normalised. The query keeps its order and spelling: only invalid
    characters (spaces, other scripts) are percent-encoded. Idempotent.
    """
    cleaned = _cleaned(url)
    match = _PARTS.match(cleaned) if cleaned is not None else None
    if match is None:
        return None
    scheme = match[1].lower()
    host, colon, port = _host_and_port(match[2])
    name = canonical_host(host)
    digits = _PORT.fullmatch(port)
    if name is None or digits is None or int(digits[1] or 0) > 65535:
        return None
    if ":" in name:
        name = f"[{name}]"
    if colon and digits[1] != ("80" if scheme == "http" else "443") and port:
        name = f"{name}:{digits[1] or '0'}"
    return f"{scheme}://{name}{_path(match[3])}{_QUERY.sub(encoded, match[4] or '')}"


def fragment_of(url: str) -> str:
    """What follows the page's own address, from its `#` on, as it is written; empty if nothing does."""
    _, mark, fragment = (_cleaned(url) or "").partition("#")
    return mark + fragment


def resolve(base: str | None, href: str) -> str | None:
    """The canonical target of a link on the page `base`; None unless it is http or https."""
    link = _cleaned(href)
    if link is None:
        return None
    if _PARTS.match(link) is None:
        origin = _cleaned(base) if base else None
        match = _PARTS.match(origin) if origin else None
        if origin is None or match is None or _SCHEME.match(link):
            return None
        # Not urllib's urljoin: it drops empty path segments, which the standard keeps.
        if link[:2].replace("\\", "/") == "//":
            link = f"{match[1]}:{link}"
        elif link[:1] in ("/", "\\"):
            link = origin[: match.end(2)] + link
        elif link[:1] == "?":
            link = origin[: match.end(3)] + link
        elif link[:1] in ("#", ""):
            link = origin
        else:
            path = match[3].replace("\\", "/")
            link = f"{origin[: match.start(3)]}{path[: path.rfind('/') + 1] or '/'}{link}"
    return canonical_url(link)


def registered_domain(url: str) -> str | None:
    """The registered domain, counting private suffixes (`a.b.github.io` -> `b.github.io`).

    An IP address is its own domain, and so is a host that is a public suffix or a single label; under an undelegated
    top-level domain (`a.b.example`) it is the last two labels. None if there is no host.
    """
    plain = _PLAIN_HOST.match(url) if len(url) <= MAX_URL_CHARACTERS else None
    if plain is not None:
        return _domain(plain[1])
    cleaned = _cleaned(url)
    match = _PARTS.match(cleaned) if cleaned is not None else None
    return _domain(_host_and_port(match[2])[0]) if match is not None else None


@lru_cache(maxsize=1)
def public_suffix_rules() -> tuple[str, ...]:
    """The rules of the Public Suffix List in ASCII, sorted: suffixes, prefixed by `*.` or `!` as in the list."""
    rules = set()
    for rule in _EXTRACT.tlds:
        mark = "*." if rule.startswith("*.") else "!" if rule.startswith("!") else ""
        name = canonical_host(rule[len(mark) :])
        if name is not None:
            rules.add(mark + name)
    return tuple(sorted(rules))


@lru_cache(maxsize=1)
def psl_version() -> str:
    """16 hex digits that identify the Public Suffix List in use."""
    return hashlib.sha256((files("tldextract") / ".tld_set_snapshot").read_bytes()).hexdigest()[:16]


def canonical_host(host: str) -> str | None:
    """A host name in lower-case ASCII, or an IP address without brackets; None if it is neither."""
    if host.startswith("["):
        return _ipv6(host[1:-1]) if host.endswith("]") else None
    return None if len(host) > 3 * MAX_HOST_CHARACTERS else _ascii_host(host)


@lru_cache(maxsize=CACHED_HOSTS // 4)
def _ascii_host(host: str) -> str | None:
    if not host.isascii() or "%" in host:
        try:
            host = idna.uts46_remap(unquote_to_bytes(host).decode(), std3_rules=False)
            if len(host) > MAX_HOST_CHARACTERS:  # punycode takes quadratic time
                return None
            host = ".".join(
                label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
                for label in host.split(".")
            )
        except (UnicodeError, ValueError):  # idna's errors are UnicodeErrors
            return None
    host = host.lower().removesuffix(".")
    if len(host) > MAX_HOST_CHARACTERS or _HOST.fullmatch(host) is None:
        return None
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(labels)
    return host if max(map(len, labels)) <= MAX_LABEL_CHARACTERS else None


@lru_cache(maxsize=CACHED_HOSTS)
def _domain(host: str) -> str | None:
    name = canonical_host(host)
    if name is None:
        return None
    labels = name.split(".")
    if len(labels) == 1 or _NUMBER.fullmatch(labels[-1]):
        return name
    found = _EXTRACT(name)
    if not found.suffix:
        return ".".join(labels[-2:])
    return f"{found.domain}.{found.suffix}" if found.domain else name


def _cleaned(url: str) -> str | None:
    if len(url) > MAX_URL_CHARACTERS:
        return None
    return _SURROGATES.sub("\ufffd", url.strip(_EDGES).translate(_DROPPED))


def _host_and_port(authority: str) -> tuple[str, str, str]:
    place = authority.rpartition("@")[2]
    if place.startswith("["):
        host, bracket, rest = place.partition("]")
        # Only a port may follow the bracket: anything else fails later as a port.
        return host + bracket, ":" if rest else "", rest[1:] if rest.startswith(":") else rest
    return place.partition(":")


def _ipv6(text: str) -> str | None:
    if len(text) > 45 or "%" in text:
        return None
    try:
        return IPv6Address(text).compressed
    except AddressValueError:
        return None


def _ipv4(labels: list[str]) -> str | None:
    """Parse an IPv4 address as browsers do: one to four numbers, each decimal, octal or hexadecimal."""
    if len(labels) > 4 or any(len(label) > 20 or not _NUMBER.fullmatch(label) for label in labels):
        return None
    try:
        numbers = [
            int(label[2:] or "0", 16) if label.startswith("0x") else int(label, 8 if label.startswith("0") else 10)
            for label in labels
        ]
    except ValueError:
        return None
    *leading, last = numbers
    if any(number > 255 for number in leading) or last >= 256 ** (5 - len(numbers)):
        return None
    return str(IPv4Address(last + sum(number << (24 - 8 * place) for place, number in enumerate(leading))))


def _path(path: str) -> str:
    if not _PLAIN_PATH.match(path):
        path = _PATH.sub(encoded, path.replace("\\", "/"))
        kept: list[str] = []
        segments = path.split("/")[1:]
        for segment in segments:
            if segment == "..":
                del kept[-1:]
            elif segment != ".":
                kept.append(segment)
        if segments and segments[-1] in (".", ".."):
            kept.append("")
        path = "/" + "/".join(kept)
    return path or "/"


def encoded(match: re.Match[str], errors: str = "strict") -> str:
    """A percent-encoded byte in its one spelling, or characters that need encoding, encoded."""
    found = match[0]
    if len(found) == 3:
        character = chr(int(found[1:], 16))
        return character if character in _UNRESERVED else found.upper()
    return "".join(f"%{byte:02X}" for byte in found.encode("utf-8", errors))
