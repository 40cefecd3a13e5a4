"""Other systems' interfaces over ``episodica``, so that scripts written for them run as they are."""
