"""What a reviewer does: decide, promote, enter by hand, detach, read the digest."""
