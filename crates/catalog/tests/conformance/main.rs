//! One suite for every catalog: a SQLite file, and Postgres where `KIWARI_TEST_DATABASE_URL` names a server.

mod generations;
mod locks;
mod postgres;
mod replicas;
mod samples;
mod sites;
mod sqlite;
mod vectors;
