"""Signing in and out, and the middleware that lets nobody else in."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request

from memory_assets.web.reviewers import Reviewer, ReviewersFile, token_hash

_NAME, _MARK, _CSRF = "name", "mark", "csrf"
_MARK_LENGTH = 16


@dataclass(frozen=True)
class Access:
    """How a request becomes a reviewer: a signed-in session, or a proxy that is trusted."""

    reviewers: ReviewersFile
    local: Reviewer | None = None
    """The one reviewer of a local server, who signs in with the token that it printed."""
    proxy_header: str | None = None
    """Header in which a proxy names the user it has signed in."""
    trusted_proxies: Collection[str] = field(default=("127.0.0.1", "::1"))
    """Addresses whose header is believed; anybody else's is ignored."""

    def reviewer(self, request: Request) -> Reviewer | None:
        """Who asks; None when nobody has signed in."""
        if self.proxy_header is not None:
            peer = request.client.host if request.client else ""
            if not self._is_trusted(peer):
                return None
            values = request.headers.getlist(self.proxy_header)
            # A header that came twice was added to one that the visitor sent.
            return self.reviewers.named(values[0].strip()) if len(values) == 1 else None
        name = request.session.get(_NAME)
        if not isinstance(name, str):
            return None
        is_local = self.local is not None and name == self.local.name
        found = self.local if is_local else self.reviewers.named(name)
        # Whoever gets a new token signs in again: the old one may be in somebody's hands.
        same = found is not None and request.session.get(_MARK) == _mark(found)
        return found if same else None

    def sign_in(self, request: Request, token: str) -> Reviewer | None:
        """The reviewer whose token this is, now signed in; None when it is nobody's."""
        found = self.reviewers.with_token(token) if token.strip() else None
        if found is None and self.local is not None:
            same = hmac.compare_digest(self.local.token_sha256, token_hash(token))
            found = self.local if same else None
        if found is not None:
            request.session.clear()
            request.session[_NAME], request.session[_MARK] = found.name, _mark(found)
        return found

    def _is_trusted(self, peer: str) -> bool:
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        return any(address == ip_address(proxy) for proxy in self.trusted_proxies)


def _mark(reviewer: Reviewer) -> str:
    """Tells the token that somebody signed in with from later ones."""
    return reviewer.token_sha256[:_MARK_LENGTH]


def csrf_token(request: Request) -> str:
    """The secret that forms of this session carry; made at first need."""
    found = request.session.get(_CSRF)
    if not isinstance(found, str):
        found = secrets.token_urlsafe(24)
        request.session[_CSRF] = found
    return found


def require_own_form(request: Request, given: object) -> None:
    """Nothing when a form comes from one of our own pages.

    Raises:
        HTTPException: 403: the session's secret is missing or wrong, or another site sent it.
    """
    known = request.session.get(_CSRF)
    sound = isinstance(known, str) and isinstance(given, str)
    if not sound or not hmac.compare_digest(str(known).encode(), str(given).encode()):
        raise HTTPException(403, "This form is too old, or not ours. Go back and try again.")
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, "This form was sent by another site.")
