"""Forums by django-machina and Spirit: threads, and lists of threads, with the forum's words in the posts' language.

A thread's body is what its members wrote; a list's body is the titles of its threads.
"""

import json
import random
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.main_content.making.made import MadePage, parsed, steady, text_of
from tools.main_content.making.texts import Passage, Texts, composed, languages_of, of_site

START = """
import datetime, json, sys
import django
from django.conf import settings
from django.utils import timezone
spec = json.load(sys.stdin)
NOW = datetime.datetime(2024, 11, 28, 9, 30, tzinfo=datetime.timezone.utc)
timezone.now = lambda: NOW
COMMON = dict(
    DEBUG=False, SECRET_KEY="made", ALLOWED_HOSTS=["*"], USE_TZ=True, TIME_ZONE="UTC", LANGUAGE_CODE=spec["language"],
    USE_I18N=True, STATIC_URL="/static/", MEDIA_ROOT="/nonexistent", DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    CACHES={name: {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": name}
            for name in ("default", "machina_attachments", "st_rate_limit")},
    HAYSTACK_CONNECTIONS={"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}},
)
def page(path):
    from django.test import Client
    got = Client().get(path, follow=True, headers={"accept-language": spec["language"]})
    assert got.status_code == 200, (path, got.status_code)
    return got.content.decode()
def ago(days, minutes=0):
    return NOW - datetime.timedelta(days=days, minutes=minutes)
"""
MACHINA = """
import machina
CONTEXT = "django.template.context_processors."
settings.configure(
    **COMMON, ROOT_URLCONF="machina.urls", SITE_ID=1,
    MACHINA_FORUM_NAME=spec["name"], MACHINA_BASE_TEMPLATE_NAME="_base.html",
    INSTALLED_APPS=["django.contrib." + app for app in (
        "auth", "contenttypes", "sessions", "messages", "staticfiles", "sites")]
    + ["mptt", "haystack", "widget_tweaks", "machina"] + ["machina.apps." + app for app in (
        "forum", "forum_conversation", "forum_conversation.forum_attachments", "forum_conversation.forum_polls",
        "forum_feeds", "forum_moderation", "forum_search", "forum_tracking", "forum_member", "forum_permission")],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
                "django.contrib.auth.middleware.AuthenticationMiddleware",
                "django.contrib.messages.middleware.MessageMiddleware",
                "machina.apps.forum_permission.middleware.ForumPermissionMiddleware"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
                "DIRS": [machina.MACHINA_MAIN_TEMPLATE_DIR], "OPTIONS": {"context_processors": [
        CONTEXT + "request", CONTEXT + "i18n", "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages", "machina.core.context_processors.metadata"]}}],
)
django.setup()
from django.contrib.auth.models import AnonymousUser, User
from django.core.management import call_command
from machina.core.db.models import get_model
from machina.core.loading import get_class
call_command("migrate", verbosity=0)
Profile = get_model("forum_member", "ForumProfile")
Forum = get_model("forum", "Forum")
Topic, Post = get_model("forum_conversation", "Topic"), get_model("forum_conversation", "Post")
users = [User.objects.create(username=name.replace(" ", "_")[:30], date_joined=ago(400)) for name in spec["people"]]
top = Forum.objects.create(name=spec["name"], type=Forum.FORUM_CAT)
forums = [Forum.objects.create(name=name, type=Forum.FORUM_POST, parent=top, description=text)
          for name, text in spec["forums"]]
assign = get_class("forum_permission.shortcuts", "assign_perm")
for forum in (top, *forums):
    for code in ("can_see_forum", "can_read_forum", "can_reply_to_topics", "can_start_new_topics"):
        assign(code, AnonymousUser(), forum)
out = []
for number, thread in enumerate(spec["threads"]):
    forum = forums[number % len(forums)]
    poster = users[number % len(users)]
    topic = Topic.objects.create(forum=forum, poster=poster, subject=thread["title"], type=0, status=0)
    for place, text in enumerate(thread["posts"]):
        subject = thread["title"] if place == 0 else "Re: " + thread["title"]
        poster = users[(number + place * 3) % len(users)]
        post = Post.objects.create(topic=topic, poster=poster, subject=subject[:250], content=text)
        profile, _ = Profile.objects.get_or_create(user=post.poster)
        if post.poster_id % 2:
            Profile.objects.filter(pk=profile.pk).update(signature=spec["forums"][post.poster_id % 3][0])
        Post.objects.filter(pk=post.pk).update(created=ago(number, -7 * place), updated=ago(number, -7 * place))
    Topic.objects.filter(pk=topic.pk).update(last_post_on=ago(number), views_count=31 * number + 7)
    out.append((f"forum/{forum.slug}-{forum.pk}/topic/{topic.slug}-{topic.pk}/", number))
lists = [f"forum/{forum.slug}-{forum.pk}/" for forum in forums]
"""
SPIRIT = """
from spirit.extra.project_template.project_name.settings import base
import types
urls = types.ModuleType("made_urls"); sys.modules["made_urls"] = urls
known = {key: value for key, value in vars(base).items() if key.isupper()} | COMMON
known |= dict(ROOT_URLCONF="made_urls", LOGGING_CONFIG=None, ST_TASK_MANAGER=None,
              HAYSTACK_SIGNAL_PROCESSOR="haystack.signals.BaseSignalProcessor", ST_SITE_URL="https://forum.spirit.made")
settings.configure(**known)
django.setup()
from django.core.management import call_command
from django.urls import include, path
urls.urlpatterns = [path("", include("spirit.urls"))]
call_command("migrate", verbosity=0)
from django.contrib.auth.models import User
from djconfig import config
from spirit.category.models import Category
from spirit.comment.models import Comment
from spirit.core.utils.markdown import Markdown
from spirit.topic.models import Topic
users = []
for name in spec["people"]:
    users.append(User.objects.create_user(name.replace(" ", "_")[:30], name.replace(" ", "") + "@made.example", "x"))
    users[-1].st.nickname = name; users[-1].st.save()
forums = [Category.objects.create(title=name[:70], description=text[:250], reindex_at=NOW)
          for name, text in spec["forums"]]
out = []
for number, thread in enumerate(spec["threads"]):
    topic = Topic.objects.create(
        user=users[number % len(users)], category=forums[number % len(forums)], title=thread["title"][:250],
        comment_count=len(thread["posts"]), view_count=31 * number + 7)
    for place, text in enumerate(thread["posts"]):
        comment = Comment.objects.create(
            user=users[(number + place * 3) % len(users)], topic=topic, comment=text,
            comment_html=Markdown().render(text))
        Comment.objects.filter(pk=comment.pk).update(date=ago(number, -7 * place))
    Topic.objects.filter(pk=topic.pk).update(date=ago(number + 1), last_active=ago(number))
    out.append((topic.get_absolute_url()[1:], number))
lists = ["", *(forum.get_absolute_url()[1:] for forum in forums)]
"""
END = """
threads = [dict(path=path, number=number, html=page("/" + path)) for path, number in out[:spec["most"]]]
json.dump(dict(threads=threads, lists=[dict(path=path, html=page("/" + path)) for path in lists]), sys.stdout)
"""
SITES = {
    "machina": (MACHINA, ("de", "el", "es", "fr", "hu", "it", "ja", "pl", "pt-BR", "ru", "tr", "zh-CN", "ko", "ar")),
    "spirit": (SPIRIT, ("de", "es", "fr", "hu", "it", "pl", "ru", "sv", "tr", "zh-CN", "uk", "vi", "fa", "th")),
}
_THREADS, _LANGUAGES = 9, 8


