//! The address for drivers: accepts connections within the server's limits.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::connection::talk;
use super::host::Bolt;
use super::routes::Routes;
use crate::access::HANDSHAKE;
use crate::channel::Peers;
use crate::served::Served;

/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// First byte of a client that speaks TLS.
const TLS: u8 = 0x16;

/// Accepts connections until the server ends.
pub(crate) async fn serve(
    listener: TcpListener,
    served: Arc<Served>,
    tls: Option<TlsAcceptor>,
    peers: Option<Peers>,
) {
    let Ok(address) = listener.local_addr() else { return };
    let places = Arc::new(Semaphore::new(served.limits.connections.max(1)));
    let bolt = Arc::new(Bolt::new(served, address, peers.map(Routes::new)));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (bolt, tls) = (Arc::clone(&bolt), tls.clone());
        tokio::spawn(async move {
            bolt.served.connections.fetch_add(1, Relaxed);
            if let Err(error) = welcome(Arc::clone(&bolt), stream, tls).await {
                tracing::debug!(%error, "a connection by Bolt ended");
            }
            bolt.served.connections.fetch_sub(1, Relaxed);
            drop(place);
        });
    }
}

/// Talks with a client, in secret if there is a certificate.
async fn welcome(
    bolt: Arc<Bolt>,
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
) -> Result<(), boltr::BoltError> {
    stream.set_nodelay(true)?;
    let peer = stream.peer_addr().ok();
    match tls {
        None => talk(bolt, stream, peer).await,
        Some(tls) => {
            let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
            let welcomed = tokio::time::timeout(HANDSHAKE, async {
                let mut first = [0];
                stream.peek(&mut first).await?;
                if first != [TLS] {
                    // An alert of TLS would look like a version of Bolt to the client.
                    return Err(std::io::ErrorKind::ConnectionRefused.into());
                }
                tls.accept(stream).await
            });
            talk(bolt, welcomed.await.map_err(late)??, peer).await
        }
    }
}
