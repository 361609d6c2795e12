"""A shop by django-oscar: product pages and the shelves of a category, with the shop's words in the products' language.

A product's body is its description and its specifications, without its name, price and reviews; that of a shelf is the
category's description and the products' names and prices.
"""

import json
import random
import subprocess
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from lxml import etree

from tools.main_content.making.forums import END, START
from tools.main_content.making.made import MadePage, drawn, found, parsed, steady, text_of
from tools.main_content.making.texts import LANGUAGES, Passage, Texts, of_site

OSCAR = """
from oscar import defaults
import types
urls = types.ModuleType("made_urls"); sys.modules["made_urls"] = urls
CONTEXT = "django.template.context_processors."
class NoMigrations(dict):
    __contains__ = lambda self, app: True
    __getitem__ = lambda self, app: None
DEFAULTS = {key: value for key, value in vars(defaults).items() if key.isupper()}
settings.configure(MIGRATION_MODULES=NoMigrations(), **COMMON | DEFAULTS | dict(
    OSCAR_SHOP_NAME=spec["name"], OSCAR_SHOP_TAGLINE=spec["tagline"], ROOT_URLCONF="made_urls", SITE_ID=1,
    OSCAR_DEFAULT_CURRENCY="EUR", AUTHENTICATION_BACKENDS=["oscar.apps.customer.auth_backends.EmailBackend"],
    HAYSTACK_CONNECTIONS={"default": {"ENGINE": "haystack.backends.whoosh_backend.WhooshEngine", "STORAGE": "ram",
                                      "PATH": "/nonexistent"}},
    INSTALLED_APPS=["django.contrib." + app for app in (
        "admin", "auth", "contenttypes", "sessions", "messages", "staticfiles", "sites", "flatpages", "humanize")]
    + ["oscar.config.Shop"] + [f"oscar.apps.{app}.apps.{name}Config" for app, name in (
        ("analytics", "Analytics"), ("checkout", "Checkout"), ("address", "Address"), ("shipping", "Shipping"),
        ("catalogue", "Catalogue"), ("catalogue.reviews", "CatalogueReviews"), ("communication", "Communication"),
        ("partner", "Partner"), ("basket", "Basket"), ("payment", "Payment"), ("offer", "Offer"), ("order", "Order"),
        ("customer", "Customer"), ("search", "Search"), ("voucher", "Voucher"), ("wishlists", "Wishlists"),
        ("dashboard", "Dashboard"))]
    + [f"oscar.apps.dashboard.{app}.apps.{name}DashboardConfig" for app, name in (
        ("reports", "Reports"), ("users", "Users"), ("orders", "Orders"), ("catalogue", "Catalogue"),
        ("offers", "Offers"), ("partners", "Partners"), ("pages", "Pages"), ("ranges", "Ranges"),
        ("reviews", "Reviews"), ("vouchers", "Vouchers"), ("communications", "Communications"),
        ("shipping", "Shipping"))]
    + ["widget_tweaks", "haystack", "treebeard", "django_tables2", "sorl.thumbnail"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware",
                "django.contrib.messages.middleware.MessageMiddleware",
                "oscar.apps.basket.middleware.BasketMiddleware"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {
        "context_processors": [CONTEXT + "request", CONTEXT + "i18n", CONTEXT + "media", CONTEXT + "static",
        "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages",
        "oscar.apps.search.context_processors.search_form", "oscar.apps.checkout.context_processors.checkout",
        "oscar.apps.communication.notifications.context_processors.notifications",
        "oscar.core.context_processors.metadata"]}}],
))
django.setup()
from django.apps import apps
from django.conf.urls.i18n import i18n_patterns
from django.core.management import call_command
from django.urls import include, path
shop = apps.get_app_config("oscar").urls[0]
urls.urlpatterns = [path("i18n/", include("django.conf.urls.i18n")), path("", include(shop))]
call_command("migrate", run_syncdb=True, verbosity=0)
from oscar.apps.catalogue.categories import create_from_breadcrumbs
from oscar.apps.catalogue.models import Category, ProductCategory
from oscar.apps.catalogue.reviews.models import ProductReview
from oscar.test.factories import create_product
categories = [create_from_breadcrumbs(name) for name in spec["categories"]]
Category.objects.filter(pk=categories[0].pk).update(description=spec["about"])
out = []
for number, item in enumerate(spec["items"]):
    product = create_product(title=item["title"], description=item["html"], product_class=spec["kind"],
                             price=item["price"], num_in_stock=5, upc=f"{7100200 + 13 * number}")
    for code, (name, value) in enumerate(item["facts"]):
        kinds = product.product_class.attributes
        attribute, _ = kinds.get_or_create(code=f"a{code}", defaults=dict(name=name, type="text"))
        attribute.save_value(product, value)
    ProductCategory.objects.create(product=product, category=categories[number % 2 and number % len(categories)])
    for place, (title, text, name) in enumerate(item["reviews"]):
        ProductReview.objects.create(product=product, score=3 + place % 3, title=title, body=text, name=name,
                                     email="a@made.example", status=1)
    type(product).objects.filter(pk=product.pk).update(date_created=ago(number))
    out.append((product.get_absolute_url()[1:], number))
call_command("update_index", verbosity=0)
lists = [categories[0].get_absolute_url()[1:], "catalogue/"]
"""
_ITEMS, _MOST, _LANGUAGES = 12, 3, 12
_XML = "{http://www.w3.org/XML/1998/namespace}lang"


