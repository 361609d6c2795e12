"""Clips: parts of videos in files of their own."""
