"""What a site says about the use of a page, as ingest keeps it and as measurements read it.

`samples.metadata` of a response has the key `opt_out`: `{"headers": {name: [value, …]}, "meta": {name: [content, …]}}`,
raw and in the order in which they stand there. `headers` is there for every response whose header the archive kept,
and empty where it says nothing; so where it is missing nobody knows what the header said. `meta` is there where the
page has such elements. What is beyond the caps is left out and `cut` says so.
"""

KEY = "opt_out"
HEADERS = "headers"
META = "meta"
CUT = "cut"

MAX_VALUES = 32  # different ones, of headers and again of elements
MAX_CHARACTERS = 1024  # of one value
MAX_NAME_CHARACTERS = 64

X_ROBOTS_TAG = "x-robots-tag"
ROBOTS = "robots"
TDM_RESERVATION = "tdm-reservation"  # W3C TDMRep
TDM_POLICY = "tdm-policy"
CONTENT_USAGE = "content-usage"  # IETF aipref
CONTENT_SIGNAL = "content-signal"  # contentsignals.org

HEADER_NAMES = (X_ROBOTS_TAG, TDM_RESERVATION, TDM_POLICY, CONTENT_USAGE, CONTENT_SIGNAL)

TRAINING_AGENTS = (
    "ai2bot",
    "anthropic-ai",
    "applebot-extended",
    "bytespider",
    "ccbot",
    "claudebot",
    "cohere-training-data-crawler",
    "google-extended",
    "gptbot",
    "meta-externalagent",
)
"""Names that sites use to speak to those who gather text for training; whoever trains is meant by them."""