def pages(products: Texts, texts: Texts, people: Mapping[str, list[str]], python: Path) -> Iterator[MadePage]:
    """Some products and shelves in each language that there are enough products in."""
    for language in [one for one in LANGUAGES if len(products.get(one, ())) >= _ITEMS][:_LANGUAGES]:
        items = drawn(f"oscar {language}", products[language], _ITEMS)
        others = of_site(texts, language, "oscar", 40)
        draw = random.Random(f"oscar {language}")
        facts = [(one.title[:40], [text for _, text in one.parts]) for one in others[:5]]
        wares: list[dict[str, Any]] = [
            {
                "title": item.title, "price": f"{draw.randint(3, 90)}.{draw.choice(('00', '50', '99'))}",
                "html": "".join(f"<{tag}>{escape(text)}</{tag}>" for tag, text in item.parts),
                "facts": [(name, draw.choice(values)[:60]) for name, values in facts[: draw.randint(1, 5)]],
                "reviews": [
                    (one.title[:60], one.paragraphs[0][:300], draw.choice(people[language]))
                    for one in draw.sample(others[12:], draw.randint(0, 4))
                ],
            }
            for item in items
        ]  # fmt: skip
        spec = {
            "language": {"zh-CN": "zh-hans"}.get(language, language.lower()), "most": _MOST, "items": wares,
            "name": others[5].title[:40], "tagline": others[6].title[:40],
            "categories": [one.title[:40] for one in others[7:11]],
            "about": f"<p>{escape(others[7].paragraphs[0])}</p>", "kind": others[11].title[:30],
        }  # fmt: skip
        command = [str(python), "-c", START + OSCAR + END]
        done = subprocess.run(command, input=json.dumps(spec), capture_output=True, text=True, check=True)
        made, host = json.loads(done.stdout), f"https://shop.oscar.made/{language}/"
        for product in made["threads"]:
            told = [f"{name} {value}" for name, value in wares[product["number"]]["facts"]]
            body = "\n".join([*(text for _, text in items[product["number"]].parts), *told])
            yield MadePage("oscar", host + product["path"], steady(product["html"]), body, "product", language)
        for shelf in made["lists"]:
            root = parsed(shelf["html"])
            lines = [
                text_of(part)
                for pod in found(root, ".product_pod")
                for part in (*found(pod, "h3"), *found(pod, ".price_color"))
            ]
            about = [others[7].paragraphs[0]] if "category" in shelf["path"] else []
            body = "\n".join([*about, *lines])
            yield MadePage("oscar", host + shelf["path"], steady(shelf["html"]), body, "collection", language)


def read_products(folder: Path) -> Texts:
    """What programs say of themselves in AppStream's files, of which texts are free (CC0-1.0, FSFAP, MIT)."""
    texts: Texts = {}
    for path in sorted(folder.glob("*.xml")):
        root = etree.parse(path).getroot()
        languages = {str(node.get(_XML)) for node in root.iter("p") if node.get(_XML)}
        for language in sorted(languages):
            own = [node for node in root.iter("p", "li", "summary", "caption") if node.get(_XML) == language]
            parts = tuple(
                ("li" if node.tag == "li" else "p", " ".join("".join(node.itertext()).split())) for node in own
            )
            name = root.findtext("name") or path.stem
            texts.setdefault(language.replace("_", "-"), []).append(Passage(name, parts))
    return texts
