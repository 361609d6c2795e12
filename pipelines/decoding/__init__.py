"""Decoding of hostile pictures and videos in processes of their own, and what is measured of media at once."""
