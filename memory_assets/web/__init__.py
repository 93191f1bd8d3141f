"""The review pages: server-rendered, no build step."""
