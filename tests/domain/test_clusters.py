"""Complete link: no chain ever joins strangers."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory_assets.domain.clusters import Edge, complete_link

_NAMES = "abcdefgh"
_EDGES = st.lists(
    st.builds(
        Edge,
        st.sampled_from(_NAMES),
        st.sampled_from(_NAMES),
        st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9]),
    ),
    max_size=24,
)


def _graph(edges: list[Edge]) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(_NAMES)
    graph.add_edges_from((e.a, e.b) for e in edges if e.a != e.b)
    return graph


def test_a_chain_makes_pairs_and_no_group_of_four() -> None:
    """A~B~C~D whose ends are strangers: only direct neighbours join."""
    chain = [Edge("a", "b", 0.93), Edge("b", "c", 0.93), Edge("c", "d", 0.93)]
    assert complete_link(chain) == [("a", "b"), ("c", "d")]


def test_four_that_all_agree_make_one_group() -> None:
    """Every pair is an edge: one group."""
    edges = [Edge(a, b, 0.9) for a, b in itertools.combinations("abcd", 2)]
    assert complete_link(edges) == [("a", "b", "c", "d")]


def test_vectors_end_to_end_opposite_never_share_a_group() -> None:
    """Points along an arc, neighbours close: within a group every cosine reaches the floor."""
    angles = np.linspace(0, 2.0, 40)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    cosine = vectors @ vectors.T
    names = [f"m{i:02d}" for i in range(40)]
    edges = [
        Edge(names[i], names[j], float(cosine[i, j]))
        for i, j in itertools.combinations(range(40), 2)
        if cosine[i, j] >= 0.95
    ]
    place = {n: i for i, n in enumerate(names)}
    groups = complete_link(edges)
    lowest = min(
        cosine[place[x], place[y]] for g in groups for x, y in itertools.combinations(g, 2)
    )
    assert lowest >= 0.95
    assert nx.number_connected_components(nx.Graph((e.a, e.b) for e in edges)) == 1


@given(_EDGES)
def test_every_group_is_a_clique_of_the_graph(edges: list[Edge]) -> None:
    """No group holds a pair that is no edge, and no item is in two groups."""
    graph = _graph(edges)
    groups = complete_link(edges)
    for group in groups:
        assert len(group) > 1
        assert nx.density(graph.subgraph(group)) == 1.0
    items = [x for g in groups for x in g]
    assert len(items) == len(set(items))


@given(_EDGES)
def test_nothing_could_still_join(edges: list[Edge]) -> None:
    """Of two groups, or a group and a lone item, some pair is no edge."""
    graph = _graph(edges)
    groups = complete_link(edges)
    alone = set(_NAMES) - {x for g in groups for x in g}
    parts = [*groups, *((x,) for x in alone)]
    for left, right in itertools.combinations(parts, 2):
        assert any(not graph.has_edge(x, y) for x in left for y in right)


@given(_EDGES, st.randoms())
def test_the_order_of_the_edges_does_not_matter(edges: list[Edge], random: object) -> None:
    """Shuffled and turned edges give the same groups."""
    shuffled = [Edge(e.b, e.a, e.weight) for e in edges]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert complete_link(shuffled) == complete_link(edges)


@given(_EDGES)
def test_groups_stay_within_connected_components(edges: list[Edge]) -> None:
    """Complete link only ever splits what single link would join."""
    component = {x: i for i, c in enumerate(nx.connected_components(_graph(edges))) for x in c}
    for group in complete_link(edges):
        assert len({component[x] for x in group}) == 1
