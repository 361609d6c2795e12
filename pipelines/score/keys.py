"""The keys of the layers of scores: a trace has one per source, a score's layer one for the whole store."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from winnow.pipelines.binding.scores import BoundScore, group_column
from winnow.pipelines.store.global_keys import GlobalKey, with_forgotten, without_forgotten
from winnow.pipelines.store.state import StoreState
from winnow.schemas.identity import fingerprint_of
from winnow.schemas.records import WeightKeys

VERSION = 6
"""The version of everything that decides the values of a score's layer, given the traces."""


@dataclass(frozen=True)
class TraceLayer:
    """A trace for the driver: a score with the keys of its weights."""

    bound: BoundScore
    weights: WeightKeys
    forgotten: str  # as returned by `forgotten_by`

    @property
    def layer(self) -> str:
        """Its name."""
        return self.bound.entry.trace

    @property
    def reads(self) -> tuple[str, ...]:
        """The layers that it reads, each once."""
        return self.bound.reads

    @property
    def covers(self) -> None:
        """None: its values depend on a row alone."""

    def key(self, keys: Mapping[str, str]) -> str:
        """Return its key for one source, given the keys of the layers that it reads."""
        bound = self.bound
        key = fingerprint_of(
            {
                "layer": self.layer,
                "settings": bound.settings,
                "where": bound.where.text,
                "parameters": list(bound.entry.parameters),
                "variant": bound.entry.variant,
                "reference": without_forgotten(self.weights.reference),
                "trajectory": without_forgotten(self.weights.trajectory),
                **({"companions": without_forgotten(self.weights.companions)} if self.weights.companions else {}),
                **({"target": without_forgotten(self.weights.target)} if self.weights.target else {}),
                **({} if bound.entry.token_rho is None else {"token_rho": bound.entry.token_rho}),
                "reads": {layer: keys[layer] for layer in sorted(self.reads)},
            }
        )
        trained = any(one is not None for one in (bound.reference_rows, bound.trajectory_rows, bound.target_rows))
        return with_forgotten(key, self.forgotten if trained or bound.kind.contrastive else "")


def score_key(bound: BoundScore, state: StoreState, forgotten: str) -> GlobalKey:
    """Return the key of a score's layer: it covers every trace, and the column that groups rows."""
    settings = fingerprint_of(
        {
            "layer": bound.entry.layer,
            "version": VERSION,
            "filter": asdict(bound.entry.filter),
            "checkpoints": bound.entry.checkpoints,
            "seed": bound.seed,
        }
    )
    column = group_column(bound)
    layers = [bound.entry.trace, *([column.layer] if column is not None else [])]
    read = [state.layers[layer].objects for layer in dict.fromkeys(layers) if layer in state.layers]
    shards = [[row.shard, row.object, *(found[row.shard] for found in read)] for row in state.shards]
    covered = fingerprint_of({"settings": settings, "shards": shards})
    return GlobalKey(settings, with_forgotten(covered, forgotten))
