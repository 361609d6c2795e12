"""Changes of pictures on their way to an export: resized, encoded anew, faces blurred, metadata removed."""
