"""The names of all objects in a store, and how each proves itself. No other module spells them."""

import re
from collections.abc import Mapping
from enum import Enum

from winnow.schemas.identity import fingerprint_of

SAMPLES = "samples"
STORE_RECORD = "store.json"
GENERATIONS = "generations/"
COMMITS = "commits/"
TASK_COMMITS = "commits/samples/"
LAYER_COMMITS = "commits/layers/"
LAYER_SETS = "commits/sets/"
LEASES = "lease/"
SHARES = "shares/"
HEARTBEATS = "heartbeats/"
INTAKE = "intake/"
TASK_LISTS = "tasks/"
RUNS = "runs/"
MANIFESTS = "manifests/"
STRIKES = "strikes/"
POISON = "poison/"
TOMBSTONES = "tombstones/"
HIDDEN = "hidden/"
OUTPUTS = "outputs/"
COPIES = "copies/"
SCRATCH = "scratch/"
VERDICTS = "verdicts/"
PLANS = "plans/"
WEIGHTS = "weights/"
DECISIONS = "decisions/"
RULE_DECISIONS = "decisions/rules/"
CLUSTERS = "decisions/clusters/"
KNOWN_HARM = "known_harm/"
NODE_FILES = "files/"
FETCHED = "fetched/"
FETCHED_WARCS = "warc/"  # in the folder of a source that is fetched: its records
FETCHED_LOGS = "log/"  # the tables that commit them
FETCHED_HOSTS = "robots/"  # files of the hosts, which are no records
FETCHED_REFERENCES = "refs/"  # where records are that are not copied
PURGE = "purge.json"
REPORT = "report.html"

SAMPLES_OBJECTS = "samples/"
LAYERS = "layers/"
QUARANTINE = "quarantine/"
DROPPED = "dropped/"
STATISTICS = "stats/"
DATA = (SAMPLES_OBJECTS, LAYERS, QUARANTINE, DROPPED, STATISTICS, MANIFESTS)
"""Prefixes of content-named objects, which `gc` may drop when no kept generation names them."""


def samples_object(shard: str, content: str) -> str:
    """The rows of a shard."""
    return f"{SAMPLES_OBJECTS}{shard}.{content}.parquet"


def layer_object(layer: str, key: str, shard: str, content: str) -> str:
    """A layer's rows for a shard."""
    return f"{layer_objects(layer, key)}{shard}.{content}.parquet"


def layer_objects(layer: str, key: str) -> str:
    """The prefix of a layer's objects under one key."""
    return f"{LAYERS}{layer}/{key}/"


def verdicts_objects(key: str) -> str:
    """The prefix of the results of comparing texts by one kind of shingles."""
    return f"{VERDICTS}{key}/"


def verdicts_object(key: str, shard: str, content: str) -> str:
    """The results of comparing the texts of a shard's rows with others."""
    return f"{verdicts_objects(key)}{shard}.{content}.arrow"


def shard_of(path: str) -> str:
    """The shard that a layer's object belongs to."""
    return path.rpartition("/")[2].rsplit(".", 2)[0]


def range_object(kind: str, task: str, content: str) -> str:
    """The ranges that a task dropped or quarantined (`kind`)."""
    return f"{kind}/{task}.{content}.parquet"


def statistics_object(shard: str, content: str) -> str:
    """The statistics of a task's tables of a shard, by layer."""
    return f"{STATISTICS}shards/{shard}.{content}.json"


MERGED_VERSION = 1
"""The version of everything that decides merged statistics, given the objects."""


def merged_statistics(layer: str, key: str, values: str) -> str:
    """The prefix of the merged statistics of a layer's objects under a key; `values` is one hash of their values."""
    return f"{STATISTICS}{layer}/merged-{fingerprint_of([MERGED_VERSION, key, values])}."


def manifest(layer: str, content: str) -> str:
    """The list of a layer's objects."""
    return f"{MANIFESTS}{layer}/{content}.parquet"


def task_commits(key: str) -> str:
    """The prefix of the commits of ingest tasks under one key."""
    return f"{TASK_COMMITS}{key}/"


def task_commit(key: str, task: str) -> str:
    """The commit of an ingest task."""
    return f"{task_commits(key)}{task}.json"


def set_name(layers: Mapping[str, str]) -> str:
    """The name of a set of layers, given by their keys, that tasks commit together."""
    return fingerprint_of(dict(layers))


def layer_set(name: str) -> str:
    """The record of a set of layers."""
    return f"{LAYER_SETS}{name}.json"


def layer_commits(name: str) -> str:
    """The prefix of the commits of a set of layers."""
    return f"{LAYER_COMMITS}{name}/"


def layer_commit(name: str, shard: str) -> str:
    """The commit of a set of layers of a shard."""
    return f"{layer_commits(name)}{shard}.json"


def generation(number: int) -> str:
    """One generation's record."""
    return f"{GENERATIONS}{number:08d}.json"


def intake(source: str, number: int) -> str:
    """The tasks added by the n-th plan of a source."""
    return f"{INTAKE}{source}/{number:08d}.parquet"


def heartbeat(commit: str) -> str:
    """The advisory progress of a running task, by the path of its commit; also of a prefix of such paths."""
    return f"{HEARTBEATS}{commit.removeprefix(COMMITS)}"


def commit_of_heartbeat(path: str) -> str:
    """The path of the commit of a running task, by that of its progress."""
    return f"{COMMITS}{path.removeprefix(HEARTBEATS)}"


