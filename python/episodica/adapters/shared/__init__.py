"""Shared code of the adapters. It knows no framework."""
