//! The memory system itself: ties the modules together, owns locks, queues and lifetimes.
