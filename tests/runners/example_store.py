"""A summary with every part, and hostile names in each place where the crawl has a say."""

from winnow.pipelines.query.cluster_counts import Cluster, Overview
from winnow.pipelines.rules.near_thresholds import NearSample, NearThreshold
from winnow.pipelines.score.deciding.records import Distribution
from winnow.pipelines.score.overview import DropOverlap, FitOverview, ScoredSample, ScoreOverview
from winnow.runners.facts.examples import DuplicatesFound, ExampleRange, ExampleRow, Examples
from winnow.schemas.rules.conditions import Cut
from winnow.schemas.summary import (
    Bin,
    ColumnSummary,
    LayerSummary,
    Measure,
    Quantile,
    SourceSummary,
    StageSummary,
    StoreSummary,
    ValueCount,
)
from winnow.scoring.selection import Quality, Summary, clusters
from winnow.scoring.selection.binarise import Step
from winnow.scoring.selection.describe import Bars
from winnow.scoring.selection.overlap import Pair

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202egpj\"'&"

LENGTHS = Measure(
    "characters", 9, 0, 3000, 900.5, (Quantile(0.5, 70),), (Bin(0, 0, 1), Bin(64, 67, 5), Bin(2944, 3071, 3))
)

SCORES = Measure(
    "value",
    9,
    0.125,
    1.0,
    0.7,
    (Quantile(0.01, 0.125), Quantile(0.25, 0.5), Quantile(0.99, 1.0)),
    (Bin(0.125, 0.13, 2), Bin(0.5, 0.52, 3), Bin(0.97, 1.0, 4)),
)

SUMMARY = StoreSummary(
    store="./demo",
    generation=4,
    tree_hash="9f8e",
    sources=(
        SourceSummary(
            "crawl",
            "web",
            "unknown",
            12,
            1 << 30,
            1_234_567,
            1_000_000,
            {"revisit": 234_500},
            {"bomb": 67},
            {"text": 1_000_000},
        ),
        SourceSummary(HOSTILE, "public", "CC0-1.0", 1, 2048, 3, 3, by_modality={"image": 3}),
    ),
    stages=(StageSummary("ingest", 40, 1_234_570, 1_000_003, {"revisit": 234_500}, {"bomb": 67}),),
    layers=(
        LayerSummary(
            "samples",
            "1",
            10,
            5000,
            columns=(
                ColumnSummary(
                    "domain",
                    "text",
                    10,
                    1,
                    distinct=3,
                    top=(ValueCount(HOSTILE, 5), ValueCount("例え.org", 3)),
                    other=1,
                ),
                ColumnSummary("mime", "text", 10, 0, top=(ValueCount("text/html", 10),)),
                ColumnSummary("text", "text", 10, 1, (LENGTHS,)),
            ),
        ),
        LayerSummary(
            "extract.main",
            "1",
            10,
            400,
            1,
            {"ok": 9, HOSTILE: 1},
            (ColumnSummary("language", "text", 10, 5, top=(ValueCount("en", 3), ValueCount("de", 2))),),
        ),
        LayerSummary("extract.trafilatura", "2", 10, 500, 0, {"ok": 10}),
        LayerSummary(
            "text.language",
            "1",
            10,
            90,
            1,
            {"ok": 9, "no_letters": 1},
            (
                ColumnSummary(
                    "code",
                    "text",
                    10,
                    1,
                    top=(ValueCount("deu_Latn", 4), ValueCount("swe_Latn", 2), ValueCount("rus_Cyrl", 1)),
                    other=2,
                ),
                ColumnSummary("score", "float", 10, 1, (SCORES,)),
            ),
        ),
    ),
)

CLUSTER = Cluster(
    "00ff" * 8, 41, 3, 40, ((HOSTILE, 38), ("crawl", 2)), (("deu_Latn", 30), ("a", 3), ("b", 2), ("c", 1)), 0.7512
)

BARS = Bars((-1.0, 0.0, 1.0, 2.0), (249, 600, 149), 1, 1)
LOWER, UPPER = clusters.Cluster(-0.5, 0.1, 0.25), clusters.Cluster(0.5, 0.2, 0.75)
NO_NUMBERS = Summary(4, 0, None, None, None, None, None, None, ())
SCORE_OVERVIEW = ScoreOverview(
    name="mimic",
    task="next_byte",
    binarise="kmeans",
    by=None,
    rows=1234,
    scored=1000,
    statuses={"ok": 1000, HOSTILE: 234},
    fits=(
        FitOverview(
            "",
            "majority",
            Quality(0.75, 0.7225, 0.776, 1000, "clusters", 0.761),
            (
                Step(
                    1000, 1000, 750, 0.25, -0.125, (clusters.Cluster(-0.5, 0.1, 0.25), clusters.Cluster(0.5, 0.2, 0.75))
                ),
                Step(0, 0, 0, None, None, None, "unscored"),
            ),
        ),
    ),
    checkpoints=(
        Distribution("m1", Summary(1234, 1000, -1.0, 2.0, 0.25, 0.5, 0.0, 0.0, ((0.5, 0.3),)), BARS),
        Distribution("m2", NO_NUMBERS, Bars((), (), 0, 0)),
    ),
    score=Distribution("score", Summary(1234, 1000, -1.0, 2.0, 0.25, 0.5, 0.0, 0.0, ((0.5, 0.3),)), BARS),
    keep=Distribution(
        "keep",
        Summary(1234, 1000, 0.0, 1.0, 0.75, 0.4, 0.0, 0.0, ((0.5, 1.0),)),
        Bars((0.0, 0.5, 1.0), (250, 750), 0, 0),
    ),
    dropped=250,
    highest=(ScoredSample("0c", HOSTILE, None, 2.0, 1.0, HOSTILE),),
    lowest=(ScoredSample("0d", "crawl", None, -1.0, None, ""),),
    overlaps=(DropOverlap("keep", HOSTILE, Pair("one", "other", 700, 50, 100, 150, 0, 0, 234)),),
    undecided=True,
)

EXAMPLES = Examples(
    rows=(
        ExampleRow("00ff", "crawl", "javascript:" + HOSTILE, "text/html", HOSTILE + "\nsecond line " + "x" * 400),
        ExampleRow("01ff", "crawl", None, None, ""),
    ),
    ranges=(ExampleRange("bomb", "crawl", HOSTILE, 123_456, 78, "bytes", HOSTILE),),
    thresholds=(
        NearThreshold(
            "eligible",
            "language",
            Cut("text.language.score", "<", 0.45),
            2,
            7,
            1,
            (NearSample("0a", HOSTILE, None, 0.13, HOSTILE, 0.45, "deu_Latn"),),
            (NearSample("0b", "crawl", None, 0.5, "just above", 0.45, HOSTILE),),
        ),
    ),
    duplicates=(
        DuplicatesFound(
            Overview("near", 50, 48, 1, (5, 1, 0, 0, 1, 0, 0), 2, 43, 41, (CLUSTER,)),
            {CLUSTER.id: (("00ff" * 8, HOSTILE), ("01ff" * 8, None))},
        ),
    ),
    scores=(SCORE_OVERVIEW,),
)
