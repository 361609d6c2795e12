"""Stage 2 of Grad-Mimic (arXiv 2501.06708): scores at checkpoints become votes, and votes become keep probabilities.

A matrix of scores has one row per sample and one column per checkpoint; missing scores are NaN and abstain. Results do
not depend on the order of rows: sums run over sorted values, ties are broken by a hash of the id. Needs only numpy.
"""

from winnow.scoring.selection.binarise import BinariseRule, Votes, binarise
from winnow.scoring.selection.describe import Extremes, Summary, bars, extremes, summary
from winnow.scoring.selection.histograms import ScoreHistogram
from winnow.scoring.selection.in_batch import batches_of
from winnow.scoring.selection.label_model import Aggregation, KeepProbabilities, LabelModel, aggregate
from winnow.scoring.selection.overlap import Overlap, overlap
from winnow.scoring.selection.quality import KEEP_AT, Quality, estimate_quality, kept_share, pearson, retained
from winnow.scoring.selection.ranks import Ids, ranked

__all__ = [
    "KEEP_AT",
    "Aggregation",
    "BinariseRule",
    "Extremes",
    "Ids",
    "KeepProbabilities",
    "LabelModel",
    "Overlap",
    "Quality",
    "ScoreHistogram",
    "Summary",
    "Votes",
    "aggregate",
    "bars",
    "batches_of",
    "binarise",
    "estimate_quality",
    "extremes",
    "kept_share",
    "overlap",
    "pearson",
    "ranked",
    "retained",
    "summary",
]
