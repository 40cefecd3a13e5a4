"""Stands for Nemori's package `nemori`, for scripts that have the folder above on their path."""

from episodica.compat.nemori import install

install()
