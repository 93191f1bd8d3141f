"""The semantic merge as commands: plan, apply, undo, explain, report."""
