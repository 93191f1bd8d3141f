"""``doctor --preflight`` as a scheduler calls it."""

from __future__ import annotations

from tests.cli.conftest import Cli


def test_it_says_who_may_go_on(fresh: Cli) -> None:
    """Nine checks a tenant and exit code 0; a folder without an entry makes it 1."""
    good = fresh("doctor", "--preflight", "--json")
    assert good.code == 0, good.out
    report = good.json()
    assert report["ok"]
    assert {len(checks) for checks in report["tenants"].values()} == {9}
    (fresh.ledgers / "stranger").mkdir()
    bad = fresh("doctor", "--preflight")
    assert bad.code == 1
    assert "[tenants.stranger]" in bad.out
