"""What datatrove's URLFilter says of addresses, run under its Python: lists and addresses as JSON in, reasons out."""

import json
import sys

import tldextract

OFFLINE = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
setattr(tldextract, "TLDExtract", lambda: OFFLINE)  # noqa: B010, a constructor that takes nothing

from datatrove.data import Document  # noqa: E402
from datatrove.pipeline.filters import URLFilter  # noqa: E402

lists, urls = json.load(sys.stdin)
made = URLFilter(use_integrated_lists=False, **lists)
answers = [made.filter(Document(text="", id="", metadata={"url": url})) for url in urls]
json.dump([None if answer is True else answer[1] for answer in answers], sys.stdout)
