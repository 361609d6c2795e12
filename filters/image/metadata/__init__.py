"""What files of pictures say about themselves: EXIF, IPTC, XMP and C2PA, read under limits."""
