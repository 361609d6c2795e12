"""The stored form of sites' opt-out statements, written by ingest and read by operators.

`samples.metadata` of a response has the key `opt_out`: `{"headers": {name: [value, …]}, "meta": {name: [content, …]}}`,
raw and in original order. `headers` exists for every response whose header the archive kept, and may be empty; if it is
missing, the header is unknown. `meta` exists if the page has such elements. Values beyond the limits are left out, and
`cut` records it.
"""

KEY = "opt_out"
HEADERS = "headers"
META = "meta"
CUT = "cut"

MAX_VALUES = 32  # distinct values, separately for headers and elements
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
"""Agent names that sites use to address collectors of training data."""
