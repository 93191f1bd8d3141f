"""Export and import as people use them."""

from __future__ import annotations

from pathlib import Path

from memory_assets.pipeline.nightly.samples import copy_samples
from tests.cli.conftest import Cli


def test_a_snapshot_goes_from_one_home_to_another(published: Cli, tmp_path: Path) -> None:
    """Stdout and file hold the same bytes, and the other home exports them again."""
    file = tmp_path / "banca.jsonl"
    told = published("export", "--tenant", "banca", "--output", str(file), "--json").json()
    assert told["bytes"] == file.stat().st_size > 0
    assert published("export", "--tenant", "banca").out == file.read_text("utf-8")
    copy = copy_samples(tmp_path / "home")
    other = Cli(copy.home, copy.ledgers)
    planned = other("import", str(file), "--tenant", "banca", "--by", "anna")
    assert "Nothing was changed" in planned.out
    done = other("import", str(file), "--tenant", "banca", "--by", "anna", "--apply", "--json")
    assert done.json()["records"] == told["memories"]
    assert other("export", "--tenant", "banca").out == file.read_text("utf-8")


def test_other_systems_become_sessions(fresh: Cli, tmp_path: Path) -> None:
    """Only with --apply, and the file says where."""
    file = tmp_path / "all.json"
    file.write_text('{"results": [{"memory": "Likes calls"}]}')
    arguments = (
        "import",
        str(file),
        "--from",
        "mem0",
        "--tenant",
        "banca",
        "--by",
        "anna",
        "--json",
    )
    plan = fresh(*arguments).json()
    ledger = fresh.ledgers / "banca" / f"{plan['session_id']}.jsonl"
    assert not ledger.exists()
    assert fresh(*arguments, "--apply").json()["applied"]
    assert ledger.read_bytes().count(b"\n") == 2


def test_a_tenant_must_be_named(published: Cli, tmp_path: Path) -> None:
    """For either direction."""
    assert published("export").code == 2
    assert published("import", str(tmp_path / "x.jsonl"), "--by", "anna").code == 2


def test_a_tenant_without_an_entry_gets_no_ledgers(fresh: Cli, tmp_path: Path) -> None:
    """A slip in the name is told before it makes a folder that no night consolidates."""
    file = tmp_path / "mem0.json"
    file.write_text('[{"memory": "x"}]')
    fresh.home.mkdir(exist_ok=True)
    (fresh.home / "tenants.toml").write_text("[tenants.banca]\n[tenants.clinica]\n")
    arguments = ["import", str(file), "--from", "mem0", "--by", "anna", "--apply"]
    done = fresh(*arguments, "--tenant", "bancca")
    assert done.code == 2
    assert "[tenants.bancca]" in done.err
    assert not (fresh.ledgers / "bancca").exists()
    assert fresh(*arguments, "--tenant", "banca").code == 0
