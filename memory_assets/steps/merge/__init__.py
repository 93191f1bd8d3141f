"""The global semantic merge: pairs, candidates, proposals, calibration."""
