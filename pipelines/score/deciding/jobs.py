"""The jobs of a decision; each task of one reads what the jobs before it have stored."""

from functools import partial

from winnow.pipelines.running.linear_jobs import ExchangeStep, LinearJob, StoreStep, StoringJob
from winnow.pipelines.score.deciding.batch_votes import BatchVotes
from winnow.pipelines.score.deciding.decision import Decision
from winnow.pipelines.score.deciding.measuring import fit_groups, histogram_partitions, send_histograms
from winnow.pipelines.score.deciding.placing import Placing
from winnow.pipelines.score.deciding.top_cuts import TopPass
from winnow.pipelines.score.deciding.voting import Voting
from winnow.pipelines.score.deciding.writing import Writing


def fit_job(decision: Decision) -> LinearJob:
    """Histograms of all scores, and what the rule makes of them."""
    fits = StoreStep("Fits", histogram_partitions(decision), partial(fit_groups, decision))
    send = partial(send_histograms, decision)
    return LinearJob(decision.steps, "Histograms", decision.places.groups, send, (), fits)


def top_job(search_pass: TopPass) -> StoringJob:
    """One pass of the search for the cuts of top shares."""
    return StoringJob(
        search_pass.decision.steps,
        f"Cuts-{search_pass.number}",
        search_pass.decision.places.groups,
        search_pass.store_seen,
    )


def place_job(placing: Placing) -> LinearJob:
    """The places of rows in the orders of their groups."""
    decision = placing.decision
    ranges = ExchangeStep("Ranges", len(placing.orders) * placing.ranges, placing.sort)
    places = StoreStep("Places", decision.shards.groups, placing.store)
    return LinearJob(decision.steps, "Rows", decision.shards.groups, placing.send, (ranges,), places)


def batch_job(votes: BatchVotes) -> LinearJob:
    """The votes of rows in their batches."""
    decision = votes.decision
    batches = ExchangeStep("Batches", votes.partitions, votes.vote)
    stored = StoreStep("BatchVotes", decision.shards.groups, votes.store)
    return LinearJob(decision.steps, "BatchRows", decision.shards.groups, votes.send, (batches,), stored)


def vote_job(voting: Voting) -> LinearJob:
    """Counts of all votes, and how they become keep probabilities."""
    decision = voting.decision
    votes = StoreStep("Votes", voting.partitions, voting.fit)
    return LinearJob(decision.steps, "Counts", decision.places.groups, voting.send, (), votes)


def write_job(writing: Writing, groups: int) -> StoringJob:
    """The layer of every shard that lacks it, in `groups` groups."""
    return StoringJob(writing.decision.steps, "Shards", groups, writing.write)
