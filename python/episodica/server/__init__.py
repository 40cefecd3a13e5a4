"""``episodica serve``: the memory over HTTP. Needs ``pip install 'episodica[server]'``.

A thin layer over :class:`AsyncMemorySystem`: checks the caller, converts JSON and calls one method.
Called by the command line only; ``app.create_app`` is the application.
"""
