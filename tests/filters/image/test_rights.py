"""`image.rights`: files written by Pillow, manifests signed by c2pa-python 0.38, and damage."""

import io
import random
import struct
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import brotli
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from winnow.filters.image.metadata.blocks import BlockLimits, blocks_of
from winnow.filters.image.metadata.c2pa import c2pa_facts
from winnow.filters.image.metadata.signing import subject_of
from winnow.filters.image.metadata.statements import Facts
from winnow.filters.image.rights import RightsConfig, rights
from winnow.filters.operators import FILES

SIGNED = Path(__file__).parent / "metadata" / "c2pa_signed"
MIMES = {f"image/{name}": name.upper() for name in ("jpeg", "png", "webp", "tiff", "avif", "gif")}
WITH_XMP = ("image/jpeg", "image/png", "image/webp", "image/tiff", "image/avif")

PACKET = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:plus="http://ns.useplus.org/ldf/xmp/1.0/" xmlns:xmpRights="http://ns.adobe.com/xap/1.0/rights/"
 xmlns:cc="http://creativecommons.org/ns#" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
 xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" xmlns:tdm="http://www.w3.org/ns/tdmrep/"
 xmpRights:Marked="True" photoshop:Credit="Agency">
<dc:creator><rdf:Seq><rdf:li>Ana</rdf:li><rdf:li>Bo</rdf:li></rdf:Seq></dc:creator>
<dc:rights><rdf:Alt><rdf:li xml:lang="de">alle Rechte</rdf:li><rdf:li xml:lang="x-default">all rights</rdf:li></rdf:Alt>
</dc:rights>
<Iptc4xmpExt:DigitalSourceType>http://cv.iptc.org/newscodes/digitalsourcetype/digitalCapture</Iptc4xmpExt:DigitalSourceType>
<cc:license rdf:resource="https://creativecommons.org/licenses/by/4.0/"/>%s
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""
MINING = '<plus:DataMining rdf:resource="http://ns.useplus.org/ldf/vocab/%s"/>'
NOTHING_SAID: dict[str, object] = {
    "status": "ok",
    "opted_out": False,
    "training": None,
    "generated": None,
    "source_type": None,
    "creator": None,
    "copyright": None,
    "credit": None,
    "licence": None,
    "usage_terms": None,
    "marked": None,
    "location": False,
    "c2pa": False,
    "signer": None,
    "signature": None,
    "intact": None,
    "statements": [],
    "complete": True,
}


DEFAULT = RightsConfig()


def measured(content: bytes, mime: str, config: RightsConfig = DEFAULT) -> dict[str, object]:
    batch = pa.RecordBatch.from_pylist([{"mime": mime, "content": content}], schema=FILES)
    (row,) = rights(batch, config).to_pylist()
    found: dict[str, object] = row
    return found


def written(mime: str, **given: object) -> bytes:
    held = io.BytesIO()
    Image.radial_gradient("L").resize((32, 24)).convert("RGB").save(held, MIMES[mime], **given)
    return held.getvalue()


def with_xmp(mime: str, extra: str = "") -> bytes:
    packet = (PACKET % extra).encode()
    if mime == "image/png":
        return with_chunk(written(mime), b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet)
    if mime == "image/tiff":
        return written(mime, tiffinfo={700: packet})
    return written(mime, xmp=packet)


def with_chunk(png: bytes, kind: bytes, body: bytes) -> bytes:
    """A PNG with a chunk behind its pixels, where most readers never look."""
    chunk = struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return png[:-12] + chunk + png[-12:]


@pytest.mark.parametrize("mime", MIMES)
def test_a_file_without_metadata_says_nothing(mime: str) -> None:
    assert measured(written(mime), mime) == NOTHING_SAID


@pytest.mark.parametrize("mime", WITH_XMP)
def test_xmp_is_found_in_every_format(mime: str) -> None:
    assert measured(with_xmp(mime), mime) == NOTHING_SAID | {
        "creator": "Ana; Bo",
        "copyright": "all rights",
        "credit": "Agency",
        "licence": "https://creativecommons.org/licenses/by/4.0/",
        "marked": True,
        "source_type": "digitalCapture",
        "generated": False,
    }


