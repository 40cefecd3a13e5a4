"""``episodica mcp``: a memory for every client that speaks the Model Context Protocol.

``service`` describes the server and dispatches its requests to ``tools`` and ``resources``;
``arguments`` and ``answers`` are what tools take and return; ``serving`` runs the server on
standard input and output or on HTTP.
"""
