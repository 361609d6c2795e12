"""Rules on videos after published filter ladders.

A row is dropped if none of its videos meets a condition. The presets named `-like` follow the steps of a ladder with
winnow's measures. Each says which of its thresholds is published; all others are winnow's own.
"""

from winnow.filters.presets import Preset, preset_rule

_STREAMS = "video.streams"
_STATIC = "video.static"
_MOTION = "video.motion"
_CLARITY = "video.clarity"
_SHOTS = "video.shots"
_AESTHETIC = "video.aesthetic"
_TEXT_AREA = "video.text_area"

_ONE_SHOT = "for clips and videos of one shot: whole films are dropped, since they have cuts"
_NOTES = ("of a row with several videos, each condition must be met by one of them, not all by the same",)

_DATA_JUICER = Preset(
    name="video@data-juicer",
    summary="Data-Juicer's filters of size and duration: >= 1280 x 480, at most 10 s",
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

_STIV = Preset(
    name="video@stiv-like",
    summary="after what is reported of STIV: no cut within, moving, clear and not frozen; all thresholds ours",
    operators={_SHOTS: {}, _STATIC: {}, _MOTION: {}, _CLARITY: {}},
    rules=(
        preset_rule("stiv_cut", f"list_min({_SHOTS}.count) > 1"),  # ours; STIV cuts by PySceneDetect
        preset_rule("stiv_unmoved", f"list_max({_MOTION}.speed) < 0.005"),  # ours, as all below
        preset_rule("stiv_blurred", f"list_max({_CLARITY}.sharpness) < 20"),
        preset_rule("stiv_frozen", f"list_min({_STATIC}.frozen) > 0.5"),
    ),
    notes=(
        "winnow's own: STIV scores motion, aesthetics, clarity and change in time, but no threshold is known, and that "
        "it does is told second-hand. For aesthetics add `video.aesthetic` with a model of your own",
        _ONE_SHOT,
        *_NOTES,
    ),
)

_KOALA = Preset(
    name="video@koala-like",
    summary="after Koala-36M: no cut within, moving, clear, not black; all thresholds ours, since its score is learned",
    operators={_SHOTS: {}, _STATIC: {}, _MOTION: {}, _CLARITY: {}},
    rules=(
        preset_rule("koala_cut", f"list_min({_SHOTS}.count) > 1"),  # ours; its cuts are a sum of two measures
        preset_rule("koala_unmoved", f"list_max({_MOTION}.speed) < 0.002"),  # ours, as all below
        preset_rule("koala_blurred", f"list_max({_CLARITY}.sharpness) < 20"),
        preset_rule("koala_black", f"list_min({_STATIC}.black) > 0.2"),
        preset_rule("koala_bars", f"list_min({_STATIC}.letterbox) > 0.3 OR list_min({_STATIC}.pillarbox) > 0.3"),
    ),
    notes=(
        "winnow's own: Koala-36M trains a network (VTSS) on what people say of videos. What it prints are the weights "
        "by which it finds cuts, which are not those of video.shots",
        _ONE_SHOT,
        *_NOTES,
    ),
)

_OPEN_SORA = Preset(
    name="video@open-sora-like",
    summary="after Open-Sora 1.3: aesthetic score >= 5.0, which is its own; share of text <= 10 % and motion are ours",
    operators={_AESTHETIC: {}, _TEXT_AREA: {}, _MOTION: {}},
    rules=(
        preset_rule("open_sora_aesthetic", f"list_max({_AESTHETIC}.score_mean) < 5.0"),  # published
        preset_rule("open_sora_text", f"list_min({_TEXT_AREA}.area_mean) > 0.1"),  # ours; it counts lines of text
        preset_rule("open_sora_unmoved", f"list_max({_MOTION}.speed) < 0.002"),  # ours; it measures by UniMatch
    ),
    notes=(
        "of these only the 5.0 is Open-Sora's, on LAION's scale of 1 to 10 and of the first, middle and last frame. "
        "Give a model of that scale under `annotate`: `video.aesthetic: {image: {model: head.safetensors}}`; here the "
        "mean is that of the frames that are looked at",
        *_NOTES,
    ),
)

PRESETS = (_DATA_JUICER, _PANDA, _STIV, _KOALA, _OPEN_SORA, _OURS)
