"""Work on a published registry: repair, migration, tiers, cleanup, erasure, evaluation."""
