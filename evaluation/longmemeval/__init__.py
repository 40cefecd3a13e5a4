"""LongMemEval: one long chat history a question, six types of questions, and abstention (Wu et al., ICLR 2025)."""
