"""LongMemEval: one long chat history per question, six types and abstention (Wu et al., 2025)."""
