"""Specs, lists of specs, and values by spec, as settings write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.providers import parse_by_spec, parse_specs, value_for

# A model's name may hold slashes, but not first: ``ab://x=1`` is an address with a query.
SPECS = st.from_regex(r"[a-z]{2,8}:[a-zA-Z0-9._-][a-zA-Z0-9/._-]{0,19}", fullmatch=True)


@given(st.lists(SPECS, unique=True, max_size=5))
def test_a_list_is_read_as_it_was_written(specs: list[str]) -> None:
    """Order stays; blanks around commas do not matter."""
    assert parse_specs(" , ".join(specs)) == tuple(specs)


@given(st.dictionaries(SPECS, st.integers(1, 9_999), max_size=5), st.integers(1, 9))
def test_values_by_spec_are_read_as_they_were_written(values: dict[str, int], for_all: int) -> None:
    """A spec's own value comes before the one for all."""
    text = ", ".join([*(f"{spec}={value}" for spec, value in values.items()), str(for_all)])
    found = parse_by_spec(text)
    for spec, value in values.items():
        assert value_for(found, spec) == str(value)
    assert (value_for(found, "nobody:else") or "").strip() == str(for_all)


def test_an_address_with_a_query_is_a_value_for_all() -> None:
    """Its equals sign does not make it one that is for a spec."""
    url = "https://host/openai?api-version=2024"
    assert value_for(parse_by_spec(url), "openai:any") == url
    assert value_for(parse_by_spec(f"openai:one={url}"), "openai:one") == url


@pytest.mark.parametrize("text", ["model", "packaged:", ":x", "a:b, a:b"])
def test_what_is_no_list_of_specs_is_refused(text: str) -> None:
    """The message quotes the entry."""
    with pytest.raises(ValueError, match=r"PROVIDER:MODEL|twice"):
        parse_specs(text)


def test_two_values_for_the_same_are_refused() -> None:
    """Nobody could say which one counts."""
    with pytest.raises(ValueError, match="two values"):
        parse_by_spec("openai:a=1, openai:a=2")


def test_a_text_with_a_comma_stands_in_double_quotes() -> None:
    """Instructions that models want before a query have commas, and end with a blank."""
    text = 'openai:e5="Instruct: given a query, retrieve. Query: ", "a, b"'
    found = parse_by_spec(text)
    assert value_for(found, "openai:e5") == "Instruct: given a query, retrieve. Query: "
    assert value_for(found, "openai:other") == "a, b"
    assert value_for(parse_by_spec('a 5" disk'), "openai:any") == 'a 5" disk'
