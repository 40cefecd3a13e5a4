"""The endpoints, a module per kind of resource. Each calls one method of the memory."""
