"""The estimator: what was put in is found, intervals hold what they promise, and what cannot be said is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.messages import assert_refused, assert_told, assert_told_each
from tests.scoring.synthetic import DS, NS, TRUTHS, Truth, runs
from winnow.schemas.errors import SourceError
from winnow.schemas.law import law_from_json, law_to_json
from winnow.scoring.scaling_law.fitting import LEAST_DELTA, FitConfig, LawFit, fit_law
from winnow.scoring.scaling_law.law_of_fit import law_of
from winnow.scoring.scaling_law.mixing import RatioObjective, family_ratios
from winnow.scoring.scaling_law.predicting import losses
from winnow.scoring.scaling_law.runs import runs_from_columns

QUICK = FitConfig(resamples=60)
ESTIMATES = FitConfig(resamples=20)  # where intervals do not matter
GAMMA = FitConfig(mode="gamma", resamples=60)
ONE = {"indic": TRUTHS["indic"]}


@pytest.mark.parametrize("method", ["joint", "two_stage"])
def test_runs_without_noise_give_the_parameters_back(method: str) -> None:
    fit = fit_law(runs(TRUTHS, 0.0), FitConfig(method=method, resamples=20))  # type: ignore[arg-type]
    for found, truth in zip(fit.families, TRUTHS.values(), strict=True):
        wanted = [np.log(truth.e), np.log(truth.a), truth.alpha, np.log(truth.b), truth.beta, truth.gamma]
        assert found.parameters == pytest.approx(wanted, rel=2e-3)
        assert found.gamma == pytest.approx(truth.gamma, abs=1e-6)
        assert found.quality.r2 > 1 - 1e-8
    assert fit.warnings == ()


def test_both_ways_are_reported_and_agree_within_noise() -> None:
    fit = fit_law(runs(ONE, 0.005), ESTIMATES).families[0]
    assert fit.two_stage[5] == pytest.approx(fit.gamma, abs=0.002)
    assert fit.quality.r2 > 0.99
    assert fit.quality.held_out_mae is not None
    assert fit.quality.mae < fit.quality.held_out_mae < 0.02
    assert fit.quality.largest_n_mae is not None  # three smaller N remain
    assert fit.quality.largest_d_mae is None  # two smaller D are too few


def test_seed_spread_is_the_noise_of_the_loss() -> None:
    fit = fit_law(runs(ONE, 0.005, seeds=3), ESTIMATES).families[0]
    typical = float(np.mean([ONE["indic"].loss(n, d, 0.4) for n in NS for d in DS]))
    assert fit.quality.seed_spread == pytest.approx(0.005 * typical, rel=0.2)


def test_seed_spread_is_of_runs_of_one_mixture() -> None:
    rows = [  # at p = 0.2 the loss depends on what lies beside it, and not on the seed
        (f"r{number}", seed, {"a": p, "b": b, "c": round(1 - p - b, 1)})
        for number, (p, b, seed) in enumerate(
            [(0.2, 0.6, 0), (0.2, 0.6, 1), (0.2, 0.2, 0), (0.2, 0.2, 1), (0.6, 0.2, 0)]
        )
    ]
    columns: dict[str, list[object]] = {name: [] for name in ("run", "family", "N", "D", "p", "loss", "seed")}
    for run, seed, mixture in rows:
        for family, p in mixture.items():
            row = (run, family, 1e8, 1e9, p, 3 * p**-0.1 + 0.1 * mixture["b"], seed)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    fit = fit_law(runs_from_columns(columns), FitConfig(mode="gamma", resamples=20)).families[0]
    assert fit.quality.seed_spread == pytest.approx(0, abs=1e-12)


def test_gamma_alone_needs_one_n_and_d() -> None:
    fit = fit_law(runs(ONE, 0.002, ns=[1e8], ds=[1e9], ps=[0.1, 0.3, 1.0], seeds=2), GAMMA)
    found = fit.families[0]
    assert found.cells == ((1e8, 1e9),)
    assert found.gamma == pytest.approx(0.15, abs=0.005)
    assert np.exp(found.parameters[1]) == pytest.approx(ONE["indic"].loss(1e8, 1e9, 1), rel=0.01)


def test_an_outlier_hardly_moves_an_estimate() -> None:
    table = runs(ONE, 0.003)
    columns = {"N": table.n, "D": table.d, "p": table.p, "loss": table.loss.copy(), "seed": table.seed}
    columns["loss"][7] *= 1.5
    spoilt = runs_from_columns({"family": ["indic"] * len(table), **{name: list(c) for name, c in columns.items()}})
    before, after = fit_law(table, ESTIMATES).families[0], fit_law(spoilt, ESTIMATES).families[0]
    assert after.gamma == pytest.approx(before.gamma, abs=0.002)


def test_hubers_delta_grows_with_the_noise_and_the_law_says_so() -> None:
    quiet, loud = (fit_law(runs(ONE, noise), GAMMA) for noise in (0.002, 0.03))
    assert quiet.families[0].huber_delta == LEAST_DELTA
    assert loud.families[0].huber_delta == pytest.approx(0.045, rel=0.3)
    assert law_of(loud).provenance.huber_delta == pytest.approx(loud.families[0].huber_delta, rel=1e-7)
    given = fit_law(runs(ONE, 0.03), FitConfig(mode="gamma", resamples=20, huber_delta=0.02))
    assert law_of(given).provenance.huber_delta == 0.02


def test_families_of_other_noise_have_their_deltas_in_the_note() -> None:
    still, loud = runs(ONE, 0.002), runs({"slavic": TRUTHS["slavic"]}, 0.03)
    both = [(name, table) for name, table in (("indic", still), ("slavic", loud))]
    columns: dict[str, list[object]] = {"family": [name for name, table in both for _ in range(len(table))]}
    for name in ("N", "D", "p", "loss", "seed"):
        columns[name] = [value for _, table in both for value in getattr(table, name.lower()).tolist()]
    law = law_of(fit_law(runs_from_columns(columns), GAMMA), note="n")
    assert law.provenance.note.startswith("n; Huber's delta was 0.01 for indic, 0.03")


def test_many_checkpoints_of_few_runs_are_few_runs() -> None:
    held, families = 0, 0
    for draw in range(40):
        rng = np.random.default_rng(draw)
        columns: dict[str, list[object]] = {name: [] for name in ("family", "N", "D", "p", "loss", "seed", "run")}
        for run, (p, seed) in enumerate((p, seed) for p in (0.2, 0.4, 0.6, 0.8) for seed in (0, 1)):
            for family, share in (("a", p), ("b", 1 - p)):
                common = 0.005 * rng.standard_normal()
                for d in np.geomspace(1e8, 1e9, 6):
                    loss = 3 * (d / 1e9) ** -0.1 * share**-0.1 * np.exp(common + 0.001 * rng.standard_normal())
                    row = (family, 1e7, d, share, loss, seed, f"r{run}")
                    for column, value in zip(columns.values(), row, strict=True):
                        column.append(value)
        law = law_of(fit_law(runs_from_columns(columns), FitConfig(mode="gamma", resamples=160)))
        held += sum(family.gamma.low <= 0.1 <= family.gamma.high for family in law.families)
        families += len(law.families)
    assert held / families >= 0.9, held


def test_a_fit_that_did_not_arrive_says_so() -> None:
    fit = fit_law(runs(ONE, 0.005), GAMMA)
    lost = replace(fit.families[0], arrived=False, draws_astray=0.5)
    assert_told_each(replace(fit, families=(lost,)).warnings, ("indic:", "converge"), ("indic:", "50%"))


def test_no_order_of_rows_changes_a_law_file() -> None:
    table = runs({name: TRUTHS[name] for name in ("indic", "slavic")}, 0.005)
    order = np.random.default_rng(0).permutation(len(table))
    columns = {"N": table.n, "D": table.d, "p": table.p, "loss": table.loss, "seed": table.seed}
    names = [table.families[place] for place in table.family[order]]
    shuffled = runs_from_columns({"family": names, **{name: list(c[order]) for name, c in columns.items()}})
    assert law_to_json(law_of(fit_law(table, ESTIMATES))) == law_to_json(law_of(fit_law(shuffled, ESTIMATES)))


def test_a_law_file_says_what_the_fit_found() -> None:
    fit = fit_law(runs(ONE, 0.005), QUICK)
    law = law_of(fit, fingerprint="f", note="n", kept_draws=25)
    assert law_from_json(law_to_json(law)) == law
    family = law.families[0]
    assert family.gamma.low < family.gamma.value < family.gamma.high
    assert family.fitted.p_max == 1.0
    assert len(family.draws) == 25
    assert law.provenance.rows == len(fit.table)
    predicted = losses(law, 4e8, 2e10, np.array([0.3]))[0]
    assert predicted == pytest.approx(ONE["indic"].loss(4e8, 2e10, 0.3), rel=0.005)


def lacks(**grid: object) -> str:
    table = runs(ONE, 0.005, **grid)  # type: ignore[arg-type]
    with pytest.raises(SourceError) as caught:
        fit_law(table, QUICK)
    return str(caught.value)


def test_what_cannot_be_determined_is_refused_with_the_runs_that_are_missing() -> None:
    assert_told(lacks(ps=[0.5]), "gamma needs", "p 0.5")
    assert_told(lacks(ns=[1e8, 2e8]), "3 values", "1e+08", "2e+08", "1 more")
    assert_told(lacks(ds=[1e9]), "3 values", "1e+09", "2 more")


def test_one_seed_is_fitted_with_a_warning_unless_more_are_required() -> None:
    table = runs(ONE, 0.005)
    columns = {"N": table.n, "D": table.d, "p": table.p, "loss": table.loss}
    rows = {
        "family": ["indic"] * len(table),
        **{name: list(c) for name, c in columns.items()},
        "seed": [7] * len(table),
    }
    fit = fit_law(runs_from_columns(rows), FitConfig(resamples=20))
    assert fit.families
    assert_told(fit.warnings[-1], "indic:", "training cannot", whole=True)
    with assert_refused(SourceError, "indic:", "seed 7", "--min-seeds", "2"):
        fit_law(runs_from_columns(rows), FitConfig(resamples=20, min_seeds=2))


def test_sizes_that_only_grow_together_are_refused() -> None:
    table = runs(ONE, 0.005)
    columns = {"N": table.n, "D": table.n * 20, "p": table.p, "loss": table.loss, "seed": np.arange(len(table))}
    rows = {"family": ["indic"] * len(table), **{name: list(c) for name, c in columns.items()}}
    with assert_refused(SourceError, "two runs share"):
        fit_law(runs_from_columns(rows), QUICK)


def test_a_fit_at_its_bounds_says_so() -> None:
    table = runs(ONE, 0.0005, ns=[1e8], ds=[1e9])
    rising = list(table.loss * table.p**0.4)
    columns = {"N": table.n, "D": table.d, "p": table.p, "seed": table.seed}
    rows = {"family": ["indic"] * len(table), **{name: list(c) for name, c in columns.items()}, "loss": rising}
    fit = fit_law(runs_from_columns(rows), GAMMA)
    assert_told(fit.warnings[0], "indic:", "lower bound", whole=True)
    assert_told(fit.warnings[1], "resamples ended")


@pytest.mark.parametrize("changed", [{"huber_delta": 0.0}, {"confidence": 1.0}, {"resamples": 3}])
def test_a_config_out_of_range_is_refused(changed: dict[str, float]) -> None:
    with assert_refused(SourceError, "above 0", "between 0", "1"):
        FitConfig(**changed)  # type: ignore[arg-type]


def optimum(truths: dict[str, Truth], n: float, d: float) -> np.ndarray:
    """Of the true law, by SLSQP from many starts."""
    count, rng = len(truths), np.random.default_rng(0)
    found = [
        minimize(
            lambda p: sum(truth.loss(n, d, share) for truth, share in zip(truths.values(), p, strict=True)),
            rng.dirichlet(np.full(count, 5.0)),
            method="SLSQP",
            bounds=[(1e-4, 1)] * count,
            constraints=[{"type": "eq", "fun": lambda p: p.sum() - 1}],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        for _ in range(10)
    ]
    best: np.ndarray = min(found, key=lambda one: float(one.fun)).x
    return best


@pytest.mark.large
def test_intervals_hold_gamma_and_the_ratios_as_often_as_they_say() -> None:
    truths = {name: TRUTHS[name] for name in ("germanic", "indic")}
    held_gamma, held_ratio = dict.fromkeys(truths, 0), dict.fromkeys(truths, 0)
    true_ratios = optimum(truths, 8e8, 2e10)
    for draw in range(100):
        fit: LawFit = fit_law(runs(truths, 0.005, draw, ps=(0.1, 0.4, 1.0)), FitConfig(resamples=160))
        law = law_of(fit)
        ratios = family_ratios(law, RatioObjective("uniform", 8e8, 2e10))
        for place, family in enumerate(law.families):
            gamma = truths[family.family].gamma
            held_gamma[family.family] += family.gamma.low <= gamma <= family.gamma.high
            held_ratio[family.family] += ratios.low[place] <= true_ratios[place] <= ratios.high[place]
    assert all(90 <= count <= 99 for count in held_gamma.values()), held_gamma
    assert all(count >= 90 for count in held_ratio.values()), held_ratio
