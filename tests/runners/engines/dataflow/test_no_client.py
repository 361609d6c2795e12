"""Where Beam's packages for Google Cloud are not installed."""

from importlib.util import find_spec

import pytest

from winnow.runners.engines.engine import named_engine
from winnow.schemas.errors import WinnowError


@pytest.mark.skipif(find_spec("apitools") is not None, reason="Beam's packages for Google Cloud are installed")
def test_what_to_install_is_said() -> None:
    with pytest.raises(WinnowError) as raised:
        named_engine("dataflow", 0, ())
    said = str(raised.value)
    assert said.startswith("--runner dataflow needs the package ")
    assert said.endswith("; pip install 'winnow[dataflow]'")
