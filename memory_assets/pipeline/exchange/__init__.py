"""In and out: snapshots, registries of the source system, exports of other memories."""
