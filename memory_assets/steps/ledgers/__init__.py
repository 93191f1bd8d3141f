"""From ledger files to events and effective decisions."""
