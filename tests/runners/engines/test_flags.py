"""Beam's options, each view of which is made once: what one view sets all see, and so does a copy."""

from copy import deepcopy

from apache_beam.options.pipeline_options import DirectOptions, PortableOptions

from winnow.runners.engines.flags import Options, beam_options


def test_the_users_flags_win_and_settings_fill_what_is_left() -> None:
    options = beam_options(["--direct_num_workers=3"], direct_num_workers=2, job_endpoint="embed")
    assert options.view_as(DirectOptions).direct_num_workers == 3
    assert options.view_as(PortableOptions).job_endpoint == "embed"


def test_what_a_view_sets_all_see() -> None:
    options = beam_options([])
    options.view_as(PortableOptions).job_endpoint = "here:1"
    assert options.view_as(PortableOptions).job_endpoint == "here:1"
    assert options.view_as(DirectOptions).view_as(PortableOptions).job_endpoint == "here:1"
    assert options.get_all_options()["job_endpoint"] == "here:1"


def test_a_view_is_made_once() -> None:
    options = beam_options([])
    assert isinstance(options, Options)
    assert options.view_as(DirectOptions) is options.view_as(DirectOptions)


def test_a_copy_has_the_values_and_views_of_its_own() -> None:
    options = beam_options(["--direct_num_workers=3"], job_endpoint="embed")
    options.view_as(PortableOptions)
    copy = deepcopy(options)
    copy.view_as(PortableOptions).job_endpoint = "elsewhere"
    assert copy.view_as(DirectOptions).direct_num_workers == 3
    assert options.view_as(PortableOptions).job_endpoint == "embed"
