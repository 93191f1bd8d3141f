"""From decisions to published memories: candidates, facts, filters, plan, publication, markers."""
