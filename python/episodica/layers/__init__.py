"""The memory as a tree of texts in three layers, at ``cortex://`` and ``episodica://``.

``address`` reads and writes URIs, ``values`` has the results, ``texts`` the layers of a record,
``tree`` maps addresses to records, ``walk`` finds the way to an answer, ``folder`` writes the tree
into a directory and reads corrections back. Nothing is stored: all of it is a view of the records.
"""
