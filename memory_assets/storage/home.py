"""Where everything lives below the home folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memory_assets.storage.files import make_folder


@dataclass(frozen=True, slots=True)
class Home:
    """The folder that holds one installation's state; ledgers lie elsewhere."""

    root: Path

    @property
    def current(self) -> Path:
        """The pointer to the published generation; replacing it is the commit."""
        return self.root / "CURRENT"

    @property
    def publisher_lock(self) -> Path:
        """Held over a whole publication."""
        return self.root / "locks" / "publisher.lock"

    @property
    def derived_lock(self) -> Path:
        """Held while ledgers are read into the derived tables."""
        return self.root / "locks" / "derived.lock"

    @property
    def generations(self) -> Path:
        """One folder per generation, each with its manifest."""
        return self.root / "generations"

    @property
    def registry(self) -> Path:
        """Append-only Parquet parts of the registry tables."""
        return self.root / "registry"

    @property
    def index(self) -> Path:
        """One Lance table per embedding space."""
        return self.root / "index"

    @property
    def derived(self) -> Path:
        """Tables that can be rebuilt from the ledgers."""
        return self.root / "derived"

    @property
    def merge(self) -> Path:
        """Tables of the semantic merge, rebuilt by its next plan."""
        return self.root / "merge"

    def run_lock(self, run_id: str) -> Path:
        """Held by a run of a job while its process lives."""
        return self.root / "locks" / f"night-{run_id}.lock"

    def run_locks(self) -> dict[str, Path]:
        """The locks that runs hold, or left behind, by run id."""
        found = (self.root / "locks").glob("night-*.lock")
        return {path.stem.removeprefix("night-"): path for path in sorted(found)}

    @property
    def merge_lock(self) -> Path:
        """Held while the tables of the merge are worked out."""
        return self.root / "locks" / "merge.lock"

    @property
    def intents(self) -> Path:
        """What other jobs ask the next publication to do, append-only."""
        return self.root / "intents"

    @property
    def review_decisions(self) -> Path:
        """The reviewers' verdicts, append-only."""
        return self.root / "review" / "decisions.jsonl"

    @property
    def feedback(self) -> Path:
        """What users and agents said about memories, append-only."""
        return self.root / "review" / "feedback.jsonl"

    @property
    def receipts(self) -> Path:
        """Receipts of removals, and the key of their digests."""
        return self.root / "receipts"

    @property
    def answers(self) -> Path:
        """Answers of extraction models: a rebuild reads them and asks nothing."""
        return self.root / "answers"

    @property
    def evaluations(self) -> Path:
        """How well each generation answered, append-only: an old one cannot be asked again."""
        return self.root / "evaluations" / "retrieval.jsonl"

    @property
    def publications(self) -> Path:
        """When each generation was published: tiers count from there."""
        return self.root / "tiers" / "publications.json"

    @property
    def preflight(self) -> Path:
        """Tenants that a pre-flight check stopped, and every deviation that was found."""
        return self.root / "preflight"

    @property
    def access_log(self) -> Path:
        """Recorded uses of memories, by day and process."""
        return self.root / "access"

    @property
    def allocations(self) -> Path:
        """Which decision got which memory id: content-free, append-only, for a rebuild."""
        return self.root / "allocations.jsonl"

    @property
    def allocations_lock(self) -> Path:
        """Held while the allocation log is written."""
        return self.root / "locks" / "allocations.lock"

    @property
    def logs(self) -> Path:
        """What runs did, as JSON lines by month."""
        return self.root / "logs"

    @property
    def undelivered(self) -> Path:
        """Alerts that the webhook has not taken yet, one file each."""
        return self.root / "undelivered"

    @property
    def cache(self) -> Path:
        """Vectors and rebuilt models: can be deleted at any time."""
        return self.root / "cache"

    @property
    def probes(self) -> Path:
        """Hosted models' answers to a fixed text: they name the weights behind a space."""
        return self.root / "probes"

    @property
    def dagster(self) -> Path:
        """Dagster's own storage (DAGSTER_HOME) of the local commands."""
        return self.root / "dagster"

    @property
    def tenants_file(self) -> Path:
        """The tenants' settings."""
        return self.root / "tenants.toml"

    def ensure(self) -> Home:
        """Creates the folder.

        Raises:
            StoreWriteFailed: it cannot be created.
        """
        make_folder(self.root)
        return self
