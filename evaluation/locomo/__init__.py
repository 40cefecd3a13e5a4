"""LoCoMo: ten very long conversations, questions of five categories (Maharana et al., 2024)."""
