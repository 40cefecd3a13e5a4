"""Interfaces of other systems, so that scripts written for them run unchanged."""
