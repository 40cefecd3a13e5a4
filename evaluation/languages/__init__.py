"""Finding in eight languages, across languages and despite typos, without an LLM."""