def pages(texts: Texts, people: Mapping[str, list[str]], python: Path) -> Iterator[MadePage]:
    """Threads and lists of each forum in languages that it speaks, and some in which its words are English."""
    for place, (site, (script, spoken)) in enumerate(SITES.items()):
        for language in languages_of(place, _LANGUAGES, spoken):
            threads = [
                _thread(passages, f"{site} {language}") for passages in composed(texts, language, site, _THREADS)
            ]
            places = of_site(texts, language, f"{site} places", 5)
            spec = {
                "language": {"zh-CN": "zh-hans"}.get(language, language.lower()), "name": places[0].title, "most": 3,
                "people": people[language][:9],
                "forums": [(one.title[:70], one.paragraphs[0][:120]) for one in places[1:]],
                "threads": [
                    {"title": title, "posts": [Passage("", parts).markdown("") for parts in posts]}
                    for title, posts in threads
                ],
            }  # fmt: skip
            command = [str(python), "-c", START + script + END]
            done = subprocess.run(command, input=json.dumps(spec), capture_output=True, text=True, check=True)
            made = json.loads(done.stdout)
            host = f"https://forum.{site}.made/{language}/"
            for thread in made["threads"]:
                body = "\n".join(text for parts in threads[thread["number"]][1] for _, text in parts)
                yield MadePage(site, host + thread["path"], steady(thread["html"]), body, "forum", language)
            for listed in made["lists"][-1:]:
                seen = text_of(parsed(listed["html"])).splitlines()
                body = "\n".join(line for line in seen if line in {title for title, _ in threads})
                yield MadePage(site, host + listed["path"], steady(listed["html"]), body, "listing", language)


def _thread(passages: list[Passage], key: str) -> tuple[str, list[tuple[tuple[str, str], ...]]]:
    """A thread's title and what each post says: some parts of the passages, one after the other."""
    draw = random.Random(f"{key} {passages[0].title}")
    parts = [part for passage in passages for part in passage.parts][:24]
    posts = []
    while parts:
        size = draw.choice((1, 1, 2, 3, 4))
        posts.append(tuple(parts[:size]))
        parts = parts[size:]
    return passages[0].title, posts
