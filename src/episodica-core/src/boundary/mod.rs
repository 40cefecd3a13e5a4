//! Where one episode ends and the next begins.
