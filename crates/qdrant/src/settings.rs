//! [`QdrantSettings`]: where Qdrant is and how it is told who calls.

use std::fmt;

use thiserror::Error;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Uri;

use crate::{InvalidPrefix, Prefix};

/// Where Qdrant is, and what is kept in it how.
#[derive(Clone, Debug)]
pub struct QdrantSettings {
    /// `http://` or `https://`, a host, and the port of its gRPC side; 6334 where none is given (6333 is REST).
    pub url: String,
    /// Sent with every call. Over `http://` anybody on the way can read it.
    pub api_key: Option<ApiKey>,
    /// Begins the name of every collection. What follows tells catalogs apart; those that are copies of each other
    /// need different prefixes.
    pub prefix: Prefix,
    /// Certificates in PEM that are trusted instead of the machine's, for a server with a CA of its own.
    pub ca_pem: Option<String>,
    /// Whether new collections keep their vectors on disk: slower, for more vectors than fit in memory.
    pub vectors_on_disk: bool,
}

/// A key. It never prints.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// Settings that can never work.
#[derive(Debug, Error)]
pub enum InvalidSettings {
    /// The address may hold a password: it is not repeated.
    #[error(
        "must be http:// or https://, a host and the gRPC port, and no more: http://qdrant:6334"
    )]
    Url,
    #[error("holds characters that no header can carry, such as a line break")]
    ApiKey,
    #[error("TLS cannot be set up for Qdrant; is there a readable set of root certificates?")]
    Tls(#[source] tonic::transport::Error),
    #[error(transparent)]
    Prefix(#[from] InvalidPrefix),
}

/// Where Qdrant listens for gRPC unless told otherwise.
const GRPC_PORT: u16 = 6334;

impl QdrantSettings {
    /// A Qdrant at `url` that asks for no key.
    #[must_use]
    pub fn at(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            api_key: None,
            prefix: Prefix::default(),
            ca_pem: None,
            vectors_on_disk: false,
        }
    }

    /// Whether a server could be reached with them, as far as can be told without trying.
    ///
    /// # Errors
    ///
    /// [`InvalidSettings::Url`] or [`InvalidSettings::ApiKey`].
    pub fn check(&self) -> Result<(), InvalidSettings> {
        self.uri()?;
        self.api_key.as_ref().map_or(Ok(()), |key| key.header().map(drop))
    }

    /// The address, with its port.
    pub(crate) fn uri(&self) -> Result<Uri, InvalidSettings> {
        self.url
            .trim()
            .parse()
            .ok()
            .and_then(|uri: Uri| with_port(&uri))
            .ok_or(InvalidSettings::Url)
    }
}

/// `None` where a part is missing, or there is one (a path, a user) that would be silently ignored.
fn with_port(uri: &Uri) -> Option<Uri> {
    let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"))?;
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
    let host = Some(authority.host()).filter(|host| !host.is_empty())?;
    let bare = uri.path_and_query().is_none_or(|rest| rest.as_str() == "/");
    let port = authority.port_u16().unwrap_or(GRPC_PORT);
    let written_port = authority.as_str().len() > host.len();
    let usable = bare && (authority.port_u16().is_some() || !written_port);
    usable.then(|| format!("{scheme}://{host}:{port}").parse().ok())?
}

impl ApiKey {
    /// The key in `text`, without the white space around it: files and shells leave line ends.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The header's value, which never prints either.
    pub(crate) fn header(&self) -> Result<MetadataValue<Ascii>, InvalidSettings> {
        let mut value: MetadataValue<Ascii> =
            self.0.parse().map_err(|_unsendable| InvalidSettings::ApiKey)?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: Option<&str>) {
        let uri = QdrantSettings::at(url).uri().ok().map(|uri| uri.to_string());
        assert_eq!(uri.as_deref(), expected, "{url:?}");
    }

    #[test]
    fn an_address_has_a_scheme_a_host_and_a_port() {
        check("http://localhost:6334", Some("http://localhost:6334/"));
        check(" https://qdrant.example:443/\n", Some("https://qdrant.example:443/"));
        check("http://qdrant", Some("http://qdrant:6334/"));
        check("http://[::1]", Some("http://[::1]:6334/"));
        check("http://[::1]:7000", Some("http://[::1]:7000/"));
        for wrong in [
            "",
            "qdrant",
            "qdrant:6334",
            "grpc://qdrant:6334",
            "http://",
            "http://:6334",
            "http://a:b",
            "http://a:99999",
            "http://user:secret@a:6334",
            "http://a:6334/path",
            "http://a/?q=1",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn a_key_never_prints() {
        let key = ApiKey::new(" hush-hush\n");
        let header = key.header().unwrap();
        assert_eq!(header.to_str().unwrap(), "hush-hush");
        let settings = QdrantSettings { api_key: Some(key), ..QdrantSettings::at("http://a") };
        let printed = format!("{settings:?} {header:?}");
        assert!(!printed.contains("hush"), "{printed}");
        for (url, key) in [("http://a", "hush\nhush"), ("http://u:hush@a", "k")] {
            let settings =
                QdrantSettings { api_key: Some(ApiKey::new(key)), ..QdrantSettings::at(url) };
            let error = settings.check().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
        }
    }
}
