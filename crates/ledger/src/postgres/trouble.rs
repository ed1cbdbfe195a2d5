//! [`Trouble`]: why there is no connection to Postgres, as far as whoever sets things up would act on it.

use std::io;

use sqlx::error::DatabaseError;

use super::PgError;

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody listens at the address.
    Refused,
    /// The host's name has no address.
    UnknownHost,
    /// No way there, or no answer in time.
    Silent,
    /// The user exists not, or its password is another one.
    WrongPassword,
    /// The server's rules let this user not in from here, or only with TLS.
    NotLetIn,
    NoSuchDatabase,
    /// As many connections are open as the server allows.
    Full,
    /// It starts, stops or recovers.
    NotReady,
    /// TLS was asked for, and one of the two sides cannot do it, or its certificate is not trusted.
    Tls,
    /// What came back is not Postgres.
    NotPostgres,
    Other,
}

impl PgError {
    /// What stands between us and a connection.
    #[must_use]
    pub fn trouble(&self) -> Trouble {
        match self {
            Self::TimedOut => Trouble::Silent,
            Self::Connect(error) | Self::Read(error) => trouble(error),
            Self::Url(_)
            | Self::Migrate(_)
            | Self::Pending(_)
            | Self::Write(_)
            | Self::Floor { .. }
            | Self::Maintain(_) => Trouble::Other,
        }
    }
}

fn trouble(error: &sqlx::Error) -> Trouble {
    if let sqlx::Error::Io(error) = error {
        return of_io(error);
    }
    if let Some(code) = error.as_database_error().and_then(DatabaseError::code) {
        return of_code(&code);
    }
    if matches!(error, sqlx::Error::Tls(_)) {
        Trouble::Tls
    } else if matches!(error, sqlx::Error::Protocol(_)) {
        Trouble::NotPostgres
    } else {
        Trouble::Other
    }
}

/// What resolvers say has no kind of its own.
const RESOLVER: &str = "failed to lookup address";

const KINDS: [(io::ErrorKind, Trouble); 8] = [
    (io::ErrorKind::ConnectionRefused, Trouble::Refused),
    // A socket's file.
    (io::ErrorKind::NotFound, Trouble::Refused),
    (io::ErrorKind::TimedOut, Trouble::Silent),
    (io::ErrorKind::HostUnreachable, Trouble::Silent),
    (io::ErrorKind::NetworkUnreachable, Trouble::Silent),
    (io::ErrorKind::InvalidData, Trouble::Tls),
    (io::ErrorKind::UnexpectedEof, Trouble::NotPostgres),
    (io::ErrorKind::ConnectionReset, Trouble::NotPostgres),
];

fn of_io(error: &io::Error) -> Trouble {
    if error.to_string().contains(RESOLVER) {
        return Trouble::UnknownHost;
    }
    let kind = KINDS.into_iter().find(|(kind, _)| *kind == error.kind());
    kind.map_or(Trouble::Other, |(_, trouble)| trouble)
}

/// Postgres' own codes (appendix A of its manual).
fn of_code(code: &str) -> Trouble {
    match code {
        "28P01" => Trouble::WrongPassword,
        "28000" => Trouble::NotLetIn,
        "3D000" => Trouble::NoSuchDatabase,
        "53300" => Trouble::Full,
        "57P01" | "57P02" | "57P03" => Trouble::NotReady,
        _ => Trouble::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_errors_are_told_apart() {
        let io = |kind: io::ErrorKind| trouble(&sqlx::Error::Io(kind.into()));
        assert_eq!(io(io::ErrorKind::ConnectionRefused), Trouble::Refused);
        assert_eq!(io(io::ErrorKind::HostUnreachable), Trouble::Silent);
        assert_eq!(io(io::ErrorKind::UnexpectedEof), Trouble::NotPostgres);
        let lookup = io::Error::other("failed to lookup address information: unknown");
        assert_eq!(trouble(&sqlx::Error::Io(lookup)), Trouble::UnknownHost);
        assert_eq!(PgError::TimedOut.trouble(), Trouble::Silent);
        let codes = [("28P01", Trouble::WrongPassword), ("57P03", Trouble::NotReady)];
        for (code, expected) in codes {
            assert_eq!(of_code(code), expected);
        }
    }
}
