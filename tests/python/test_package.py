"""The installed package as a whole."""

from importlib import metadata, resources

import episodica


def test_version_is_the_one_that_is_installed() -> None:
    assert episodica.__version__ == metadata.version("episodica")


def test_package_is_typed() -> None:
    assert resources.files("episodica").joinpath("py.typed").is_file()
