"""Starting the server: who may reach it is settled before it listens."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from memory_assets.domain.visibility import Principal
from memory_assets.errors import UsageError
from memory_assets.pipeline.review.decide import require_reviewer
from memory_assets.pipeline.workspace import Workspace
from memory_assets.web.access import Access
from memory_assets.web.reviewers import Reviewer, ReviewersFile, token_hash

REVIEWERS_FILE = "reviewers.toml"


@dataclass(frozen=True, slots=True)
class Served:
    """Where and for whom the pages are served."""

    host: str
    port: int
    access: Access
    allowed_hosts: tuple[str, ...]
    url: str
    """What to open; with the token of a local reviewer."""
    secure_cookie: bool = False


def prepare(
    workspace: Workspace,
    *,
    host: str,
    port: int,
    tenants: Sequence[str],
    reviewer: str,
    reviewers_file: Path | None = None,
    proxy_header: str | None = None,
    trusted_proxies: Sequence[str] = (),
    names: Sequence[str] = (),
    behind_https: bool = False,
) -> Served:
    """What will be served, or an error that says why it must not be.

    On loopback the user of this machine reviews the named tenants, with a token that is made for
    this run: other users of the machine reach the port, too. Any other address needs reviewers of
    its own, from a file of tokens or from a proxy that signs them in.

    Raises:
        UsageError: nobody could be told from a stranger, or no tenant is named.
        SettingsError: the reviewers' file is not valid.
    """
    file = ReviewersFile(reviewers_file or workspace.home.root / REVIEWERS_FILE)
    known = file.all()
    loopback = is_loopback(host)
    if proxy_header is not None:
        _check_proxies(trusted_proxies, known, file.path)
    elif not loopback and not known:
        raise UsageError(
            f"{host} can be reached by others, but nobody could be told from a stranger.",
            where=str(file.path),
            remedy="make a token with `memory-assets review token NAME --tenant TENANT`, or name a "
            "proxy that signs people in with --proxy-header; or serve on 127.0.0.1.",
        )
    local, token = None, None
    if loopback and proxy_header is None and not known:
        token = secrets.token_urlsafe(24)
        local = _local(reviewer, tenants, token)
    access = Access(file, local, proxy_header, tuple(trusted_proxies) or ("127.0.0.1", "::1"))
    shown = f"[{host}]" if ":" in host else host
    allowed = _allowed(host, names, loopback=loopback)
    ask = f"/sign-in?token={token}" if token else "/"
    return Served(host, port, access, allowed, f"http://{shown}:{port}{ask}", behind_https)


def run(workspace: Workspace, served: Served, *, ready: Callable[[str], None]) -> None:
    """Serves until interrupted; ``ready`` is told the address once the port is open.

    Raises:
        UsageError: the port is taken, or the address is not this machine's.
    """
    import asyncio
    import socket

    import uvicorn

    from memory_assets.web.app import review_app

    app = review_app(
        workspace,
        served.access,
        allowed_hosts=served.allowed_hosts,
        secure_cookie=served.secure_cookie,
    )
    family = socket.AF_INET6 if ":" in served.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((served.host, served.port))
    except OSError as error:
        listener.close()
        raise UsageError(
            f"Cannot listen on {served.host} port {served.port}: {error.strerror}.",
            remedy="choose another --port, or stop what uses it.",
        ) from error
    port = listener.getsockname()[1]
    ready(served.url.replace(f":{served.port}/", f":{port}/", 1))
    config = uvicorn.Config(
        app,
        log_level="warning",
        # The peer's address decides whether a proxy is believed: nothing may rewrite it.
        proxy_headers=False,
        server_header=False,
    )
    with listener:
        asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _local(reviewer: str, tenants: Sequence[str], token: str) -> Reviewer:
    if not tenants:
        raise UsageError("No tenant is known yet.", remedy="add --tenant, or run the night first.")
    name = require_reviewer(reviewer)
    first, *more = tenants
    principal = Principal(first, "ADMIN", more_tenants=frozenset(more))
    return Reviewer(name, principal, token_hash(token))


def _check_proxies(trusted_proxies: Sequence[str], known: dict[str, Reviewer], path: Path) -> None:
    for proxy in trusted_proxies:
        try:
            ip_address(proxy)
        except ValueError:
            raise UsageError(
                f"--trusted-proxy {proxy!r} is not an address.", remedy="write 10.0.0.7, say."
            ) from None
    if not known:
        raise UsageError(
            "The proxy says who somebody is, but no file says what they may review.",
            where=str(path),
            remedy="add them with `memory-assets review token NAME --tenant TENANT`; their token "
            "is not needed behind the proxy.",
        )


def _allowed(host: str, names: Sequence[str], *, loopback: bool) -> tuple[str, ...]:
    if names:
        return tuple(names)
    if loopback:
        return ("127.0.0.1", "localhost", "[::1]", host)
    unspecified = host in ("0.0.0.0", "::", "")
    return ("*",) if unspecified else (host,)
