"""What adapters have in common. Knows no framework."""
