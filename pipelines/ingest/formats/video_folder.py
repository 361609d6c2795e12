"""Folders of videos, each with what lies beside it, such as subtitles."""

from dataclasses import replace

from winnow.pipelines.ingest.formats import image_folder
from winnow.pipelines.ingest.media_names import VIDEOS

FORMAT = replace(
    image_folder.FORMAT,
    name="video_folder",
    called="videos",
    content="video",
    endings=rf"\.({'|'.join(sorted(VIDEOS))})",
    holds=lambda content: content.modality == "video",
    shows="video",
)
