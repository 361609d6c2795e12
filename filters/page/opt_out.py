"""`page.opt_out`: opt-outs in a response's headers and its page's elements, as columns."""

from functools import partial

from winnow.filters.operators import TextOperator
from winnow.filters.web.rights.opt_outs import FETCHED_AT, METADATA, NO_RESPONSE, WRITES, OptOutConfig, opt_out

OPERATOR = TextOperator(
    name="page.opt_out",
    version=1,
    summary="opt-outs from indexing, mining and training in headers and meta elements",
    config=OptOutConfig,
    reads=lambda _config: (METADATA, FETCHED_AT),
    writes=lambda _config: WRITES,
    load=lambda config, _assets: partial(opt_out, config=config),
    needs=(METADATA,),
    reasons=(NO_RESPONSE,),
    detects=lambda _config: {"opted_out": "rights.opt_out"},
)
