//! Runs over the stores of production: Postgres (where `KIWARI_TEST_DATABASE_URL` names one) and a stand-in for
//! Qdrant.

mod copies;
mod killed;
mod moving;
mod tidying;
mod world;
