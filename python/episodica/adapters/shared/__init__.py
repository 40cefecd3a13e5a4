"""Code that all adapters share, and that knows no framework."""
