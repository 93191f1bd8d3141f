"""What ``workspace.yaml`` names: the one object that Dagster loads."""

from memory_assets.defs.assemble import defs

__all__ = ["defs"]
