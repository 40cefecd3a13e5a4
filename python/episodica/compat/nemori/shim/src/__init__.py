"""Stands for Nemori's package `src`, for scripts that have the folder above on their path."""

from episodica.compat.nemori import install

install()
