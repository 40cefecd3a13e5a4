"""``episodica serve``: the memory over HTTP. Needs ``pip install 'episodica[server]'``.

Thin over :class:`AsyncMemorySystem`: checks who asks, converts JSON, and calls one method. Holds no
logic of memory. Called by the command line only; ``app.create_app`` is the application.
"""
