"""Changes to exported pictures: resizing, new encoding, blurred faces, removed metadata."""
