"""From memories to vectors and the search index: spaces, rows, drift, calibration."""
