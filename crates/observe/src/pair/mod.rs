//! Headers to requests and responses that share an id.
