"""The demo's videos: two short films of drawn scenes and a copy of a part of one, encoded when the demo is set up."""

from winnow.runners.demo.films.planted import make_films

__all__ = ["make_films"]
