"""Rules on videos after published ladders: only thresholds that their authors print are theirs, the others are ours.

A row is dropped where none of its videos meets a condition.
"""

from winnow.filters.presets import Preset, preset_rule

_STREAMS = "video.streams"
_STATIC = "video.static"
_MOTION = "video.motion"
_CLARITY = "video.clarity"

_NOTES = ("of a row with several videos, each condition must be met by one of them, not all by the same",)

_DATA_JUICER = Preset(
    name="video@data-juicer",
    summary="Data-Juicer's filters of size, aspect and duration: >= 1280 x 480, 9/21 to 21/9, at most 10 s",
    operators={_STREAMS: {}},
    rules=(
        preset_rule("video_width", f"list_max({_STREAMS}.width) < 1280"),
        preset_rule("video_height", f"list_max({_STREAMS}.height) < 480"),
        preset_rule("video_seconds", f"list_min({_STREAMS}.seconds) > 10"),
    ),
    notes=("its filters of aspect and of motion (Farneback >= 0.25, RAFT >= 1.0) have no equal measure here", *_NOTES),
)

_PANDA = Preset(
    name="video@panda-70m",
    summary="Panda-70M's limits on a video's length, 2 to 1,200 s; what it calls still by winnow's own measures",
    operators={_STREAMS: {}, _STATIC: {}},
    rules=(
        preset_rule("video_short", f"list_max({_STREAMS}.seconds) < 2"),
        preset_rule("video_long", f"list_min({_STREAMS}.seconds) > 1200"),
        preset_rule("video_frozen", f"list_min({_STATIC}.frozen) > 0.85"),
    ),
    notes=(
        "of these only the seconds are Panda-70M's: it stitches and tells stills by ImageBind, of which there is no "
        "equal here. Its cuts are PySceneDetect's ContentDetector at 25; video.shots finds more",
        *_NOTES,
    ),
)

_OURS = Preset(
    name="video@winnow",
    summary="what no training on video wants: mostly black, frozen, unmoved, blurred or tiny; all thresholds ours",
    operators={_STREAMS: {}, _STATIC: {}, _MOTION: {}, _CLARITY: {}},
    rules=(
        preset_rule("video_short", f"list_max({_STREAMS}.seconds) < 1"),
        preset_rule("video_small", f"list_max({_STREAMS}.width) < 240 OR list_max({_STREAMS}.height) < 180"),
        preset_rule("video_black", f"list_min({_STATIC}.black) > 0.5"),
        preset_rule("video_frozen", f"list_min({_STATIC}.frozen) > 0.8"),
        preset_rule("video_unmoved", f"list_max({_MOTION}.speed) < 0.002"),
        preset_rule("video_blurred", f"list_max({_CLARITY}.sharpness) < 10"),
    ),
    notes=(
        "the order of measures is that of STIV's and Koala-36M's ladders (motion, clarity, stillness); neither prints "
        "thresholds on measures that anyone can compute",
        *_NOTES,
    ),
)

PRESETS = (_DATA_JUICER, _PANDA, _OURS)
