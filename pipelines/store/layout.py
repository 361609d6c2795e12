"""Where things are in a store. The only place that spells these names."""

SAMPLES = "samples"
STORE_RECORD = "store.json"
GENERATIONS = "generations/"
COMMITS = "commits/"
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
SCRATCH = "scratch/"
VERDICTS = "verdicts/"
PLANS = "plans/"
WEIGHTS = "weights/"
PURGE = "purge.json"
REPORT = "report.html"

SAMPLES_OBJECTS = "samples/"
DATA = (SAMPLES_OBJECTS, "layers/", "quarantine/", "dropped/", "stats/", MANIFESTS)
"""Prefixes of content-named objects: what `gc` may drop when no kept generation names it."""


def samples_object(shard: str, content: str) -> str:
    """The rows of a shard."""
    return f"{SAMPLES_OBJECTS}{shard}.{content}.parquet"


def layer_object(layer: str, key: str, shard: str, content: str) -> str:
    """A layer's rows for a shard."""
    return f"{layer_objects(layer, key)}{shard}.{content}.parquet"


def layer_objects(layer: str, key: str) -> str:
    """The prefix of a layer's objects under one key."""
    return f"layers/{layer}/{key}/"


def verdicts_objects(key: str) -> str:
    """The prefix of what comparing texts by one kind of shingles gave."""
    return f"{VERDICTS}{key}/"


def verdicts_object(key: str, shard: str, content: str) -> str:
    """What comparing the texts of a shard's rows with others gave."""
    return f"{verdicts_objects(key)}{shard}.{content}.arrow"


def shard_of(path: str) -> str:
    """The shard whose rows a layer's object is about."""
    return path.rpartition("/")[2].rsplit(".", 2)[0]


def range_object(kind: str, task: str, content: str) -> str:
    """The ranges that a task dropped or quarantined (`kind`)."""
    return f"{kind}/{task}.{content}.parquet"


def statistics_object(layer: str, shard: str, content: str) -> str:
    """The statistics of one shard of a layer."""
    return f"stats/{layer}/{shard}.{content}.json"


def manifest(layer: str, content: str) -> str:
    """The list of a layer's objects."""
    return f"{MANIFESTS}{layer}/{content}.parquet"


def commits(layer: str, key: str) -> str:
    """The prefix of a layer's commits under one key."""
    return f"{COMMITS}{layer}/{key}/"


def commit(layer: str, key: str, name: str) -> str:
    """One commit."""
    return f"{commits(layer, key)}{name}.json"


def generation(number: int) -> str:
    """One generation's record."""
    return f"{GENERATIONS}{number:08d}.json"


def intake(source: str, number: int) -> str:
    """The tasks that the n-th look at a source added."""
    return f"{INTAKE}{source}/{number:08d}.parquet"


def heartbeat(layer: str, name: str) -> str:
    """The advisory progress of a task that is running."""
    return f"{HEARTBEATS}{layer}/{name}.json"


def layer_of(path: str) -> str:
    """The layer whose rows an object holds."""
    parts = path.split("/")
    return SAMPLES if parts[0] == SAMPLES else parts[1]


def tombstone(content: str) -> str:
    """What was asked to be forgotten."""
    return f"{TOMBSTONES}{content}.json"


def hidden(content: str) -> str:
    """Which rows of which objects tombstones hide."""
    return f"{HIDDEN}{content}.parquet"


def output(content: str) -> str:
    """Something that was written outside the store from one of its generations."""
    return f"{OUTPUTS}{content}.json"


def plan_objects(request: str) -> str:
    """The prefix of a mixture's plan and its draw, by what was asked for."""
    return f"{PLANS}{request}/"


def plan_record(request: str) -> str:
    """The plan itself; there once its whole draw is."""
    return f"{plan_objects(request)}plan.json"


def is_plan_record(path: str) -> bool:
    """Whether a path is of a plan itself, not of its draw."""
    return path.startswith(PLANS) and path.endswith("/plan.json")


def draw_object(request: str, shard: str, content: str) -> str:
    """The rows of a shard that a plan draws."""
    return f"{plan_objects(request)}{shard}.{content}.parquet"


def weights_objects(score: str) -> str:
    """The prefix of all weights that a score was made with."""
    return f"{WEIGHTS}{score}/"


def weights_record(score: str, key: str) -> str:
    """Which objects hold the weights that a training left."""
    return f"{weights_objects(score)}{key}.json"


def weights_use(score: str, trace: str) -> str:
    """Which weights a trace of this key was made with."""
    return f"{weights_objects(score)}of.{trace}.json"


def weights_object(score: str, key: str, content: str) -> str:
    """Weights, as a safetensors file."""
    return f"{weights_objects(score)}{key}.{content}.safetensors"
