"""What became of an address: a decision and its reason, one row of the log of `winnow fetch`.

Every address that a source names ends as one row. Nothing is fetched without a row, and a row without a record in
an archive says why there is none.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

import pyarrow as pa


class Decision(StrEnum):
    """What was done with an address."""

    FETCHED = "fetched"  # a record with its bytes is in the archive
    REVISITED = "revisited"  # a revisit record: unchanged since the last time, or the same bytes as another address
    REFUSED = "refused"  # somebody or a law of ours forbids it: never tried again without being asked
    FAILED = "failed"  # it was tried, or could not be
    SKIPPED = "skipped"  # the same address again, or beyond a limit of the recipe


class Again(Enum):
    """Whether a later run tries an address again by itself."""

    NEVER = "never"
    LATER = "later"  # conditions may change: a network, a server, a budget


class Reason(StrEnum):
    """Why; `ok` for what was fetched as asked."""

    again: Again

    def __new__(cls, code: str, again: Again) -> "Reason":
        """Make a code that knows whether it is worth another try."""
        made = str.__new__(cls, code)
        made._value_ = code
        made.again = again
        return made

    OK = "ok", Again.NEVER
    # before any request
    NO_ADDRESS = "no_address", Again.NEVER  # no http or https address
    TOO_LONG = "too_long", Again.NEVER
    CREDENTIALS = "credentials", Again.NEVER  # a user or a password in it
    PORT = "port", Again.NEVER
    REPEATED = "repeated", Again.NEVER  # the same address, written in another way
    FORGOTTEN = "forgotten", Again.NEVER  # `winnow forget` was asked to keep it out
    OVER_LIMIT = "over_limit", Again.NEVER  # beyond the recipe's limit or sample
    BUDGET = "budget", Again.LATER
    # names and addresses of machines
    NO_HOST = "no_host", Again.LATER
    NAME_SERVER = "name_server", Again.LATER
    PRIVATE_ADDRESS = "private_address", Again.NEVER
    # consent
    ROBOTS = "robots", Again.NEVER
    ROBOTS_UNREACHABLE = "robots_unreachable", Again.LATER
    OPT_OUT = "opt_out", Again.NEVER  # the response or its page refuses training
    TDM_RESERVED = "tdm_reserved", Again.NEVER  # tdmrep.json or ai.txt refuses it
    # the way there
    CONNECT = "connect", Again.LATER
    TLS = "tls", Again.LATER
    TIMEOUT = "timeout", Again.LATER
    TOO_SLOW = "too_slow", Again.LATER
    CUT_OFF = "cut_off", Again.LATER  # fewer bytes came than were promised
    PROTOCOL = "protocol", Again.NEVER  # what came is no HTTP
    CIRCUIT_OPEN = "circuit_open", Again.LATER  # its host failed too often
    # what came
    TOO_LARGE = "too_large", Again.NEVER
    LARGE_HEADER = "large_header", Again.NEVER
    BOMB = "bomb", Again.NEVER  # it unpacks to more than the limit
    REDIRECTS = "redirects", Again.NEVER
    NOT_FOUND = "not_found", Again.NEVER  # 404 and 410
    CLIENT_ERROR = "client_error", Again.NEVER  # other 4xx
    BUSY = "busy", Again.LATER  # 429 and 503
    SERVER_ERROR = "server_error", Again.LATER
    UNCHANGED = "unchanged", Again.NEVER  # 304
    SAME_BYTES = "same_bytes", Again.NEVER
    # archives
    NO_RECORD = "no_record", Again.NEVER  # the index points at what is no record, or at another address's
    NO_ARCHIVE = "no_archive", Again.NEVER  # the file that the index names does not exist
    NOT_IN_INDEX = "not_in_index", Again.NEVER  # a listed address that the crawl does not have
    RENDER_FAILED = "render_failed", Again.LATER
    # on an engine
    ELSEWHERE = "elsewhere", Again.LATER  # it redirects to a site that another worker asks


REASONS: Final = {reason.value: reason for reason in Reason}
_SKIPPED: Final = frozenset((Reason.REPEATED, Reason.OVER_LIMIT, Reason.BUDGET))
_REFUSED: Final = frozenset(
    (
        Reason.CREDENTIALS,
        Reason.PORT,
        Reason.FORGOTTEN,
        Reason.PRIVATE_ADDRESS,
        Reason.ROBOTS,
        Reason.ROBOTS_UNREACHABLE,
        Reason.OPT_OUT,
        Reason.TDM_RESERVED,
    )
)


def decision_without_record(reason: Reason) -> Decision:
    """What was done with an address that has no record, by why."""
    return Decision.SKIPPED if reason in _SKIPPED else Decision.REFUSED if reason in _REFUSED else Decision.FAILED


LOG: Final = pa.schema(
    [
        pa.field("url", pa.string(), nullable=False),  # as the list or the index writes it, at most 2,048 characters
        pa.field("canonical", pa.string()),  # its normal form
        pa.field("final_url", pa.string()),  # after redirects
        pa.field("domain", pa.string()),  # the registered domain
        pa.field("decision", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("detail", pa.string()),  # the rule that refuses, the error's words
        pa.field("status", pa.int16()),  # of the last response
        pa.field("mime", pa.string()),  # as its header declares it
        pa.field("body_bytes", pa.int64()),  # of the body, as sent
        pa.field("ms", pa.int32()),  # from the first request to the last byte; null for archives
        pa.field("sha256", pa.binary(32)),  # of the body
        pa.field("attempts", pa.int16(), nullable=False),  # requests for it, redirects and robots.txt left out
        pa.field("fetched_at", pa.timestamp("us", "UTC")),
        pa.field("warc", pa.string()),  # the file with its record, relative to the source's folder
        pa.field("offset", pa.int64()),
        pa.field("length", pa.int64()),
        pa.field("origin", pa.string()),  # of an archive's record: the file that it was taken from
        pa.field("origin_offset", pa.int64()),
        pa.field("crawl", pa.string()),
        pa.field("etag", pa.string()),
        pa.field("last_modified", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One row of the log; its fields are the columns of `LOG`."""

    url: str
    decision: Decision
    reason: Reason
    attempts: int = 0
    canonical: str | None = None
    final_url: str | None = None
    domain: str | None = None
    detail: str | None = None
    status: int | None = None
    mime: str | None = None
    body_bytes: int | None = None
    ms: int | None = None
    sha256: bytes | None = None
    fetched_at: int | None = None  # microseconds since 1970
    warc: str | None = None
    offset: int | None = None
    length: int | None = None
    origin: str | None = None
    origin_offset: int | None = None
    crawl: str | None = None
    etag: str | None = None
    last_modified: str | None = None
