"""Parts of videos as files of their own."""
