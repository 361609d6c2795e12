"""The metadata of picture files: EXIF, IPTC, XMP and C2PA, read under limits."""
