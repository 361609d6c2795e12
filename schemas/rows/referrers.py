"""What a crawl says of which page shows a picture, as `samples.metadata` holds it."""

from typing import Final

REFERRERS: Final = "warc_referrers"
"""The key of addresses at which a capture's own was found: `Referer` of its request, `via` of its crawler's notes."""

MOST_REFERRERS: Final = 8  # of a capture

PAGE_INFO: Final = "urn:pageinfo:"
"""The beginning of the address of a record that lists what a page loaded, as Browsertrix writes it."""

LOADED: Final = "warc_page"
"""The key of what such a record says: `url`, the page, and `images`, the addresses of the pictures that it loaded."""

MOST_LOADED: Final = 4096  # pictures of a page
