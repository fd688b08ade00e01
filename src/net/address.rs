//! Which addresses may be called, and how an address is shown to people.
//!
//! A suite names addresses, and in a pull request its author is not trusted: what answers only on the machine's own link (cloud
//! metadata with its credentials) is refused, as a literal, after name resolution, and after every redirect. Loopback and private
//! ranges are allowed: that is where systems under test live.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

/// Why an address is not called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("`{0}` is no address: {1}")]
    Invalid(String, String),
    #[error("`{0}:` is not called: only http and https are")]
    Scheme(String),
    #[error("`{written}` hides the address {means}: write it in its usual form")]
    Disguised { written: String, means: String },
    #[error("`{host}` is {what}: link-local and cloud metadata addresses are never called")]
    Refused { host: String, what: &'static str },
}

/// Names that stand for a metadata service, wherever they resolve to.
const METADATA_NAMES: [&str; 5] =
    ["metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal"];

/// Reads an address and refuses what is never called. Names are not resolved here; the client checks again when it does.
///
/// # Errors
/// No http(s) address, an IP address in disguise (`http://2852039166/`), link-local and metadata addresses.
pub fn check_address(text: &str) -> Result<Url, AddressError> {
    let url = Url::parse(text).map_err(|error| AddressError::Invalid(without_secrets(text), error.to_string()))?;
    check_url(&url)?;
    let (Some(written), Some(means)) = (host_as_written(text), url.host_str()) else { return Ok(url) };
    let is_v4 = means.parse::<Ipv4Addr>().is_ok();
    if is_v4 && written.trim_end_matches('.') != means {
        return Err(AddressError::Disguised { written: written.to_owned(), means: means.to_owned() });
    }
    Ok(url)
}

/// The rules for an address that is already in its normal form.
///
/// # Errors
/// As [`check_address`], without the disguise.
pub(super) fn check_url(url: &Url) -> Result<(), AddressError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressError::Scheme(url.scheme().to_owned()));
    }
    let Some(host) = url.host_str() else {
        return Err(AddressError::Invalid(shown(url), "it has no host".to_owned()));
    };
    let refused = |what| Err(AddressError::Refused { host: host.to_owned(), what });
    match literal(host) {
        Some(ip) => match forbidden(ip) {
            Some(what) => refused(what),
            None => Ok(()),
        },
        None => {
            let name = host.trim_end_matches('.').to_ascii_lowercase();
            if METADATA_NAMES.contains(&name.as_str()) { refused("a cloud metadata service") } else { Ok(()) }
        }
    }
}

/// The IP address that a normalised host is, if it is one.
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Why an IP address is never called; `None` where it may be.
///
/// **Source**: RFC 3927 and RFC 4291 (link-local), and the metadata pages of AWS, Azure, Google, Alibaba and Oracle Cloud.
pub(super) fn forbidden(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => forbidden_v4(ip),
        IpAddr::V6(ip) => forbidden_v6(ip),
    }
}

fn forbidden_v4(ip: Ipv4Addr) -> Option<&'static str> {
    match ip.octets() {
        [169, 254, _, _] => Some("a link-local address"),
        [168, 63, 129, 16] => Some("the address of Azure's platform"),
        [100, 100, 100, 200] => Some("the metadata address of Alibaba Cloud"),
        [192, 0, 0, 192] => Some("the metadata address of Oracle Cloud"),
        _ => None,
    }
}

fn forbidden_v6(ip: Ipv6Addr) -> Option<&'static str> {
    let [a, b, c, d, e, f, g, h] = ip.segments();
    if a & 0xffc0 == 0xfe80 {
        return Some("a link-local address");
    }
    if (a, b) == (0xfd00, 0x0ec2) || (a, b, h) == (0xfd20, 0x00ce, 0x0254) {
        return Some("the address of a cloud metadata service");
    }
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        forbidden_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b, c, d, e, f) {
        // Mapped, compatible, and translated (RFC 6052) forms of an IPv4 address.
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0, 0, 0, 0, 0xffff, 0) | (0x64, 0xff9b, 0, 0, 0, 0) => v4(g, h),
        // 6to4.
        (0x2002, high, low, ..) => v4(high, low),
        _ => None,
    }
}

/// Scheme, host, port and path: no user, no query, no fragment, at most 200 characters.
pub fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let text = format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path());
    if text.chars().count() <= 200 { text } else { text.chars().take(199).chain(['…']).collect() }
}

/// An address that could not be read, without what may be secret in it.
fn without_secrets(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let text = match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => text.to_owned(),
    };
    text.chars().take(200).collect()
}

/// The host as it stands in the text, without user and port.
fn host_as_written(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.starts_with('[') {
        return host.split_once(']').map(|(host, _)| host.trim_start_matches('['));
    }
    Some(host.split_once(':').map_or(host, |(host, _)| host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn http_metadata_endpoints_are_refused_in_every_spelling() {
        let list = include_str!("../../fixtures/cases/http/metadata-addresses.txt");
        for line in list.lines().filter(|line| !line.trim().is_empty()) {
            let error = check_address(line).unwrap_err();
            assert!(!error.to_string().is_empty(), "{line}");
        }
        for line in [
            "http://[fe80::1]/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://[2002:a9fe:a9fe::]/",
            "http://METADATA.google.internal./",
        ] {
            assert!(matches!(check_address(line), Err(AddressError::Refused { .. })), "{line}");
        }
        assert!(matches!(check_address("http://0251.0376.0251.0376/"), Err(AddressError::Refused { .. })));
    }

    #[test]
    fn loopback_private_and_public_addresses_are_allowed() {
        for line in [
            "http://127.0.0.1:8000/query",
            "http://localhost:8000",
            "http://[::1]:8000/",
            "http://10.1.2.3/",
            "https://user:word@api.openai.com/v1",
            "http://192.168.0.1.",
        ] {
            assert!(check_address(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn neither_users_nor_queries_are_shown() {
        let url = check_address("https://user:pass@example.com:8443/a/b?token=keep-out#c").unwrap();
        assert_eq!(shown(&url), "https://example.com:8443/a/b");
        let error = check_address("http://user:pass@exa mple/?k=keep-out").unwrap_err().to_string();
        assert!(!error.contains("pass") && !error.contains("keep-out"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}") {
            let _ = check_address(&text);
            let _ = check_address(&format!("http://{text}"));
        }

        #[test]
        fn no_spelling_of_a_link_local_address_passes(low in any::<u16>()) {
            let ip = 0xa9fe_0000_u32 | u32::from(low);
            let octal: Vec<String> = ip.to_be_bytes().iter().map(|byte| format!("0{byte:o}")).collect();
            let texts = [
                format!("http://{}/", Ipv4Addr::from(ip)),
                format!("http://{ip}/"),
                format!("http://0x{ip:x}/"),
                format!("http://{}/", octal.join(".")),
                format!("http://[::ffff:{}]/", Ipv4Addr::from(ip)),
            ];
            for text in texts {
                prop_assert!(check_address(&text).is_err(), "{}", text);
            }
        }
    }
}
