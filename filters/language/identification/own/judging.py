"""The likeliest labels of texts, among those that are written in a text's script."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winnow.filters.language.identification.own.network import Network
from winnow.filters.language.identification.own.shape import shapes
from winnow.filters.language.identification.own.sureness import Measured, sureness
from winnow.filters.language.identification.scripts import Scripts, script_names

_PART = 4_096  # texts whose scores are in memory at once
_LATIN = "Latn"
_FOREIGN_SHARE = 0.25
"""Of the letters: beside so many in another script, Latin ones are names and commands, as manuals are full of."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The likeliest labels of texts."""

    labels: npt.NDArray[np.int32]  # [texts, most], the likeliest first; -1 for none
    shares: npt.NDArray[np.float64]  # their probabilities beside each other
    measured: Measured

    def scores(self, network: Network) -> npt.NDArray[np.float64]:
        """How likely each label is right: that of the best, and parts of it for the others."""
        best = np.where(self.labels[:, :1] >= 0, self.shares[:, :1], 1.0)
        sure = sureness(self.measured, network.sureness)[:, np.newaxis]
        return np.where(self.labels >= 0, self.shares * np.minimum(sure / np.maximum(best, 1e-9), 1.0), 0.0)


def judge(
    network: Network,
    buffer: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    scripts: Scripts,
    most: int = 1,
) -> Judged:
    """The likeliest labels of ranges of UTF-8."""
    sums, ngrams = network.sums(buffer, starts, ends)
    labels = np.full((len(starts), most), -1, np.int32)
    shares = np.zeros((len(starts), most))
    fit = np.zeros(len(starts))
    for candidates, rows in _by_candidates(network, scripts):
        for at in range(0, len(rows), _PART):
            part = rows[at : at + _PART]
            logits = network.logits(sums[part], ngrams[part, 1], candidates)
            order = _likeliest(logits, most)
            best = np.take_along_axis(logits, order, axis=1)
            whole = np.exp(logits - best[:, :1]).sum(1, keepdims=True)
            width = order.shape[1]
            labels[part, :width] = candidates[order]
            shares[part, :width] = np.exp(best - best[:, :1]) / whole
            fit[part] = best[:, 0]
    judged = labels[:, 0] >= 0
    fit[judged] -= network.usual_fit[labels[judged, 0]]
    own = scripts.own_letters / np.maximum(scripts.letters, 1)
    best_shares = np.where(judged, shares[:, 0], 0.0)
    return Judged(labels, shares, Measured(best_shares, fit, ngrams, shapes(buffer, starts, ends), own))


def _likeliest(logits: npt.NDArray[np.float64], most: int) -> npt.NDArray[np.int64]:
    """The places of each row's largest numbers, the largest first; the first of equal ones comes first."""
    if most == 1 or logits.shape[1] == 1:
        return np.asarray(logits.argmax(1)[:, np.newaxis])
    if most < logits.shape[1]:
        some = np.sort(np.argpartition(-logits, most - 1, axis=1)[:, :most], axis=1)
    else:
        some = np.broadcast_to(np.arange(logits.shape[1]), logits.shape)
    order = np.argsort(-np.take_along_axis(logits, some, axis=1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(some, order, axis=1))


def _by_candidates(network: Network, scripts: Scripts) -> list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]]:
    """Texts with the same candidates: the labels of their script, and of a second one beside Latin letters."""
    names = script_names()
    latin = names.index(_LATIN)
    seconds = np.where(scripts.numbers == latin, scripts.seconds, -1).astype(np.int64)
    firsts = scripts.numbers.astype(np.int64)
    foreign = (seconds >= 0) & (scripts.second_letters >= _FOREIGN_SHARE * scripts.letters)
    firsts, seconds = np.where(foreign, seconds, firsts), np.where(foreign, -1, seconds)
    keys = firsts * (len(names) + 1) + seconds + 1
    found = []
    for key in np.unique(keys[firsts >= 0]).tolist():
        first, second = key // (len(names) + 1), key % (len(names) + 1) - 1
        candidates = network.of_script(names[first])
        if second >= 0:  # Latin letters are not odd there
            candidates = np.concatenate([network.languages_among(candidates), network.of_script(names[second])])
        if len(candidates):
            found.append((candidates.astype(np.int32), np.flatnonzero(keys == key)))
    return found
