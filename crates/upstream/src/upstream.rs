//! [`Upstream`]: one far side.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::{Call, Fault, FaultKind};
use reqwest::header::{ACCEPT, CONTENT_TYPE, DATE, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, Url};

use crate::auth::{AuthHeader, Unsendable};
use crate::body::{self, LONGEST_ERROR};
use crate::classify::judged_of_status;
use crate::redact::redact;
use crate::transport::fault_of;
use crate::watch::{Ticket, Watch};
use crate::{
    Auth, BreakerSettings, BreakerState, Counts, ErrorKind, Exchange, Http, UpstreamError,
};

/// What a call is named to the far side, so that its logs can be matched with ours.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const ATTEMPT: HeaderName = HeaderName::from_static("x-attempt");

/// How long the words of an error are waited for once its status is known.
const ERROR_WAIT: Duration = Duration::from_millis(250);

/// One far side: where it is, how we prove who we are, its breaker and its accounts.
///
/// No header tells it the deadline: the one header that some know refuses any below ten seconds. It learns of
/// it by the connection's end.
pub struct Upstream {
    http: Http,
    /// Without a slash at its end.
    base: String,
    auth: Auth,
    key_header: Result<Option<AuthHeader>, Unsendable>,
    watch: Arc<Watch>,
}

impl Upstream {
    /// The far side at `base`; the paths of calls are put behind it.
    #[must_use]
    pub fn new(http: Http, name: &str, base: Url, auth: Auth, breaker: BreakerSettings) -> Self {
        let mut base = String::from(base);
        base.truncate(base.trim_end_matches('/').len());
        let key_header = auth.header();
        Self { http, base, auth, key_header, watch: Arc::new(Watch::new(name, breaker)) }
    }

