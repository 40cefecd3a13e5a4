"""What values look like in a notebook."""
