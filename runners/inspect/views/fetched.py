"""What became of the addresses of sources that were fetched: how many ended how, and at which sites."""

from winnow.pipelines.fetch.facts import fetched_sources
from winnow.runners.facts.fetched import ended, sites
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import Answer, Asked, View


def answer(opened: Opened, _asked: Asked) -> Answer:
    """The sources, with their counts."""
    sources = list(fetched_sources(opened.store.objects))
    return {
        "sources": [
            {
                "source": one.source,
                "addresses": one.addresses,
                "ended": ended([one]).to_json(),
                "sites": sites(one).to_json(),
            }
            for one in sources
        ]
    }


VIEW = View(answer)