    /// What logs and reports call it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.watch.name()
    }

    /// Whether calls go through.
    #[must_use]
    pub fn breaker_state(&self) -> BreakerState {
        self.watch.breaker_state()
    }

    /// What became of its calls.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.watch.counts()
    }

    /// Posts a JSON `body`; the reply's whole body.
    ///
    /// # Errors
    ///
    /// A [`Fault`], whose source is an [`UpstreamError`] unless time ran out.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection, or resets the stream.
    pub async fn post(&self, path: &str, body: Vec<u8>, call: &Call) -> Result<Bytes, Fault> {
        let body = Bytes::from(body);
        let request = self.posting(path, &body, "application/json", call)?;
        self.exchange(request, &body, call).await.map(|(reply, _date)| reply)
    }

    /// The whole body of what is at `path`.
    ///
    /// # Errors
    ///
    /// As of [`post`](Self::post).
    ///
    /// # Cancel safety
    ///
    /// As of [`post`](Self::post).
    pub async fn get(&self, path: &str, call: &Call) -> Result<Bytes, Fault> {
        self.get_dated(path, call).await.map(|(reply, _date)| reply)
    }

    /// The same, with the reply's `Date`: what the far side's clock said, in whole seconds.
    ///
    /// # Errors
    ///
    /// As of [`post`](Self::post).
    ///
    /// # Cancel safety
    ///
    /// As of [`post`](Self::post).
    pub async fn get_dated(
        &self,
        path: &str,
        call: &Call,
    ) -> Result<(Bytes, Option<HeaderValue>), Fault> {
        let request = self.request(Method::GET, path, call)?;
        self.exchange(request, &Bytes::new(), call).await
    }

    /// Posts a JSON `body` and waits for the head of a reply that is streamed.
    ///
    /// # Errors
    ///
    /// As of [`post`](Self::post).
    ///
    /// # Cancel safety
    ///
    /// As of [`post`](Self::post); so does dropping the [`Exchange`].
    pub async fn open(&self, path: &str, body: Vec<u8>, call: &Call) -> Result<Exchange, Fault> {
        let body = Bytes::from(body);
        let request = self.posting(path, &body, "text/event-stream", call)?;
        let ticket = self.admit(call)?;
        match call.deadline.run(self.accepted(request, &body, call)).await {
            Ok(Ok(response)) => Ok(Exchange::new(response, call.deadline, ticket)),
            Ok(Err(fault)) => Err(ticket.failed_with(fault)),
            Err(out_of_time) => Err(ticket.failed_with(out_of_time.into())),
        }
    }

    /// Opens a connection and leaves it in the pool, so that the next call need not wait for one. What the
    /// far side replies does not matter, and the call is in no account.
    ///
    /// # Errors
    ///
    /// A [`Fault`], if none could be opened.
    pub async fn warm(&self, call: &Call) -> Result<(), Fault> {
        let request = self.request(Method::GET, "/", call)?;
        let exchange = async {
            let mut response = request.send().await.map_err(fault_of)?;
            // Read to its end, or the connection would not be used again.
            body::fill(&mut response, LONGEST_ERROR).await.map(|_page| ())
        };
        call.deadline.run(exchange).await?
    }

    fn admit(&self, call: &Call) -> Result<Ticket, Fault> {
        if call.deadline.remaining().is_zero() {
            return Err(deadline::OutOfTime.into());
        }
        self.watch.admit()
    }

    async fn exchange(
        &self,
        request: RequestBuilder,
        sent: &Bytes,
        call: &Call,
    ) -> Result<(Bytes, Option<HeaderValue>), Fault> {
        let mut ticket = self.admit(call)?;
        let whole = async {
            let response = self.accepted(request, sent, call).await?;
            let date = response.headers().get(DATE).cloned();
            Ok((body::whole(response, || ticket.heard()).await?, date))
        };
        match call.deadline.run(whole).await {
            Ok(Ok(reply)) => {
                ticket.succeeded();
                Ok(reply)
            }
            Ok(Err(fault)) => Err(ticket.failed_with(fault)),
            Err(out_of_time) => Err(ticket.failed_with(out_of_time.into())),
        }
    }

    /// The response, if it is one that was hoped for.
    async fn accepted(
        &self,
        request: RequestBuilder,
        sent: &Bytes,
        call: &Call,
    ) -> Result<Response, Fault> {
        let mut response = request.send().await.map_err(fault_of)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let words = words_of(&mut response, call).await;
        let words = self.auth.out_of(&String::from_utf8_lossy(&words));
        let mut judged =
            judged_of_status(response.status().as_u16(), response.headers(), words.as_bytes());
        judged.error.message = redact(&judged.error.message, sent);
        Err(judged.into())
    }

    fn posting(
        &self,
        path: &str,
        body: &Bytes,
        accept: &'static str,
        call: &Call,
    ) -> Result<RequestBuilder, Fault> {
        let request = self.request(Method::POST, path, call)?.header(ACCEPT, accept);
        Ok(request.header(CONTENT_TYPE, "application/json").body(body.clone()))
    }

    fn request(&self, method: Method, path: &str, call: &Call) -> Result<RequestBuilder, Fault> {
        let auth = self.key_header.as_ref().map_err(|Unsendable| unsendable_key())?;
        let address = format!("{}/{}", self.base, path.trim_start_matches('/'));
        let request = self.http.client().request(method, address);
        let request = request.header(REQUEST_ID, name_of(call)).header(ATTEMPT, call.attempt);
        Ok(match auth {
            Some((name, value)) => request.header(name, value),
            None => request,
        })
    }
}

impl fmt::Debug for Upstream {
    /// Without its address, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// What an error's body says, as far as it comes within a moment.
async fn words_of(response: &mut Response, call: &Call) -> Bytes {
    let moment = call.deadline.slice(ERROR_WAIT, Duration::ZERO);
    let read = moment.run(body::fill(response, LONGEST_ERROR)).await;
    read.unwrap_or_else(|_late| Ok(Bytes::new())).unwrap_or_default()
}

/// As a header can carry it; clients name their requests as they like.
fn name_of(call: &Call) -> HeaderValue {
    let name = call.request.as_str();
    HeaderValue::from_str(name).unwrap_or_else(|_invalid| {
        let plain: String = name.chars().filter(char::is_ascii_graphic).collect();
        HeaderValue::from_str(&plain).expect("graphic ASCII fits a header")
    })
}

fn unsendable_key() -> Fault {
    let message = "the key has characters that no header can carry";
    Fault::new(FaultKind::Error, UpstreamError::new(ErrorKind::BadKey, None, message))
}
