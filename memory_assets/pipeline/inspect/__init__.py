"""Looking: sessions, decisions, memories, their history, quarantine. Nothing is changed."""
