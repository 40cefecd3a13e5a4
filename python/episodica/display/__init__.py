"""What values look like in a notebook. Importing it registers a function for each type."""

from . import values as values