@pytest.mark.parametrize("mime", ["image/jpeg", "image/png", "image/webp", "image/tiff", "image/avif"])
def test_exif_gives_maker_notice_and_whether_a_place_is_given(mime: str) -> None:
    exif = Image.Exif()
    exif[315], exif[33432] = "Ana", "(c) 2026 Ana"
    exif.get_ifd(34853)[1] = "N"
    content = written(mime, exif=exif)
    located = bool(Image.open(io.BytesIO(content)).getexif().get_ifd(34853))  # Pillow leaves it out of a TIFF
    assert located is (mime != "image/tiff")
    assert measured(content, mime) == NOTHING_SAID | {
        "creator": "Ana",
        "copyright": "(c) 2026 Ana",
        "location": located,
    }


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_exif_that_is_not_ascii_is_read_as_what_it_can_be(encoding: str) -> None:
    notices = "© Ana".encode(encoding) + b"\0" + "Bö".encode(encoding) + b"\0"
    exif = b"MM\0*" + struct.pack(">IHHHIII", 8, 1, 33432, 2, len(notices), 26, 0) + notices
    assert measured(written("image/jpeg", exif=b"Exif\0\0" + exif), "image/jpeg")["copyright"] == "© Ana; Bö"


def test_xmp_of_a_gif_is_read_before_its_trailer() -> None:
    packet = (PACKET % "").encode()
    trailer = b"\x01" + bytes(range(255, -1, -1)) + b"\0"
    gif = written("image/gif")
    assert gif[-1:] == b";"
    content = gif[:-1] + b"!\xff\x0bXMP DataXMP" + packet + trailer + b";"
    assert measured(content, "image/gif")["creator"] == "Ana; Bo"


def test_iptc_is_read_from_photoshops_resources_and_xmp_goes_before_it() -> None:
    data = b"".join(
        struct.pack(">BBBH", 0x1C, 2, dataset, len(value)) + value
        for dataset, value in ((80, b"Cy"), (80, b"Di"), (110, b"Press"), (116, "©".encode("latin-1")))
    )
    resources = (
        b"8BIM\x03\xed\0\0" + struct.pack(">I", 3) + b"xyz\0" + b"8BIM\x04\x04\0\0" + struct.pack(">I", len(data))
    )
    segment = b"Photoshop 3.0\0" + resources + data
    jpeg = written("image/jpeg")
    both = with_xmp("image/jpeg")
    for content, creator in ((jpeg, "Cy; Di"), (both, "Ana; Bo")):
        held = content[:2] + b"\xff\xed" + struct.pack(">H", len(segment) + 2) + segment + content[2:]
        assert measured(held, "image/jpeg")["creator"] == creator
        assert measured(held, "image/jpeg")["copyright"] == ("©" if creator == "Cy; Di" else "all rights")


@pytest.mark.parametrize(
    ("term", "purposes", "opted_out", "training"),
    [
        ("DMI-UNSPECIFIED", ("ai_training",), False, None),
        ("DMI-ALLOWED", ("ai_training",), False, "allowed"),
        ("DMI-PROHIBITED", ("data_mining",), True, "not_allowed"),
        ("DMI-PROHIBITED-AIMLTRAINING", ("ai_training",), True, "not_allowed"),
        ("DMI-PROHIBITED-AIMLTRAINING", ("data_mining",), False, None),
        ("DMI-PROHIBITED-GENAIMLTRAINING", ("ai_training",), False, None),
        ("DMI-PROHIBITED-GENAIMLTRAINING", ("ai_generative_training",), True, "not_allowed"),
        ("DMI-PROHIBITED-EXCEPTSEARCHENGINEINDEXING", ("ai_training",), True, "not_allowed"),
        ("DMI-PROHIBITED-SEECONSTRAINT", ("ai_training",), True, "constrained"),
        ("DMI-PROHIBTED", ("ai_training",), True, "malformed"),
    ],
)
def test_reservations_of_data_mining(
    term: str, purposes: tuple[str, ...], opted_out: bool, training: str | None
) -> None:
    config = RightsConfig(purposes=purposes)  # type: ignore[arg-type]
    found = measured(with_xmp("image/jpeg", MINING % term), "image/jpeg", config)
    assert (found["opted_out"], found["training"]) == (opted_out, training)


def test_conditions_may_be_accepted() -> None:
    content = with_xmp("image/jpeg", MINING % "DMI-PROHIBITED-SEECONSTRAINT")
    assert measured(content, "image/jpeg", RightsConfig(constrained=False))["opted_out"] is False


