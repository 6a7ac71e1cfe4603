"""The status page as text: what it says of each cluster, and what may not get in."""

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest

from admin.cluster.moment import Moment
from admin.cluster.picture import SPARKS, ClusterPicture, PictureModel
from admin.cluster.unreachable import UnreachableNode
from admin.page import dress, status_page
from admin.page.served import rendered
from admin.page.sparkline import sparkline
from admin.page.words import TEXT_CHARACTERS_MAX, as_html
from qsync.status.record import NodeStatus
from tests.terminal import cast

EMPTY = {"meta", "link", "br", "path"}
TAGS = EMPTY | {
    "html",
    "head",
    "title",
    "style",
    "noscript",
    "body",
    "header",
    "main",
    "footer",
    "section",
    "script",
    "h1",
    "h2",
    "h3",
    "p",
    "span",
    "a",
    "code",
    "div",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "ul",
    "li",
    "svg",
    "meter",
}
HOSTILE = "</td><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202eevil\x00"


class ReadPage(HTMLParser):
    """Text by section; every tag is closed where it should be, and is one of ours."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.parts: dict[str, str] = {}
        self.inline: dict[str, str] = {}
        self.links: list[str] = []
        self._part = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        given = dict(attrs)
        assert not [name for name in given if name.startswith("on") or name == "style"], attrs
        self.links += [given[name] or "" for name in ("href", "src") if name in given]
        if tag == "section":
            self._part = given["id"] or ""
        if tag == "svg":
            assert given["role"] == "img"
            assert given["aria-label"]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in EMPTY:
            return
        assert self.open.pop() == tag
        if tag == "section":
            self._part = ""

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"script", "style"}:
            self.inline[self.open[-1]] = data
        else:
            self.parts[self._part] = self.parts.get(self._part, "") + data + " "


def whole(picture: ClusterPicture, here: NodeStatus | None = None) -> str:
    return rendered(picture, here or picture.survey.samples[0]).html.decode()


def read(picture: ClusterPicture, here: NodeStatus | None = None) -> Mapping[str, str]:
    return ReadPage(whole(picture, here)).parts


def picture_of(moment: Moment) -> ClusterPicture:
    return PictureModel().show(moment)


# ------------------------------------------------------------------------------- what it says


@pytest.mark.parametrize("name", sorted(cast.CLUSTERS))
def test_it_says_the_sentence_of_qsync_status_and_names_every_node(name: str) -> None:
    picture = cast.picture(name)
    said = read(picture)
    assert picture.verdict.sentence in said["verdict"]
    for node in cast.NAMES.values():
        assert node in said["nodes"]
    assert f"seen by {picture.survey.samples[0].name}" in said[""]
    for each in picture.findings[: status_page.FINDINGS_SHOWN]:
        assert each.fix[:TEXT_CHARACTERS_MAX] in said["findings"]


def test_it_says_what_waits_and_for_whom() -> None:
    said = read(cast.picture("degraded"))
    assert "4 pending" in said["limbo"]
    assert "has waited 2.7s of 5s" in said["limbo"]
    assert "n3 127.0.0.1:3303 is silent: Connection refused" in said["nodes"]
    assert "Unknown: no leader answers." in read(cast.picture("leaderless"))["limbo"]


def test_it_says_who_led_and_what_happened_last() -> None:
    said = read(cast.picture("healthy"))
    assert "the leader was silent" in said["terms"]
    first = said["events"].index("rolled back transactions (3)")
    assert first < said["events"].index("stepped down in term 6"), "the newest stands first"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"status": "superseded"}, "superseded"),
        ({"standing": "removed", "members": []}, "is removed in term 7"),
        ({"standing": "joining"}, "is joining in term 7"),
        ({"quarantined": "entry 7 does not hold"}, "quarantined: entry 7 does not hold"),
        ({"disk": {"error": "no room"}}, "cannot write to its disk: no room"),
        ({}, "n2 (127.0.0.1:3302) is follower in term 7, follows n1, takes no writes"),
    ],
)
def test_the_node_that_shows_it_says_how_it_is_itself(more: dict[str, Any], words: str) -> None:
    answers = {1: cast.node(1, leads=True), 2: cast.node(2, **more)}
    moment = cast.moment(answers)
    assert words in read(picture_of(moment), moment.survey.samples[1])["here"]


def test_a_node_that_nobody_lets_ask_shows_what_it_knows() -> None:
    """With users: the leader's page is whole, and a follower's says what it cannot see."""
    others = [
        UnreachableNode(id=id, name=f"n{id}", address="a", why="it speaks TLS", denied=True)
        for id in cast.NAMES
    ]
    leads = picture_of(cast.moment({1: cast.node(1, leads=True)}, *others[1:]))
    assert leads.verdict.can_commit
    assert "Healthy: n1 leads term 7 and commits with 5 of 5 voters" in read(leads)["verdict"]
    follows = picture_of(cast.moment({2: cast.node(2)}, others[0], *others[2:]))
    assert (
        "n2 follows n1 in term 7; whether it commits is not to be seen" in read(follows)["verdict"]
    )


# ----------------------------------------------------------------------- what may not get into it


def hostile() -> ClusterPicture:
    """Every text that others may choose is one that would like to be more."""
    peers = [{"id": 2, "name": HOSTILE, "status": "down", "message": HOSTILE}]
    reasons = [{"why": "x", "text": HOSTILE}]
    node = cast.node(
        1,
        leads=True,
        name=HOSTILE,
        cluster={"name": HOSTILE},
        peers=peers,
        nodes=[[1, HOSTILE, HOSTILE], [2, HOSTILE, HOSTILE]],
        ro=True,
        ro_reason=HOSTILE,
        ro_reasons=reasons,
        spaces={"differs": [HOSTILE]},
        faults=[{"point": HOSTILE}],
        address=HOSTILE,
        version=HOSTILE,
        quarantined=HOSTILE,
    )
    events = {1: (cast.event(5.0, HOSTILE, why=HOSTILE, leader=HOSTILE),)}
    gone = UnreachableNode(id=2, name=HOSTILE, address=HOSTILE, why=HOSTILE)
    return picture_of(replace(cast.moment({1: node}, gone), events=events))


def test_texts_of_others_stay_texts() -> None:
    page = whole(hostile())
    ReadPage(page)  # no tag, attribute or handler that is not ours
    assert page.count("<script>") == 1
    assert "onerror=alert(2)&gt;" in page
    assert "\u202e" not in page
    assert "\x00" not in page
    assert as_html("<b>\ud800\u2028") == "&lt;b&gt;\ufffd\ufffd"


def test_a_long_text_is_cut() -> None:
    assert as_html("x" * TEXT_CHARACTERS_MAX) == "x" * TEXT_CHARACTERS_MAX
    assert as_html("<" * (TEXT_CHARACTERS_MAX + 1)) == "&lt;" * TEXT_CHARACTERS_MAX + "…"


def test_the_page_stays_small_however_much_there_is_to_say() -> None:
    gone = [
        UnreachableNode(id=id, name="n" * 999, address="a" * 999, why="y" * 9999)
        for id in range(2, 500)
    ]
    told = tuple(cast.event(at, "refused", why="z" * 9999) for at in range(1000))
    moment = replace(cast.moment({1: cast.node(1, leads=True)}, *gone), events={1: told})
    page = whole(picture_of(moment))
    assert len(page) < 300_000
    rows = page[page.index('id="nodes"') : page.index('id="limbo"')].count("<tr")
    assert rows == 1 + status_page.NODES_SHOWN
    assert "more nodes" in page
    events = page[page.index('id="events"') :].count("<tr")
    assert events == 1 + status_page.EVENTS_SHOWN


def test_nothing_runs_and_nothing_is_fetched_but_what_the_policy_names() -> None:
    page = ReadPage(whole(cast.picture("healthy")))
    rules = dict(rule.split(" ", 1) for rule in dress.POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    for tag in ("script", "style"):
        digest = b64encode(sha256(page.inline[tag].encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"
    assert set(page.links) == {"data:,", "status.json", "status", "metrics"}
    assert not re.search(r"https?:|//|@import|url\(", page.inline["style"])
    assert not re.search(r"https?:|eval|innerHTML =[^=]", page.inline["script"])


def test_without_scripts_it_is_loaded_again() -> None:
    page = whole(cast.picture("healthy"))
    assert re.search(r'<noscript><meta http-equiv="refresh" content="\d+"></noscript>', page)


# ------------------------------------------------------------------------------------ sparklines


def test_a_sparkline_has_its_newest_number_at_the_right_and_gaps_where_there_is_none() -> None:
    drawn = sparkline([0.0, 4.0, None, 2.0], places=4, label='now "2"')
    assert drawn.endswith('d="M3.0 41.0h0L81.0 3.0M237.0 22.0h0"/></svg>')
    assert 'aria-label="now &quot;2&quot;"' in drawn
    assert sparkline([], places=4, label="none").endswith('d=""/></svg>')
    assert sparkline([0.0], places=4, label="none").endswith('d="M237.0 41.0h0"/></svg>')


def test_a_picture_remembers_so_many_numbers_and_no_more() -> None:
    model, picture = PictureModel(), cast.picture("healthy")
    moment = cast.healthy()
    for at in range(SPARKS + 5):
        picture = model.show(replace(moment, time=cast.NOON + 2 * at))
    assert len(picture.sparks) == len(picture.slow) == SPARKS
    assert picture.slow[-1] is None, "nothing was written between the last two looks"
