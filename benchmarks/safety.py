"""Safety of text: every detector but the network in a row, and each kind against a peer that looks for the same.

    python -m benchmarks.safety [--quick] [--json]

- `winnow, all detectors`: addresses against UT1, word lists, adverts, personal data (telephone numbers and national ids
  too), credentials and opt-outs, on every document, pages of about 2.4 kB in thirty languages. Promised: 50 µs each.
- `presidio`: Microsoft Presidio's own recognisers, called one by one without its language model, for the entities that
  both know: e-mail and IP addresses, cards, IBANs, Bitcoin wallets and telephone numbers of the same regions.
- `datatrove`: its PIIFormatter, which replaces e-mail and public IP addresses; ours finds and replaces the same.
- lookups: addresses against 5 million domains; what an entry and a lookup cost is printed below the table.

One core each (pinned), start-up included, the same documents, median of three. Rates are per CPU-second; `--quick`
says those of the full run (`benchmarks.measuring.reporting`).
"""

import json
import shutil
import sys
from collections.abc import Callable

from benchmarks.inputs.safety_documents import safety_documents
from benchmarks.measuring.environments import peer_python
from benchmarks.measuring.reporting import Amounts, Limit, Measured, benchmark_arguments, compared, measure, show, timed

MANY, TIMES, FEW = 50_000, 10, 5_000
QUICK_MANY = 50_000
SMALL = 200  # documents: hardly more than start-up
KINDS = ("email", "ip", "card", "iban", "crypto_address", "phone")  # that Presidio knows, too
FLOORS = {"presidio": 20.0, "datatrove": 5.0}
MICROSECONDS = 50.0
REPEATED = ("winnow, presidio's kinds", "winnow, replacing", "datatrove")
"""What a quick run measures three times, too: the short ones that are compared."""

WINNOW = """
import json, sys
import pyarrow as pa
import pyarrow.parquet as pq
from winnow.filters.edits import Placeholders, apply_edits
from winnow.filters.operators import find_operator
from winnow.pipelines.assets import AssetFiles
file, entries, times, replaced = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
loaded = []
for name, settings in entries.items():
    operator = find_operator(name)
    config = operator.config(**{key: tuple(item) if isinstance(item, list) else item for key, item in settings.items()})
    loaded.append((operator.load(config, AssetFiles()), list(operator.reads(config))))
columns = list(dict.fromkeys(column for _, reads in loaded for column in reads))
found = 0
for _ in range(times):
    with pq.ParquetFile(file) as parquet:
        for batch in parquet.iter_batches(2048, columns=sorted({*columns, "text"}), use_threads=False):
            for kernel, reads in loaded:
                layer = kernel(batch.select(reads))
                if "spans" in layer.schema.names and layer.schema.field("spans").type.value_type.num_fields == 3:
                    found += len(layer.column("spans").flatten())
                    if replaced:
                        apply_edits(batch.column("text"), (), ((layer.column("spans"), Placeholders()),))
print(found)
"""

PRESIDIO = """
import sys
import logging
import pyarrow.parquet as pq
import tldextract
from presidio_analyzer.predefined_recognizers import (
    CreditCardRecognizer, CryptoRecognizer, EmailRecognizer, IbanRecognizer, IpRecognizer, PhoneRecognizer,
)
logging.disable(logging.CRITICAL)
tldextract.extract = tldextract.TLDExtract(suffix_list_urls=())  # it asks the network otherwise
recognizers = [
    EmailRecognizer(), IpRecognizer(), CreditCardRecognizer(), IbanRecognizer(), CryptoRecognizer(),
    PhoneRecognizer(supported_regions=("US", "GB", "DE", "FR", "ES", "IT", "BR", "RU", "JP", "CN")),
]
found = 0
with pq.ParquetFile(sys.argv[1]) as parquet:
    for batch in parquet.iter_batches(2048, columns=["text"], use_threads=False):
        for text in batch["text"].to_pylist():
            for one in recognizers:
                found += len(one.analyze(text, one.supported_entities, None))
print(found)
"""

DATATROVE = """
import sys
import pyarrow.parquet as pq
from datatrove.pipeline.formatters import PIIFormatter
formatter = PIIFormatter()
changed = 0
with pq.ParquetFile(sys.argv[1]) as parquet:
    for batch in parquet.iter_batches(2048, columns=["text"], use_threads=False):
        for text in batch["text"].to_pylist():
            changed += formatter.format(text) != text
print(changed)
"""


def main() -> int:
    """Measure, compare and print."""
    options = benchmark_arguments(str(__doc__)).parse_args()
    many, few = (
        Amounts(quick if options.quick else full, full, SMALL)
        for full, quick in ((TIMES * MANY, QUICK_MANY), (FEW, FEW))
    )
    presidio, datatrove = str(peer_python("presidio")), str(peer_python("datatrove"))
    every: dict[str, object] = {
        "url.blocklist": {},
        "text.wordlist": {},
        "text.spam": {},
        "text.pii": {"kinds": [*KINDS, "national_id"]},
        "text.secrets": {},
        "page.opt_out": {},
    }
    addresses = {"text.pii": {"kinds": ["email", "ip"]}}
    same = {"text.pii": {"kinds": list(KINDS)}}

    def winnow(entries: object, replaced: str = "") -> Callable[[int], Measured]:
        def run(documents: int) -> Measured:
            """Over a file of at most `MANY`, as often as it takes."""
            held = min(documents, MANY)
            file, times = str(safety_documents(held).absolute()), str(documents // held)
            return _run([sys.executable, "-c", WINNOW, file, json.dumps(entries), times, replaced])

        return run

    def peer(python: str, code: str) -> Callable[[int], Measured]:
        return lambda documents: _run([python, "-c", code, str(safety_documents(documents).absolute())])

    cases = {
        "winnow, all detectors": (many, winnow(every)),
        **{f"winnow, {name}": (many, winnow({name: settings})) for name, settings in every.items()},
        "winnow, presidio's kinds": (many, winnow(same)),
        "presidio": (few, peer(presidio, PRESIDIO)),
        "winnow, replacing": (many, winnow(addresses, "replaced")),
        "datatrove": (few, peer(datatrove, DATATROVE)),
    }
    for warming in (winnow(every), winnow(addresses, "replaced")):
        warming(SMALL)  # what is compiled, is compiled once a machine
    rows = {}
    for case, (amounts, run) in cases.items():
        rounds = 1 if options.quick and case not in REPEATED else 3
        rows[case] = row = timed(case, "", amounts, run, rounds)
        each = f"{1e6 / row.rate:.1f} µs ({row.measured.last_line})"
        print(f"{case}: {row.rate:,.0f}/CPU-s, {each}", file=sys.stderr, flush=True)
    all_detectors = rows["winnow, all detectors"]
    report = compared(
        "safety",
        "per CPU-s",
        all_detectors,
        {case: rows[case] for case in ("presidio", "datatrove")},
        {
            "presidio": rows["winnow, presidio's kinds"],
            "datatrove": rows["winnow, replacing"],
        },
        limit=Limit("CPU time a document, all detectors", 1e6 / all_detectors.rate, MICROSECONDS, "µs"),
        floors=FLOORS,
        rows=list(rows.values()),
        quick=options.quick,
    )
    return show(report, options.json)


def _run(command: list[str]) -> Measured:
    pinned = ["taskset", "-c", "0", *command] if shutil.which("taskset") else command
    return measure(pinned, {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})


if __name__ == "__main__":
    sys.exit(main())
