"""The review application: routes, middleware, and the one place where errors become pages."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from memory_assets.errors import AccessDenied, MemoryAssetsError, SettingsError, UsageError
from memory_assets.pipeline.workspace import Workspace
from memory_assets.web import actions, pages
from memory_assets.web.access import Access
from memory_assets.web.headers import SecureHeaders
from memory_assets.web.page import Page
from memory_assets.web.states import States

WORKING_DAY: Final = 12 * 3600
"""Seconds after which somebody has to sign in again."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


def review_app(
    workspace: Workspace,
    access: Access,
    *,
    allowed_hosts: Sequence[str] = ("127.0.0.1", "localhost", "[::1]"),
    secure_cookie: bool = False,
    clock: Callable[[], datetime] = _utc_now,
) -> Starlette:
    """The pages of one workspace, for whoever ``access`` lets in.

    ``allowed_hosts`` are the names under which the pages are reached; any other one is refused, so
    that no site can pose as ours. ``secure_cookie`` is for servers behind HTTPS.
    """
    app = Starlette(
        routes=[
            Route("/", pages.queue),
            Route("/sign-in", pages.sign_in, methods=["GET", "POST"]),
            Route("/sign-out", actions.sign_out, methods=["POST"]),
            Route("/verdicts", actions.verdicts, methods=["POST"]),
            Route("/undo", actions.undo, methods=["POST"]),
            Route("/sessions/{tenant}/{session}", pages.session),
            Route("/sessions/{tenant}/{session}", actions.session, methods=["POST"]),
            Route("/items/{tenant}/{item:path}", pages.item),
            Route("/items/{tenant}/{item:path}", actions.item, methods=["POST"]),
            Route("/summary/{tenant}/{session}", pages.summary),
            Route("/digest/{tenant}", pages.digest),
            Route("/refused", pages.refused),
            Route("/healthz", _healthy),
            Mount("/static", StaticFiles(directory=str(files("memory_assets.web") / "static"))),
        ],
        middleware=[
            Middleware(SecureHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(allowed_hosts)),
            Middleware(
                SessionMiddleware,
                # A new key per start: whoever was signed in signs in again.
                secret_key=secrets.token_hex(32),
                session_cookie="memory_review",
                max_age=WORKING_DAY,
                same_site="lax",
                https_only=secure_cookie,
            ),
        ],
        exception_handlers={
            MemoryAssetsError: _named_error,
            HTTPException: _http_error,
        },
    )
    app.state.workspace = workspace
    app.state.access = access
    app.state.clock = clock
    app.state.states = States(workspace, clock)
    return app


def _healthy(request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _named_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemoryAssetsError)
    if isinstance(error, AccessDenied):
        # Another tenant's pages look like pages that do not exist.
        return _problem(request, 404, "There is no such page.", "")
    asked = isinstance(error, UsageError) and not isinstance(error, SettingsError)
    status = 404 if asked else 503
    return _problem(request, status, error.what, error.remedy)


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {404: "There is no such page.", 405: "This page takes no such request."}
    return _problem(request, error.status_code, said.get(error.status_code, error.detail), "")


def _problem(request: Request, status: int, what: str, remedy: str) -> Response:
    content: dict[str, Any] = {"what": what, "remedy": remedy, "status": status}
    try:
        made = Page.of(request, allow_strangers=True)
    except MemoryAssetsError:
        made = Page(request, None)  # who asks cannot be told: the reviewers' file is not readable
    return made.render("problem.html", content, status=status)
