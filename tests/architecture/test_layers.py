"""The shape of the code: who may import whom, how long a module may be, what a test must say."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "memory_assets"
TESTS = ROOT / "tests"
MAX_LINES = 500
CROSS_CUTTING = {
    "architecture",
    "benches",
    "boundaries",
    "contracts",
    "crash",
    "docs",
    "e2e",
    "golden",
    "properties",
}
"""Folders of tests that belong to no single module of the package."""
SPANNING = {
    "domain/guards/test_guards.py",
    "pipeline/test_embedding_nights.py",
    "pipeline/test_bird.py",
    "pipeline/test_core_rule.py",
    "pipeline/test_nights.py",
}
"""Tests of what several modules of one folder do together."""

MODULES = sorted(PACKAGE.rglob("*.py"))
TEST_MODULES = sorted(TESTS.rglob("test_*.py"))


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_import_contracts_are_kept() -> None:
    """Imports only point down, and the domain stays free of stores, models, clocks and files."""
    # A process of its own: the linter's graph builder keeps global state.
    code = (
        "import sys; from importlinter.cli import lint_imports;"
        "sys.exit(lint_imports(no_cache=True, no_logo=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", MODULES + TEST_MODULES, ids=_relative)
def test_no_module_is_too_long(path: Path) -> None:
    """A module fits in one head: 500 lines at the very most."""
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES, f"{_relative(path)} has {lines} lines; split it by responsibility"


@pytest.mark.parametrize("path", TEST_MODULES, ids=_relative)
def test_tests_mirror_the_package(path: Path) -> None:
    """A test module stands where the module stands that it tests, so both are found at once."""
    folder = path.parent.relative_to(TESTS)
    spanning = path.relative_to(TESTS).as_posix() in SPANNING
    if spanning or (folder.parts and folder.parts[0] in CROSS_CUTTING):
        return
    name = path.stem.removeprefix("test_")
    home = PACKAGE / folder
    found = (home / f"{name}.py").exists() or (home / name).is_dir()
    # one module may need several test modules: test_parsing_hygiene.py tests parsing.py
    found = found or any(name.startswith(f"{module.stem}_") for module in home.glob("*.py"))
    assert found, f"{_relative(path)}: no memory_assets/{folder.as_posix()}/{name}.py"


@pytest.mark.parametrize("path", TEST_MODULES, ids=_relative)
def test_every_test_says_what_it_proves(path: Path) -> None:
    """The docstring of a test is the sentence that is false when it fails."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    silent = [
        f"{_relative(path)}:{node.lineno} {node.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert not silent, "tests without a docstring: " + ", ".join(silent)
