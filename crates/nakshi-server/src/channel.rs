//! Connections to servers, with certificates and tokens.

use std::path::PathBuf;
use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

use crate::error::{Error, Result};

/// Adds the token to every call.
#[derive(Clone)]
pub(crate) struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// By what servers are trusted, and what they trust.
#[derive(Clone, Default)]
pub(crate) struct Peers {
    /// Certificates of the authorities, as PEM; connections are plain without.
    pub(crate) ca: Option<PathBuf>,
    /// Token that the servers know.
    pub(crate) token: Option<String>,
}

impl Peers {
    /// A connection to a server, which is made by its first call, within `time`; and what adds the token to
    /// calls. It belongs to the runtime in which it is made.
    ///
    /// With `(interval, word)`, a server that leaves a call unanswered is asked at this interval whether it
    /// lives, and the connection is lost if it gives no word in that time.
    pub(crate) fn channel(
        &self,
        address: &str,
        time: Duration,
        watched: Option<(Duration, Duration)>,
    ) -> Result<(Channel, Bearer)> {
        let scheme = if self.ca.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"));
        let wrong = |error: tonic::transport::Error| {
            let what = std::error::Error::source(&error).map(ToString::to_string);
            Error::parameter(format!("{error}: {}", what.unwrap_or_default()))
        };
        let mut endpoint = endpoint.map_err(wrong)?.connect_timeout(time).tcp_nodelay(true);
        // A call is often dropped when its last reply is there, and before its end has come: after a thousand of
        // these, the library would give the connection up.
        endpoint = endpoint.http2_max_local_error_reset_streams(None);
        if let Some((interval, word)) = watched {
            endpoint = endpoint.http2_keep_alive_interval(interval).keep_alive_timeout(word);
        }
        if let Some(path) = &self.ca {
            let pem = std::fs::read(path);
            let pem = pem.map_err(|error| nakshi_store::Error::io("read", path, error))?;
            let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
            endpoint = endpoint.tls_config(tls).map_err(wrong)?;
        }
        let token = self.token.as_ref().map(|token| {
            let value = MetadataValue::try_from(format!("Bearer {token}"));
            let mut value = value.map_err(|_| Error::parameter("a token is printable ASCII"))?;
            value.set_sensitive(true);
            Ok::<_, Error>(value)
        });
        Ok((endpoint.connect_lazy(), Bearer(token.transpose()?)))
    }
}
