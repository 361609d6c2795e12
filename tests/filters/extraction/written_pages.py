"""Small pages that extractors are tested on."""

import pyarrow as pa

from winnow.schemas.rows.extraction import PAGES

SENTENCES = {
    "en": "The river rose two metres overnight and the old bridge was closed to traffic until the morning.",
    "ar": "ارتفع منسوب النهر مترين خلال الليل وأُغلق الجسر القديم أمام حركة المرور حتى الصباح، وفق ما قاله السكان.",
    "he": "הנהר עלה בשני מטרים במהלך הלילה והגשר הישן נסגר לתנועה עד הבוקר, כך מסרו התושבים במקום.",
    "fa": "سطح رودخانه در طول شب دو متر بالا آمد و پل قدیمی تا صبح به روی رفت‌وآمد بسته شد.",
    "zh": "河水一夜之间上涨了两米，老桥直到早晨都禁止车辆通行，当地居民这样告诉记者，并称多年未见如此大水。",
    "ja": "川の水位は一晩で二メートル上昇し、古い橋は朝まで通行止めになったと、地元の住民は記者に話している。",
    "th": "ระดับน้ำในแม่น้ำสูงขึ้นสองเมตรในชั่วข้ามคืน และสะพานเก่าปิดการจราจรจนถึงรุ่งเช้า ตามคำบอกเล่าของชาวบ้าน",
    "hi": "रात भर में नदी का जलस्तर दो मीटर बढ़ गया और पुराना पुल सुबह तक यातायात के लिए बंद रहा, स्थानीय लोगों ने बताया।",
    "am": "ወንዙ በአንድ ሌሊት ሁለት ሜትር ከፍ አለ፤ አሮጌው ድልድይም እስከ ጠዋት ድረስ ለትራፊክ ተዘግቶ ቆየ ብለዋል የአካባቢው ነዋሪዎች።",
    "emoji": "The 👩‍👩‍👧‍👦 family saw the 🇫🇷 flag over the flooded bridge, waved at it 👋🏽, and walked home.",
}


def pages_of(pages: list[str | None], urls: list[str | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(pages, pa.large_string()), pa.array(urls, pa.string())], schema=PAGES)


def article(language: str) -> str:
    """A page whose article is the sentence three times, with an image after the first."""
    sentence = SENTENCES[language]
    return (
        f'<!DOCTYPE html><html lang="{language}"><head><title>T</title></head><body>'
        '<nav><ul><li><a href="/">Home</a></li></ul></nav>'
        f"<article><h1>T {language}</h1><p>{sentence} 1</p>"
        '<figure><img src="/i.jpg" alt="ALT"><figcaption>CAPTION</figcaption></figure>'
        f"<p>{sentence} 2</p><p>{sentence} 3</p></article>"
        "<footer><p>All rights reserved</p></footer></body></html>"
    )


TABLES = """<html><head><title>Levels</title><link rel="canonical" href="https://r.example/levels"></head><body>
<div id="page"><div><main><h1>River levels</h1>
<p>The levels below were read at noon on each of the three days at the old bridge, in metres above the mark.</p>
<table><tr><th>Day</th><th>Metres</th></tr><tr><td>Monday</td><td>2.1</td></tr><tr><td>Tuesday</td><td>3.4</td></tr></table>
<h2>What to do</h2>
<ul><li>Keep away from the banks of the river.</li><li>Do not drive through water of unknown depth.</li></ul>
<blockquote><p>It has never been this high, said the keeper of the lock, who has worked here for forty years.</p>
</blockquote>
<pre><code>level = read("old bridge")
print(level)</code></pre>
<p>The next reading is due at noon tomorrow, and will be printed here as soon as it has been checked twice.</p>
</main></div></div></body></html>"""
