"""The pages without a browser: who gets in, what each may see, and forms that are not ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memory_assets.domain.visibility import Principal
from memory_assets.storage.review_log import append_lines
from memory_assets.web.access import Access
from memory_assets.web.app import review_app
from memory_assets.web.reviewers import ReviewersFile, new_token
from tests.building import close, row
from tests.nights import World

Open = Callable[..., TestClient]


@pytest.fixture(name="world", scope="module")
def _world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Two tenants with a candidate each, and one of a single client."""
    world = World(tmp_path_factory.mktemp("web"))
    world.session("clinic", "s1", row(1, subject="Ablation"), row(2, client_id="c9"), close(3))
    world.session("bank", "b1", row(1, subject="Secret fee", detail="15 basis points"), close(2))
    world.night()
    return world


@pytest.fixture(name="tokens")
def _tokens(world: World, tmp_path: Path) -> dict[str, str]:
    """Three reviewers: of the clinic, of both tenants, and an advisor of one client."""
    file = tmp_path / "reviewers.toml"
    return {
        "anna": new_token(file, "anna", tenants=["clinic"]),
        "root": new_token(file, "root", tenants=["clinic", "bank"], persona="ADMIN"),
        "adviser": new_token(
            file, "adviser", tenants=["clinic"], persona="ADVISOR", user="u1", clients=["c1"]
        ),
    }


@pytest.fixture(name="client")
def _client(world: World, tokens: dict[str, str], tmp_path: Path) -> Open:
    """Makes a client; with a name it is signed in."""

    def made(name: str | None = None, **access: Any) -> TestClient:
        how = Access(ReviewersFile(tmp_path / "reviewers.toml"), **access)
        app = review_app(
            world.workspace, how, allowed_hosts=("testserver",), clock=lambda: _moment(world)
        )
        client = TestClient(app, client=("127.0.0.1", 4711))
        if name is not None:
            assert client.get(f"/sign-in?token={tokens[name]}").status_code == 200
        return client

    return made


def _moment(world: World) -> datetime:
    return world.now


def _csrf(client: TestClient, path: str = "/") -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', client.get(path).text)
    assert found is not None
    return found.group(1)


def _lines(world: World) -> int:
    path = world.workspace.home.review_decisions
    return len(path.read_bytes().splitlines()) if path.exists() else 0


PATHS = ("/", "/sessions/clinic/s1", "/items/clinic/s1/seq:1", "/digest/clinic", "/refused")


@pytest.mark.parametrize("path", [*PATHS, "/summary/clinic/s1"])
def test_nobody_sees_a_page_without_signing_in(client: Open, path: str) -> None:
    """Every page leads to the sign-in page, and none of its content leaves."""
    got = client().get(path)
    assert got.url.path == "/sign-in"
    assert "Ablation" not in got.text


@pytest.mark.parametrize("path", [*PATHS, "/summary/clinic/s1"])
def test_a_reviewer_sees_the_pages_of_own_tenants(client: Open, path: str) -> None:
    """Signed in, each page answers."""
    assert client("anna").get(path).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/?tenant=bank",
        "/sessions/bank/b1",
        "/items/bank/b1/seq:1",
        "/digest/bank",
        "/summary/bank/b1",
    ],
)
def test_another_tenants_pages_look_like_none(client: Open, path: str) -> None:
    """The same answer as for a page that does not exist, without a word of its content."""
    got = client("anna").get(path)
    assert (got.status_code, "There is no such page." in got.text) == (404, True)
    assert "Secret" not in got.text
    assert client("root").get(path).status_code == 200


def test_the_queue_holds_own_tenants_only(client: Open) -> None:
    """Whoever was given two tenants sees both, the others one."""
    assert "Secret fee" not in client("anna").get("/").text
    assert "Secret fee" in client("root").get("/").text


def test_an_advisor_sees_own_clients_only(client: Open) -> None:
    """A candidate of another adviser's client is neither listed nor shown nor decided."""
    one = client("adviser")
    assert "concept 2" not in one.get("/").text
    assert one.get("/items/clinic/s1/seq:2").status_code == 404
    assert one.get("/refused").status_code == 404
    assert client("anna").get("/items/clinic/s1/seq:2").status_code == 200


