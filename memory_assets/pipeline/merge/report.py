"""One self-contained HTML page about the merges of a tenant: groups, curve, counts, cost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any, Final

from memory_assets.domain.guards import RULE_VERSION
from memory_assets.domain.merge import SURVIVOR_RULES
from memory_assets.pipeline.merge.semantic import SemanticMerge
from memory_assets.pipeline.merge.view import marked, proposal_views
from memory_assets.steps.merge.calibrate import TenantCalibration
from memory_assets.steps.merge.candidates import compared_tenants
from memory_assets.steps.merge.proposals import proposal_summary

_TITLES: Final = {
    ("same", "auto"): "Merged without asking",
    ("same", "review"): "Perhaps the same",
    ("contains", "review"): "One says all that the other says",
    ("conflicts", "review"): "One subject, two definitions",
}
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_STYLE: Final = """
:root { color-scheme: light dark; --line: #8886; --mark: #ffd54a; --soft: #8881; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { border-collapse: collapse; margin: .5rem 0 }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .7rem .25rem 0; text-align: left }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
article { border: 1px solid var(--line); border-radius: .5rem; margin: 1rem 0; padding: .7rem }
.members { display: grid; gap: .7rem; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)) }
.member { background: var(--soft); border-radius: .4rem; padding: .5rem; overflow-wrap: anywhere }
.member.stays { outline: 2px solid #3a8f5c }
.id { font: 12px/1.4 ui-monospace, monospace; opacity: .75 }
mark { background: var(--mark); color: #000; border-radius: .2rem; padding: 0 .1rem }
.why { font-size: .9rem; opacity: .85 } figure { margin: 0 } figcaption { font-size: .85rem }
"""


def merge_report(merge: SemanticMerge, tenant_id: str, *, now: datetime, limit: int = 500) -> str:
    """The page; it needs no network, and names at most ``limit`` proposals.

    It shows content of one tenant only. Superseded memories are listed with those of their near
    relatives that are still active.
    """
    calibration = next(iter(merge.calibrate([tenant_id])))
    views = proposal_views(merge, tenant_id, limit=limit)
    total = merge.proposals(tenant_id).height
    when = f"Generation {merge.registry.generation}, {now.isoformat(timespec='seconds')}"
    parts = [
        f"<h1>Semantic merge: {escape(tenant_id)}</h1>",
        f"<p>{when}, rules {RULE_VERSION}. Who stays: {', '.join(SURVIVOR_RULES)}.</p>",
        _counts(merge, tenant_id),
        _calibration(calibration),
        _replaced(merge, tenant_id),
        *_proposals(views, total),
    ]
    return _page(f"Semantic merge: {tenant_id}", parts)


def _page(title: str, parts: Iterable[str]) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        + "\n".join(parts)
        + "</body></html>\n"
    )


def _counts(merge: SemanticMerge, tenant_id: str) -> str:
    summary = proposal_summary(merge.derived, tenant_id)
    search = compared_tenants(merge.derived).get(tenant_id)
    if not summary or search is None:
        return "<p>No plan was made yet.</p>"
    guards = summary.get("by_guard", {})
    kind = "by cells" if search["approximate"] else "exactly"
    rows = {
        "memories compared": search["rows"],
        "pairs looked at": summary["judged_pairs"],
        "groups merged without asking": summary["automatic_groups"],
        "groups to review": summary["groups_to_review"],
        "containments": summary["containments"],
        "conflicts": summary["conflicts"],
        "kept apart by guards or floor": summary["kept_apart"],
        "remembered as different": summary["remembered_as_different"],
        "held back until other groups are decided": summary["held_back"],
    }
    cost = (
        f"<p>All pairs were searched {kind} in {search['seconds']:g} s; measured recall "
        f"{search['recall']:.4f}.</p>"
    )
    objections = _table(("guard", "pairs set apart"), guards.items()) if guards else ""
    return (
        "<h2>Counts and cost</h2>" + cost + _table(("what", "how many"), rows.items()) + objections
    )


def _table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th{_number(i)}>{escape(h)}</th>" for i, h in enumerate(headers))
    body = "".join(
        "<tr>"
        + "".join(f"<td{_number(i)}>{escape(str(c))}</td>" for i, c in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _number(column: int) -> str:
    return ' class="n"' if column else ""


def _calibration(found: TenantCalibration) -> str:
    point = found.point
    if point.threshold is None:
        earned = (
            f"Nothing merges by itself yet: {point.labels} reviewed pairs passed every guard, "
            f"{point.errors} of them wrong; the lower bound of precision is {point.lower:.3f}, "
            f"{point.target:g} is needed."
        )
    else:
        earned = (
            f"Pairs of one subject that pass every guard merge by themselves from cosine "
            f"{point.threshold:.4f}: {point.labels} such labels, precision at least "
            f"{point.lower:.3f} with {point.confidence:.0%} confidence."
        )
    rows = [
        (
            f"{p.threshold:.2f}",
            p.merged_same,
            p.merged_different,
            p.missed,
            f"{p.precision:.3f}",
            f"{p.lower:.3f}",
            f"{p.recall:.3f}",
        )
        for p in found.curve
    ]
    headers = ("threshold", "same", "different", "missed", "precision", "at least", "recall")
    curve = ""
    if found.labels:
        curve = (
            f"<figure>{curve_svg(found)}<figcaption>Every pair that no guard objects to, merged "
            f"from a threshold on; {found.labels} reviewed pairs.</figcaption></figure>"
            + _table(headers, rows)
        )
    return (
        f"<h2>What review has earned</h2><p>{escape(earned)} {found.labels} reviewed pairs in all; "
        f"pairs are shown to people from cosine {found.floor:.3f}.</p>{curve}"
    )


def curve_svg(found: TenantCalibration) -> str:
    """Precision, its lower bound and recall over the threshold, as an SVG."""
    width, height, pad = 460, 220, 34
    low, high = found.curve[0].threshold, found.curve[-1].threshold

    def path(values: Sequence[float]) -> str:
        points = zip((p.threshold for p in found.curve), values, strict=True)
        return " ".join(
            f"{pad + (t - low) / (high - low) * (width - 2 * pad):.1f},"
            f"{height - pad - v * (height - 2 * pad):.1f}"
            for t, v in points
        )

    lines = (
        ("precision", "#2f7ed8", "", [p.precision for p in found.curve]),
        ("lower bound", "#2f7ed8", ' stroke-dasharray="4 3"', [p.lower for p in found.curve]),
        ("recall", "#c2571a", "", [p.recall for p in found.curve]),
    )
    drawn = "".join(
        f'<polyline points="{path(v)}" fill="none" stroke="{c}" stroke-width="2"{d}/>'
        for _, c, d, v in lines
    )
    legend = "".join(
        f'<text x="{pad + i * 120}" y="14" font-size="12" fill="{c}">{name}</text>'
        for i, (name, c, _, _) in enumerate(lines)
    )
    base = height - pad
    axes = (
        f'<path d="M{pad} {pad}V{base}H{width - pad}" fill="none" stroke="#8889"/>'
        f'<text x="{pad}" y="{height - 12}" font-size="12" fill="#888">{low:g}</text>'
        f'<text x="{width - pad - 24}" y="{height - 12}" font-size="12" fill="#888">{high:g}</text>'
        f'<text x="4" y="{pad + 4}" font-size="12" fill="#888">1</text>'
        f'<text x="4" y="{base}" font-size="12" fill="#888">0</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'role="img" aria-label="precision and recall">{axes}{drawn}{legend}</svg>'
    )


def _replaced(merge: SemanticMerge, tenant_id: str) -> str:
    gone = merge.replaced(tenant_id)
    if not gone:
        return ""
    rows = [
        (old, new, ", ".join(merge.siblings(tenant_id, [old])) or "none")
        for old, new in sorted(gone.items())
    ]
    headers = ("replaced", "by", "near relatives that are still active")
    return "<h2>Replaced memories</h2>" + _table(headers, rows)


def _proposals(views: Sequence[Mapping[str, Any]], total: int) -> Iterable[str]:
    for (kind, route), title in _TITLES.items():
        own = [v for v in views if (v["kind"], v["route"]) == (kind, route)]
        if own:
            yield f"<h2>{title} ({len(own)})</h2>"
            yield from (_proposal(v) for v in own)
    if total > len(views):
        yield f"<p>{total - len(views)} more are not shown.</p>"


def _proposal(view: Mapping[str, Any]) -> str:
    members = "".join(_member(m, m["memory_id"] == view["survivor"]) for m in view["members"])
    why = "".join(
        f"<li>{escape(p['a'])} and {escape(p['b'])}: cosine {p['cosine']:.4f}, "
        f"{escape(p['relation'])}{': ' if p['because'] else ''}{escape(p['because'])}</li>"
        for p in view["pairs"]
    )
    return (
        f'<article><div class="id">{escape(view["proposal_id"])}</div>'
        f'<div class="members">{members}</div><ul class="why">{why}</ul></article>'
    )


def _visible(piece: str) -> str:
    """The piece as HTML; what would turn the writing round, or is no character, is spelt out."""
    return escape(_UNSEEN.sub(lambda m: f"\\u{ord(m.group()):04x}", piece))


def _member(member: Mapping[str, Any], stays: bool) -> str:
    def shown(text: str) -> str:
        return "".join(
            f"<mark>{_visible(piece)}</mark>" if differs else _visible(piece)
            for piece, differs in marked(text, member["differs"])
        )

    note = " · stays" if stays else ""
    return (
        f'<div class="member{" stays" if stays else ""}">'
        f'<div class="id">{escape(member["memory_id"])} · {escape(member["origin"])}{note}</div>'
        f"<strong>{shown(member['subject'])}</strong><div>{shown(member['detail'])}</div></div>"
    )
