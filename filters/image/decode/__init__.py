"""From the bytes of images, which are never trusted, to what is in them."""
