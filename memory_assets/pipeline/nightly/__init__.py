"""The nightly run and what surrounds it: dry run, recovery, rebuild, metrics, samples."""
