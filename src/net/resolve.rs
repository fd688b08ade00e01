//! Names → addresses, with the rules of [`super::address`] applied to what a name resolves to.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::{AddressError, forbidden, literal};

/// Hosts whose addresses are remembered for messages.
const REMEMBERED: usize = 256;

/// Resolves by the system, refuses link-local and metadata addresses, and remembers what was found.
#[derive(Default)]
pub(super) struct Resolver {
    found: Arc<Mutex<HashMap<String, Vec<IpAddr>>>>,
}

impl Resolver {
    /// What `host` last resolved to; a literal is its own address.
    pub(super) fn found(&self, host: &str) -> Vec<IpAddr> {
        if let Some(ip) = literal(host) {
            return vec![ip];
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.get(host).cloned().unwrap_or_default()
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = Arc::clone(&self.found);
        Box::pin(async move {
            let name = name.as_str().to_owned();
            let ips = lookup(&name).await?;
            if let Some(what) = ips.iter().copied().find_map(forbidden) {
                return Err(AddressError::Refused { host: name, what }.into());
            }
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            if found.len() < REMEMBERED || found.contains_key(&name) {
                found.insert(name, ips.clone());
            }
            let addresses: Addrs = Box::new(ips.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(addresses)
        })
    }
}

/// `localhost` is both loopback addresses, whatever the system's files say (RFC 6761, section 6.3).
async fn lookup(name: &str) -> std::io::Result<Vec<IpAddr>> {
    let plain = name.trim_end_matches('.').to_ascii_lowercase();
    if plain == "localhost" || plain.ends_with(".localhost") {
        return Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]);
    }
    Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
}
