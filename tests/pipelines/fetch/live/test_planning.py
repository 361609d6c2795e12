"""What a list comes to: every line is asked, decided before, or has a row that says why not."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.pipelines.fetch.live.planning import LiveAsk, LivePlan, plan_addresses
from winnow.pipelines.fetch.log import LIST, log_path, log_table, put_log, read_log
from winnow.pipelines.fetch.outcome import Decision, Outcome, Reason
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import RecipeError, SourceError
from winnow.schemas.recipe.fetch import AddressList, FetchConfig

CONFIG = FetchConfig(contact="mailto:you@example.org")


def asking(folder: Path, lines: Sequence[str], **changes: object) -> LiveAsk:
    file = folder / "list.txt"
    file.write_text("\n".join(lines), "utf-8")
    base = LiveAsk(addresses=AddressList(file=str(file)), objects=open_location(str(folder / "fetched")), config=CONFIG)
    return replace(base, **changes)  # type: ignore[arg-type]


def pending(plan: LivePlan) -> list[str]:
    return [plan.queue[row].canonical for row in range(plan.pending)]


def rows(plan: LivePlan) -> list[tuple[str, str, str]]:
    found = pq.read_table(plan.list_rows, columns=["url", "decision", "reason"]).to_pylist()
    return [(row["url"], row["decision"], row["reason"]) for row in found]


def test_each_line_is_asked_or_has_a_row(tmp_path: Path) -> None:
    plan = plan_addresses(
        asking(
            tmp_path,
            [
                "https://a.example/x",
                "HTTPS://A.example:443/x#part",
                "",
                "https://you:secret@a.example/",
                "ftp://a.example/",
                "https://a.example:8443/",
                "https://münchen.example/ü",
                "http://[2001:db8::1]/",
                "https://a.example/" + "y" * 3_000,
                "https://a.example/x",
            ],
        )
    )
    assert sorted(pending(plan)) == [
        "http://[2001:db8::1]/",
        "https://a.example/x",
        "https://xn--mnchen-3ya.example/%C3%BC",
    ]
    assert [(url[:30], *rest) for url, *rest in rows(plan)] == [
        ("HTTPS://A.example:443/x#part", "skipped", "repeated"),
        ("https://you:secret@a.example/", "refused", "credentials"),
        ("ftp://a.example/", "failed", "no_address"),
        ("https://a.example:8443/", "refused", "port"),
        ("https://a.example/yyyyyyyyyyyy", "failed", "too_long"),
        ("https://a.example/x", "skipped", "repeated"),
    ]
    assert (plan.addresses, plan.pending, plan.refused.total(), plan.hosts) == (9, 3, 6, 3)


LINES = st.lists(
    st.one_of(
        st.builds("https://h{}.{}.example/{}".format, st.integers(0, 4), st.sampled_from("ab"), st.integers(0, 9)),
        st.text(max_size=20),
        st.sampled_from(
            ["https://a:b@c.example/", "https://c.example:1/", "https://C.example/é", "https://c.example/%C3%A9"]
        ),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=scaled(100), deadline=None)
@given(LINES, st.none() | st.integers(0, 10))
def test_the_log_balances(tmp_path_factory: pytest.TempPathFactory, lines: list[str], limit: int | None) -> None:
    lines = [line.replace("\n", " ").replace("\r", " ") for line in lines]
    lines = [line for line in lines if line.strip() and line.encode("utf-8", "replace")[:1] not in (b"\x1f", b"P")]
    lines = ["https://first.example/", *lines]
    plan = plan_addresses(asking(tmp_path_factory.mktemp("lists"), lines, limit=limit))
    assert plan.addresses == len(lines)
    assert plan.pending + plan.refused.total() == len(lines)
    assert len(rows(plan)) == plan.refused.total()
    assert limit is None or plan.pending <= limit
    assert len(set(pending(plan))) == plan.pending


def test_the_order_does_not_depend_on_the_list_and_spans_tile_the_queue(tmp_path: Path) -> None:
    lines = [f"https://h{n % 7}.d{n % 3}.example/{n}" for n in range(300)]
    plan = plan_addresses(asking(tmp_path, lines))
    assert pending(plan) == pending(plan_addresses(asking(tmp_path, lines[::-1])))
    assert pending(plan) != pending(plan_addresses(asking(tmp_path, lines, seed=1)))
    spans = [span for domain in plan.queue.spans() for span in domain]
    assert [span.start for span in spans] + [300] == [0, *(span.stop for span in spans)]
    assert len({span.host for span in spans}) == len(spans) == plan.hosts == 21
    assert {plan.queue[row].host for span in spans for row in (span.start, span.stop - 1)} == {
        one.host for one in spans
    }
    assert len(list(plan.queue.spans())) == plan.domains == 3


def row(url: str, reason: Reason, at: int, decision: Decision = Decision.FAILED, **more: object) -> Outcome:
    return Outcome(url=url, canonical=url, decision=decision, reason=reason, fetched_at=at, **more)  # type: ignore[arg-type]


def test_a_later_run_asks_again_only_what_may_end_differently(tmp_path: Path) -> None:
    base = [f"https://a.example/{name}" for name in ("ok", "busy", "gone", "robots", "new")]
    asked = asking(tmp_path, base)
    put_log(
        asked.objects,
        "1",
        log_table(
            [
                row(base[0], Reason.BUSY, 1),
                row(base[1], Reason.BUSY, 1),
                row(base[2], Reason.NOT_FOUND, 1),
                row(base[3], Reason.ROBOTS, 1, Decision.REFUSED),
            ]
        ),
    )
    put_log(
        asked.objects, "2", log_table([row(base[0], Reason.OK, 2, Decision.FETCHED, etag='"e"', final_url=base[0])])
    )
    plan = plan_addresses(asked)
    assert sorted(pending(plan)) == sorted([base[1], base[4]])
    assert plan.done == 3
    again = plan_addresses(replace(asked, refetch=frozenset([Reason.OK, Reason.ROBOTS])))
    assert sorted(pending(again)) == sorted([base[0], base[1], base[3], base[4]])
    kept = next(one for one in map(again.queue.__getitem__, range(4)) if one.canonical == base[0])
    assert (kept.etag, kept.record_url, kept.recorded_at) == ('"e"', base[0], 2)


def test_the_limit_leaves_fetched_addresses_as_they_are(tmp_path: Path) -> None:
    lines = [f"https://a.example/{number}" for number in range(20)]
    asked = asking(tmp_path, lines)
    put_log(asked.objects, "1", log_table([row(line, Reason.OK, 1, Decision.FETCHED) for line in lines[:10]]))
    plan = plan_addresses(replace(asked, limit=5))
    assert plan.done == 10
    assert plan.pending <= 5
    assert plan.done + plan.pending + plan.refused[Reason.OVER_LIMIT] == 20


def test_forgotten_addresses_are_never_asked(tmp_path: Path) -> None:
    lines = ["https://a.example/1", "https://a.example/2"]
    asked = asking(tmp_path, lines, forgotten=lambda url: url.endswith("2"))
    put_log(asked.objects, "1", log_table([row(lines[1], Reason.OK, 1, Decision.FETCHED)]))
    plan = plan_addresses(asked)
    assert pending(plan) == lines[:1]
    assert rows(plan) == [(lines[1], "refused", "forgotten")]
    assert plan.is_any_left
    asked.objects.put(log_path(LIST), plan.list_rows)
    assert read_log(asked.objects, ("url", "reason")).to_pylist() == [{"url": lines[1], "reason": "forgotten"}]


def test_a_run_needs_a_contact_and_a_list(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"fetch\.contact"):
        plan_addresses(asking(tmp_path, ["https://a.example/"], config=FetchConfig()))
    with pytest.raises(SourceError, match=r"list\.txt"):
        plan_addresses(asking(tmp_path, ["", "  "]))


def test_a_list_of_which_nothing_is_asked_still_has_its_rows(tmp_path: Path) -> None:
    asked = asking(tmp_path, ["nonsense"])
    plan = plan_addresses(asked)
    assert (plan.pending, plan.is_any_left) == (0, True)
    asked.objects.put(log_path(LIST), plan.list_rows)
    assert not plan_addresses(asked).is_any_left