@pytest.mark.parametrize(
    "path", ["/verdicts", "/undo", "/sessions/clinic/s1", "/items/clinic/s1/seq:1"]
)
def test_a_form_without_the_sessions_secret_does_nothing(
    world: World, client: Open, path: str
) -> None:
    """Missing, wrong, or sent from another site: refused, and nothing is written."""
    one = client("anna")
    fields = {"action": "accept", "item": "clinic/s1/seq:1", "offered": "clinic/s1/seq:1"}
    before = _lines(world)
    assert one.post(path, data=fields).status_code == 403
    assert one.post(path, data=fields | {"csrf": "guess"}).status_code == 403
    own = fields | {"csrf": _csrf(one)}
    strange = one.post(path, data=own, headers={"Origin": "https://evil.example"})
    assert strange.status_code == 403
    assert client().post(path, data=own).status_code in (401, 403)
    assert _lines(world) == before


def test_a_verdict_on_another_tenant_is_no_such_page(world: World, client: Open) -> None:
    """Item names in a form are checked like addresses; one strange name stops the whole form."""
    one = client("anna")
    before = _lines(world)
    fields = {"csrf": _csrf(one), "action": "accept", "item": ["clinic/s1/seq:1", "bank/b1/seq:1"]}
    assert one.post("/verdicts", data=fields).status_code == 404
    assert _lines(world) == before


def test_verdicts_are_recorded_under_the_signed_in_name(world: World, client: Open) -> None:
    """The reviewer is whoever signed in, whatever the form says."""
    one = client("anna")
    fields = {"csrf": _csrf(one), "action": "defer", "item": "clinic/s1/seq:1", "reviewer": "boss"}
    got = one.post("/verdicts", data=fields)
    assert "1 put off" in got.text
    _, last = world.workspace.review_log().decisions[-1]
    assert (last.reviewer, last.verdict) == ("anna", "defer")


def test_a_page_that_does_not_show_the_others_verdict_replaces_none(
    world: World, client: Open
) -> None:
    """Two reviewers have one item open: the second is refused, and reads what the first said."""
    path = "/items/clinic/s1/seq:1"
    one, other = client("anna"), client("root")
    seen = re.search(r'name="(seen:[^"]+)" value="([^"]+)"', one.get(path).text)
    assert seen is not None
    form = {"csrf": _csrf(other), "action": "decline", seen[1]: seen[2]}
    deferred = other.post(path, data={**form, "action": "defer"})
    assert 'class="flash" role="status"' in deferred.text
    other.post(path, data=form)
    before = _lines(world)
    stale = {"csrf": _csrf(one), "item": "clinic/s1/seq:1", seen[1]: seen[2]}
    got = one.post("/verdicts", data={**stale, "action": "accept", "back": path})
    assert 'class="flash refused" role="alert"' in got.text
    assert "root declined it" in got.text
    assert "chip-state" in got.text
    assert _lines(world) == before
    one.post("/verdicts", data={**stale, seen[1]: "", "action": "reopen"})


def test_a_redirect_never_leaves_the_site(client: Open) -> None:
    """A form or a link cannot send somebody elsewhere."""
    one = client("anna")
    for back in ("https://evil.example/", "//evil.example", "/\\evil.example"):
        fields = {"csrf": _csrf(one), "action": "accept", "back": back}
        got = one.post("/verdicts", data=fields, follow_redirects=False)
        assert got.headers["location"] == "/"


def test_answers_keep_to_themselves(client: Open) -> None:
    """No frame, no foreign script, no cache; a cookie that scripts cannot read."""
    got = client("anna").get("/")
    policy = got.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert got.headers["cache-control"] == "no-store"
    cookie = client().get("/sign-in").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


def test_a_strange_host_name_is_refused(client: Open) -> None:
    """A site that points its own name at this server gets nothing."""
    assert client("anna").get("/", headers={"Host": "evil.example"}).status_code == 400


def test_a_token_that_was_replaced_opens_nothing(
    client: Open, tokens: dict[str, str], tmp_path: Path
) -> None:
    """A new token signs out whoever came with the old one; so does leaving the file."""
    one = client("anna")
    again = new_token(tmp_path / "reviewers.toml", "anna", tenants=["clinic"])
    assert one.get("/").url.path == "/sign-in"
    assert client().get(f"/sign-in?token={tokens['anna']}").status_code == 403
    assert one.get(f"/sign-in?token={again}").url.path == "/"
    (tmp_path / "reviewers.toml").write_text("")
    assert one.get("/").url.path == "/sign-in"


