"""What one stage does, given tables, stores and a model; it knows of no installation.

A rule that needs no store belongs in ``domain``; what needs the whole installation, in
``pipeline``.
"""
