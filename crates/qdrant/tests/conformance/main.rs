//! What every vector index must do, and what Qdrant in particular must survive.
//!
//! Qdrant is the stand-in, which also fails as told; where `QDRANT_URL` (and `QDRANT_API_KEY`) name a real one,
//! everything that needs no failing on command runs against it as well, under names of its own that are removed
//! afterwards.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail their test")]

mod faults;
mod kills;
mod nearest;
mod passages;
mod revisions;
mod sites;
mod tls;
mod writing;
