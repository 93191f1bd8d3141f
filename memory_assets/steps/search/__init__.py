"""From a question to hits: legs, ranking, visibility, use in a session, evaluation."""