@pytest.mark.parametrize(("value", "opted_out"), [("0", False), ("1", True), ("yes", True)])
def test_tdm_reservations(value: str, opted_out: bool) -> None:
    content = with_xmp("image/webp", f"<tdm:reservation>{value}</tdm:reservation>")
    assert measured(content, "image/webp")["opted_out"] is opted_out


@pytest.mark.parametrize("damage", [lambda xmp: xmp.replace("</rdf:RDF>", ""), lambda xmp: "<!DOCTYPE x>" + xmp])
def test_a_packet_that_cannot_be_read_but_names_a_reservation_is_a_refusal(damage: Callable[[str], str]) -> None:
    for extra, opted_out in ((MINING % "DMI-ALLOWED", True), ("", False)):
        packet = damage((PACKET % extra).replace(' xmlns:tdm="http://www.w3.org/ns/tdmrep/"', "").replace(MINING, ""))
        if not extra:
            packet = packet.replace("DataMining", "")
        found = measured(written("image/jpeg", xmp=packet.encode()), "image/jpeg")
        assert found["opted_out"] is opted_out
        assert found["creator"] is None


def test_entities_of_a_packet_are_not_expanded() -> None:
    bomb = '<!DOCTYPE l [<!ENTITY a "DataMining"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><l>&b;</l>'
    assert measured(written("image/jpeg", xmp=bomb.encode()), "image/jpeg")["training"] == "malformed"


@pytest.mark.parametrize("mime", MIMES)
def test_manifests_signed_by_the_reference_implementation(mime: str) -> None:
    found = measured((SIGNED / f"c2pa.{MIMES[mime].lower()}").read_bytes(), mime)
    assert found == NOTHING_SAID | {
        "opted_out": True,
        "training": "not_allowed",
        "generated": True,
        "source_type": "trainedAlgorithmicMedia",
        "c2pa": True,
        "signer": "Signer",
        "signature": "ES256",
        "intact": None if mime == "image/avif" else True,  # AVIF is bound box by box, which is not read
        "statements": [
            {"where": "c2pa", "name": f"cawg.training-mining/cawg.{name}", "value": value, "use": use}
            for name, value, use in (
                ("ai_generative_training", "notAllowed", "not_allowed"),
                ("ai_inference", "allowed", "allowed"),
                ("ai_training", "constrained", "constrained"),
                ("data_mining", "allowed", "allowed"),
            )
        ],
    }


@pytest.mark.parametrize("mime", ["image/jpeg", "image/png", "image/gif"])
def test_a_picture_that_was_changed_after_it_was_signed_is_not_intact(mime: str) -> None:
    signed = bytearray((SIGNED / f"c2pa.{MIMES[mime].lower()}").read_bytes())
    signed[-8] ^= 1
    assert measured(bytes(signed), mime)["intact"] is False


def test_an_assertion_that_was_changed_after_it_was_signed_is_seen_and_still_counts() -> None:
    signed = (SIGNED / "c2pa.webp").read_bytes()
    found = measured(signed.replace(b"notAllowed", b"constraine", 1), "image/webp")
    assert (found["intact"], found["opted_out"]) == (False, True)


def compressed(store: bytes, inner: bytes, *, room: int) -> Facts:
    """The facts of a store whose manifest is replaced by what brotli makes of these bytes."""
    head = 8 + struct.unpack(">I", store[8:12])[0]
    label = b"c2cm" + bytes(12) + b"\x03urn:c2pa:1\0"
    boxes = store[8:head] + box(
        b"jumb", box(b"jumd", label) + box(b"brob", b"jumb" + brotli.compress(inner, quality=1))
    )
    return c2pa_facts(box(b"jumb", boxes), (SIGNED / "c2pa.webp").read_bytes(), room)


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(content), kind) + content


