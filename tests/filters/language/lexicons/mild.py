"""A list of mild words for tests, in winnow's format: what a reader may read."""

MILD = """\
# mild words
[eng]
ass
tit
dumbo
silly goose
old silly-billy
pillock
a$$hat
x
42
[deu]
Dummkopf
alter Esel
Scheibenkleister
[ru]
дурак
козёл
[tur]
aptal
şapşal
[kor]
바보
멍청이
[hin]
मूर्ख
गधा
[ara]
أحمق
حمار
[hun]
lökött
[fin]
tollo
[zho]
傻瓜
糊涂虫
笨
[jpn]
馬鹿者
あほたれ
baka
[tha]
ไอ้บ้า
คนโง่
"""


class Files:
    """Assets as an operator asks for them: paths stand for themselves."""

    def path(self, name: str) -> str:
        return name
