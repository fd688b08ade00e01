//! Who issued a certificate: the one thing a person needs to know when it is not trusted.

/// Object identifiers 2.5.4.3 (common name) and 2.5.4.10 (organization), as DER contents.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];
const ORGANIZATION: [u8; 3] = [0x55, 0x04, 0x0a];

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xa0;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// The issuer's common name, or its organization, at most 100 characters; `None` for anything that is not a readable certificate.
///
/// **Source**: RFC 5280, section 4.1 (`Certificate`, `TBSCertificate`, `Name`).
pub(super) fn issuer(certificate: &[u8]) -> Option<String> {
    let (certificate, _) = inside(certificate, SEQUENCE)?;
    let (mut to_be_signed, _) = inside(certificate, SEQUENCE)?;
    if let Some((_, rest)) = inside(to_be_signed, VERSION) {
        to_be_signed = rest;
    }
    let (_, _serial, rest) = element(to_be_signed)?;
    let (_, _algorithm, rest) = element(rest)?;
    let (name, _) = inside(rest, SEQUENCE)?;
    part(name, COMMON_NAME).or_else(|| part(name, ORGANIZATION))
}

/// The value of one attribute of a `Name`.
fn part(mut name: &[u8], wanted: [u8; 3]) -> Option<String> {
    while let Some((set, rest)) = inside(name, SET) {
        name = rest;
        let Some((pair, _)) = inside(set, SEQUENCE) else { continue };
        let Some((identifier, value)) = inside(pair, OBJECT_IDENTIFIER) else { continue };
        if identifier == wanted {
            let (_, text, _) = element(value)?;
            let text: String = String::from_utf8_lossy(text).chars().filter(|c| !c.is_control()).take(100).collect();
            return (!text.is_empty()).then_some(text);
        }
    }
    None
}

/// The contents of the element that `bytes` begin with, if it has this tag, and what follows it.
fn inside(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, contents, rest) = element(bytes)?;
    (found == tag).then_some((contents, rest))
}

/// Tag, contents and what follows.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = if *first < 0x80 {
        (usize::from(*first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        if count == 0 || count > 4 {
            return None;
        }
        let (digits, rest) = rest.split_at_checked(count)?;
        (digits.iter().try_fold(0_usize, |sum, digit| sum.checked_mul(256)?.checked_add(usize::from(*digit)))?, rest)
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((*tag, contents, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_issuer_s_common_name_is_found() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "Example Ltd");
        params.distinguished_name.push(rcgen::DnType::CommonName, "Example Test CA");
        let certificate = params.self_signed(&key).unwrap();
        assert_eq!(issuer(certificate.der()).as_deref(), Some("Example Test CA"));
        assert_eq!(issuer(&certificate.der()[..40]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = issuer(&bytes);
        }
    }
}
