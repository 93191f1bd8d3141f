"""What waits for a reviewer: items, proposals, the queue."""