def test_a_proxy_is_believed_from_its_own_address_alone(client: Open, world: World) -> None:
    """The header counts once, from a trusted peer, and names somebody on file."""
    header = {"X-User": "anna"}
    trusted = client(proxy_header="X-User", trusted_proxies=("127.0.0.1",))
    assert trusted.get("/", headers=header).status_code == 200
    assert trusted.get("/").status_code == 403
    assert trusted.get("/", headers={"X-User": "stranger"}).status_code == 403
    assert trusted.get("/", headers=[("X-User", "anna"), ("X-User", "root")]).status_code == 403
    other = client(proxy_header="X-User", trusted_proxies=("10.0.0.7",))
    assert other.get("/", headers=header).status_code == 403


def test_a_broken_reviewers_file_is_told_on_a_page(client: Open, tmp_path: Path) -> None:
    """Whoever asks reads what is wrong and where to mend it; the server goes on."""
    one = client("anna")
    file = tmp_path / "reviewers.toml"
    sound = file.read_text("utf-8")
    file.write_text("[reviewers.anna")
    for path in ("/", "/sign-in", "/items/clinic/s1/seq:1"):
        got = one.get(path)
        assert (got.status_code, "Cannot read the reviewers" in got.text) == (503, True)
        assert "Ablation" not in got.text
    file.write_text(sound)
    assert one.get("/").status_code == 200


def test_signing_in_leads_to_the_page_that_was_asked_for(
    client: Open, tokens: dict[str, str]
) -> None:
    """Filters and days of a link that somebody sent are still there afterwards."""
    stranger = client()
    asked = stranger.get("/?label=refines&state=all")
    form = {"csrf": _csrf(stranger, "/sign-in"), "token": tokens["anna"]}
    assert str(stranger.post(str(asked.url), data=form).url).endswith("/?label=refines&state=all")


@pytest.mark.parametrize("letter", ["x", "é", "😀"])
def test_a_long_message_fits_its_cookie(client: Open, letter: str) -> None:
    """A browser drops a cookie of more than 4,096 bytes, and the message with it."""
    one = client("anna")
    fields = {"csrf": _csrf(one), "action": "duplicate", "memory_id": letter * 5_000}
    got = one.post("/items/clinic/s1/seq:1", data=fields, follow_redirects=False)
    assert len(got.headers["set-cookie"]) < 4_096
    assert f"{letter * 100}" in one.get("/").text


def test_refused_lines_of_other_tenants_are_not_shown(world: World, client: Open) -> None:
    """A line that cannot be read, or speaks of another tenant, is nobody's here."""
    append_lines(
        world.workspace.home.review_decisions,
        [b'{"tenant_id": "bank", "x": "theirs"}', b'{"tenant_id": "clinic", "x": "mine"}', b"???"],
    )
    text = client("anna").get("/refused").text
    assert "mine" in text
    assert "theirs" not in text
    assert "???" not in text
    assert "1 more line (number" in text


def test_addresses_that_name_nothing(client: Open) -> None:
    """Whatever is typed, the answer is a page, not a failure."""
    one = client("anna")
    for path in (
        "/items/clinic/s1/seq:99",
        "/items/clinic/x",
        "/items/clinic/s1/seq:1-2",
        "/sessions/clinic/none",
        "/summary/clinic/none",
        "/nope",
    ):
        assert one.get(path).status_code == 404, path
    assert one.get("/?page=999&age=x&state=odd&label=none").status_code == 200
    assert one.get("/digest/clinic?days=-1").status_code == 200


def test_a_local_reviewer_signs_in_with_the_printed_token(client: Open, world: World) -> None:
    """On loopback one token is made for this run; no other one opens anything."""
    from memory_assets.web.reviewers import Reviewer, token_hash

    local = Reviewer("me", Principal.local("clinic"), token_hash("printed"))
    one = client(local=local)
    assert one.get("/sign-in?token=other").status_code == 403
    assert one.get("/sign-in?token=printed").url.path == "/"
    assert "me" in one.get("/").text
