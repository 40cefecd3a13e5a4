"""LoCoMo: ten very long conversations with questions of five categories (Maharana et al., ACL 2024)."""