def layer_of(path: str) -> str:
    """The layer that an object belongs to."""
    parts = path.split("/")
    return SAMPLES if parts[0] == SAMPLES else parts[1]


def tombstone(content: str) -> str:
    """A request to forget."""
    return f"{TOMBSTONES}{content}.json"


def hidden(content: str) -> str:
    """The rows that tombstones hide."""
    return f"{HIDDEN}{content}.parquet"


def output(content: str) -> str:
    """A record of something written outside the store from one of its generations."""
    return f"{OUTPUTS}{content}.json"


def output_copy(content: str) -> str:
    """The second copy of such a record: without either, nothing would say that something was written."""
    return f"{COPIES}{content}.json"


def plan_objects(request: str) -> str:
    """The prefix of a mixture's plan and its draw, named by the request."""
    return f"{PLANS}{request}/"


def plan_record(request: str) -> str:
    """The plan itself; exists once its draw is complete."""
    return f"{plan_objects(request)}plan.json"


def is_plan_record(path: str) -> bool:
    """Whether a path is a plan itself, not its draw."""
    return path.startswith(PLANS) and path.endswith("/plan.json")


def plan_draws(request: str, content: str) -> str:
    """The table that lists the draw of each shard."""
    return f"{plan_objects(request)}draws.{content}.parquet"


def draw_object(request: str, shard: str, content: str) -> str:
    """The rows of a shard that a plan draws."""
    return f"{plan_objects(request)}{shard}.{content}.parquet"


def weights_objects(score: str) -> str:
    """The prefix of all weights that a score was made with."""
    return f"{WEIGHTS}{score}/"


def weights_record(score: str, key: str) -> str:
    """The record of the objects that hold a training's weights."""
    return f"{weights_objects(score)}{key}.json"


def weights_use(score: str, trace: str) -> str:
    """The record of which weights a trace used."""
    return f"{weights_objects(score)}of.{trace}.json"


def weights_object(score: str, key: str, content: str) -> str:
    """Weights, as a safetensors file."""
    return f"{weights_objects(score)}{key}.{content}.safetensors"


def known_harm(identity: str) -> str:
    """The record of comparisons with a list of known harm."""
    return f"{KNOWN_HARM}{identity}.json"


def node_file(sha256: str) -> str:
    """A file that workers on other machines need, by the SHA-256 of its bytes."""
    return f"{NODE_FILES}{sha256}"


def fetched(source: str) -> str:
    """The folder of what is fetched for a source: its WARC files, and the log of what became of its addresses."""
    return f"{FETCHED}{source}/"


def fetched_log(name: str) -> str:
    """In the folder of a source that is fetched, the rows that commit the WARC file with this name."""
    return f"{FETCHED_LOGS}{name.rpartition('/')[2].removesuffix('.warc.gz')}.parquet"


class Proof(Enum):
    """How a file shows that it is what was put under its name."""

    TABLE = "Parquet whose footer has the hash in its name, and hashes of all other bytes"
    CONTENT = "bytes that have the hash in their name"
    SHA256 = "bytes whose SHA-256 is their name"
    RECORD = "JSON with a checksum over its path and its content"
    INTAKE = "Parquet with a checksum over its path and its bytes"
    LOG = "WARC files and what a log says of each address: `winnow audit` compares them"
    NONE = "advisory: says what a process is doing or has found, and decides nothing once it has ended"


_HASH = "[0-9a-f]{16}"
_PROOFS = tuple(
    (re.compile(pattern), proof)
    for pattern, proof in (
        (rf"(samples|layers|quarantine|dropped|plans)/.+\.{_HASH}\.parquet", Proof.TABLE),
        (rf"(manifests/[^/]+|hidden)/{_HASH}\.parquet", Proof.TABLE),
        (rf"stats/.+\.{_HASH}\.json", Proof.CONTENT),
        (rf"verdicts/.+\.{_HASH}\.arrow", Proof.CONTENT),
        (rf"weights/.+\.{_HASH}\.safetensors", Proof.CONTENT),
        (rf"tasks/.+/{_HASH}\.jsonl", Proof.CONTENT),
        (rf"(tombstones|outputs|copies)/{_HASH}\.json", Proof.CONTENT),
        (r"files/[0-9a-f]{64}", Proof.SHA256),
        (r"intake/[^/]+/\d{8}\.parquet", Proof.INTAKE),
        (r"(commits|weights|decisions|known_harm|poison|strikes|runs)/.+\.json", Proof.RECORD),
        (r"generations/\d{8}\.json|plans/[^/]+/plan\.json|store\.json|purge\.json", Proof.RECORD),
        (r"fetched/.+", Proof.LOG),
        (r"(lease|shares|heartbeats|scratch)/.+|report\.html", Proof.NONE),
    )
)


def proof_of(path: str) -> Proof | None:
    """How the file under this path proves itself; None if a store has no such file."""
    return next((proof for pattern, proof in _PROOFS if pattern.fullmatch(path)), None)


def generation_number(path: str) -> int:
    """The number of a generation's record."""
    return int(path.removeprefix(GENERATIONS).removesuffix(".json"))


def decision(layer: str, key: str) -> str:
    """The record of how the values of a score's layer were decided."""
    return f"{DECISIONS}{layer}/{key}.json"


def rule_decisions(key: str) -> str:
    """The record of rules' decisions on the rows of a generation."""
    return f"{RULE_DECISIONS}{key}.json"


def clusters(key: str) -> str:
    """The record of how many clusters of duplicates there are, and of the largest."""
    return f"{CLUSTERS}{key}.json"