def test_compressed_manifests_are_read_up_to_a_limit() -> None:
    file = (SIGNED / "c2pa.webp").read_bytes()
    store = blocks_of(file, "image/webp", BlockLimits()).c2pa
    assert store is not None
    plain = c2pa_facts(store, file, 0)
    manifest = store[8 + struct.unpack(">I", store[8:12])[0] :]
    assert compressed(store, manifest, room=1 << 20) == plain  # the whole box, or only what is in it
    assert compressed(store, manifest[8:], room=1 << 20) == plain
    for held, room in ((manifest, 1000), (bytes(64 << 20), 16 << 20)):
        bomb = compressed(store, held, room=room)
        assert (bomb.complete, bomb.statements, bomb.intact) == (False, [], None)
    damaged = brotli.compress(manifest)[:-20]
    broken = box(b"jumb", box(b"jumd", bytes(17)) + box(b"jumb", box(b"brob", b"jumb" + damaged)))
    assert not c2pa_facts(broken, file, 1 << 20).complete


@pytest.mark.parametrize(
    ("names", "subject"),
    [
        ({"COMMON_NAME": "Ana Müller"}, "Ana Müller"),
        ({"ORGANIZATION_NAME": "News"}, "News"),
        ({"COUNTRY_NAME": "DE", "ORGANIZATION_NAME": "News", "COMMON_NAME": "猫 " * 16}, "猫 " * 16),
        ({}, None),
    ],
)
def test_the_subject_of_a_certificate_is_that_for_which_it_was_made(names: dict[str, str], subject: str | None) -> None:
    pytest.importorskip("cryptography", reason="makes the certificates")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def name(of: dict[str, str]) -> x509.Name:
        return x509.Name([x509.NameAttribute(getattr(x509.NameOID, one), value) for one, value in of.items()])

    key, moment = ec.generate_private_key(ec.SECP256R1()), datetime(2026, 1, 1, tzinfo=UTC)
    issuer = name({"COMMON_NAME": "Issuer"})
    building = x509.CertificateBuilder(issuer, name(names), key.public_key(), 77, moment, moment + timedelta(days=1))
    raw = building.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)
    assert subject_of(raw) == subject
    assert {subject_of(raw[:end]) for end in range(0, len(raw), 7)} == {None}


@given(st.binary(max_size=200))
def test_what_is_no_certificate_has_no_subject_and_costs_no_error(raw: bytes) -> None:
    assert subject_of(raw) is None or raw.startswith(b"\x30")


def test_an_assertion_that_cannot_be_read_is_a_refusal() -> None:
    signed = (SIGNED / "c2pa.png").read_bytes()
    start = signed.index(b"cbor", signed.index(b"cawg.training-mining\0")) + 4
    broken = signed[:start] + b"\xff" * 8 + signed[start + 8 :]
    assert measured(broken, "image/png")["training"] == "malformed"


def test_compressed_text_of_a_png_is_read_up_to_its_limit() -> None:
    packet = (PACKET % "").encode()
    for text, creator in ((packet, "Ana; Bo"), (packet + b" " * (2 << 20), None)):
        content = with_chunk(written("image/png"), b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(text))
        assert measured(content, "image/png")["creator"] == creator


def test_longer_blocks_are_not_read() -> None:
    assert measured(with_xmp("image/webp"), "image/webp", RightsConfig(max_block_bytes=100))["creator"] is None
    signed = (SIGNED / "c2pa.webp").read_bytes()
    found = measured(signed, "image/webp", RightsConfig(max_manifest_bytes=100))
    assert (found["c2pa"], found["opted_out"], found["complete"]) == (False, None, False)


def test_a_cut_file_and_an_unknown_type_promise_nothing() -> None:
    found = measured(with_xmp("image/png")[:-60], "image/png")
    assert (found["opted_out"], found["complete"]) == (None, False)
    unknown = measured(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml")
    assert unknown == dict.fromkeys(NOTHING_SAID) | {"status": "unsupported"}


SOURCES = {(mime, True): (SIGNED / f"c2pa.{name.lower()}").read_bytes() for mime, name in MIMES.items()}
SOURCES |= {(mime, False): written(mime) if mime == "image/gif" else with_xmp(mime) for mime in MIMES}


@given(seed=st.integers(0, 2**32), mime=st.sampled_from(tuple(MIMES)), signed=st.booleans())
def test_damaged_files_give_what_can_be_read_and_never_an_error(seed: int, mime: str, signed: bool) -> None:
    drawn = random.Random(seed)
    whole = SOURCES[mime, signed]
    content = bytearray(whole[: drawn.randrange(1, len(whole) + 1)])
    for _ in range(drawn.randrange(8)):
        content[drawn.randrange(len(content))] = drawn.randrange(256)
    assert set(measured(bytes(content), mime)) == set(NOTHING_SAID)
