"""Parts of derived tables: reading them as frames, rewriting, blanking rows out of them."""
