"""The demo's pictures: landscapes with captions in ten languages, copies of some, and unusable files.

All are drawn from integers when the demo is set up, so that nobody has to download or license them.
"""

from winnow.runners.demo.photos.planted import make_photos

__all__ = ["make_photos"]
