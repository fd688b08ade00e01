//! Proxies as the environment names them: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, upper or lower case.
//!
//! `NO_PROXY` lists names (which stand for their subdomains too, with or without a leading dot), addresses, networks (`10.0.0.0/8`),
//! IPv6 in brackets or without, each with or without a port, or `*`. Loopback never goes through a proxy.

use std::net::IpAddr;

use ipnet::IpNet;
use reqwest::Url;

use super::address::literal;
use super::tls::ClientError;
use crate::domain::Env;

/// Which proxy an address goes through.
#[derive(Clone, Debug, Default)]
pub(super) struct Proxies {
    http: Option<Url>,
    https: Option<Url>,
    bypass: Vec<Bypass>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Bypass {
    Everything,
    Network(IpNet, Option<u16>),
    /// In lower case, without dots around it.
    Name(String, Option<u16>),
}

impl Proxies {
    /// # Errors
    /// A variable that holds no address of an http proxy; its value, which may hold a password, is not shown.
    pub(super) fn from_env(env: &Env) -> Result<Self, ClientError> {
        let all = proxy(env, "ALL_PROXY")?;
        Ok(Self {
            http: proxy(env, "HTTP_PROXY")?.or_else(|| all.clone()),
            https: proxy(env, "HTTPS_PROXY")?.or(all),
            bypass: variable(env, "NO_PROXY").unwrap_or_default().split(',').filter_map(bypass).collect(),
        })
    }

    /// The proxy for `url`; `None`: connect directly.
    pub(super) fn for_url(&self, url: &Url) -> Option<Url> {
        let proxy = match url.scheme() {
            "https" => self.https.as_ref()?,
            _ => self.http.as_ref()?,
        };
        let host = url.host_str()?.trim_end_matches('.').to_ascii_lowercase();
        let ip = literal(&host);
        let local = ip.is_some_and(|ip| ip.is_loopback()) || host == "localhost" || host.ends_with(".localhost");
        let port = url.port_or_known_default();
        (!local && !self.bypass.iter().any(|rule| rule.covers(&host, ip, port))).then(|| proxy.clone())
    }
}

impl Bypass {
    fn covers(&self, host: &str, ip: Option<IpAddr>, port: Option<u16>) -> bool {
        let same_port = |wanted: &Option<u16>| wanted.is_none() || *wanted == port;
        match self {
            Self::Everything => true,
            Self::Network(network, wanted) => same_port(wanted) && ip.is_some_and(|ip| network.contains(&ip)),
            Self::Name(name, wanted) => {
                let below = || host.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.'));
                same_port(wanted) && (host == name || below())
            }
        }
    }
}

fn variable<'e>(env: &'e Env, name: &str) -> Option<&'e str> {
    env.get(name).or_else(|| env.get(&name.to_ascii_lowercase()))
}

fn proxy(env: &Env, name: &str) -> Result<Option<Url>, ClientError> {
    let Some(value) = variable(env, name) else { return Ok(None) };
    let address = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    match Url::parse(&address) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(Some(url)),
        Ok(url) if url.scheme().starts_with("socks") => Err(ClientError::new(format!(
            "{name} names a SOCKS proxy, which is not supported: name an http proxy, or unset the variable"
        ))),
        Ok(_) | Err(_) => {
            Err(ClientError::new(format!("{name} does not hold the address of a proxy (http://host:port)")))
        }
    }
}

fn bypass(entry: &str) -> Option<Bypass> {
    let entry = entry.trim();
    if entry.is_empty() {
        return None;
    }
    if entry == "*" {
        return Some(Bypass::Everything);
    }
    let network = |text: &str| text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    if let Some(network) = network(entry) {
        return Some(Bypass::Network(network, None));
    }
    if let Some((inside, after)) = entry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let port = after.strip_prefix(':').and_then(|port| port.parse().ok());
        return network(inside).map(|network| Bypass::Network(network, port));
    }
    let (host, port) = match entry.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse().ok()?)),
        None => (entry, None),
    };
    if let Some(network) = network(host) {
        return Some(Bypass::Network(network, port));
    }
    let name = host.trim_start_matches("*.").trim_matches('.').to_ascii_lowercase();
    (!name.is_empty()).then_some(Bypass::Name(name, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn proxied(no_proxy: &str, url: &str) -> bool {
        let env = Env::from_pairs([
            ("HTTP_PROXY", "http://u:p@proxy:3128"),
            ("https_proxy", "proxy:3129"),
            ("NO_PROXY", no_proxy),
        ]);
        Proxies::from_env(&env).unwrap().for_url(&Url::parse(url).unwrap()).is_some()
    }

    #[test]
    fn no_proxy_is_honoured_with_host_suffix_port_network_and_ipv6() {
        for (rules, url, through) in [
            ("", "http://example.com/", true),
            ("example.com", "http://example.com/", false),
            ("example.com", "https://api.example.com/", false),
            ("example.com", "http://notexample.com/", true),
            (".example.com", "http://api.example.com/", false),
            ("example.com:8080", "http://example.com:8080/", false),
            ("example.com:8080", "http://example.com/", true),
            ("a, 10.0.0.0/8 ,b", "http://10.9.8.7/", false),
            ("10.0.0.0/8", "http://11.9.8.7/", true),
            ("192.168.1.5:81", "http://192.168.1.5:81/", false),
            ("[fd00::1]:8080", "http://[fd00::1]:8080/", false),
            ("[fd00::1]:8080", "http://[fd00::1]/", true),
            ("fd00::/8", "http://[fd12::1]/", false),
            ("fd00::1", "http://[fd00::1]:99/", false),
            ("*", "http://example.com/", false),
            ("", "http://127.0.0.1:8000/", false),
            ("", "http://localhost:8000/", false),
        ] {
            assert_eq!(proxied(rules, url), through, "{rules} {url}");
        }
    }

    #[test]
    fn a_broken_proxy_is_named_without_its_value() {
        for value in ["socks5://u:secret@host:1", "http://", "http://u:secret@:bad"] {
            let error = Proxies::from_env(&Env::from_pairs([("ALL_PROXY", value)])).unwrap_err().to_string();
            assert!(error.contains("ALL_PROXY") && !error.contains("secret"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_list_is_read(text in ".{0,60}") {
            let env = Env::from_pairs([("HTTP_PROXY", "proxy"), ("NO_PROXY", text.as_str())]);
            prop_assert!(Proxies::from_env(&env).is_ok());
        }
    }
}
