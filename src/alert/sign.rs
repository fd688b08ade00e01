//! HMAC-SHA256 (RFC 2104), with which two chats want messages signed.

use base64::Engine as _;
use sha2::{Digest as _, Sha256};

const BLOCK: usize = 64;

/// Of any key and message; 32 bytes.
fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut whole = if key.len() > BLOCK { Sha256::digest(key).to_vec() } else { key.to_vec() };
    whole.resize(BLOCK, 0);
    let padded = |pad: u8| whole.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>();
    let inner = Sha256::digest([padded(0x36), message.to_vec()].concat());
    Sha256::digest([padded(0x5c), inner.to_vec()].concat()).to_vec()
}

/// DingTalk: the secret is the key, what is signed is `timestamp` (milliseconds), a line end and the secret.
/// Source: open.dingtalk.com, "Custom robot security settings", sign.
pub(super) fn dingtalk(secret: &str, timestamp: i64) -> String {
    encoded(&hmac(secret.as_bytes(), format!("{timestamp}\n{secret}").as_bytes()))
}

/// Feishu: `timestamp` (seconds), a line end and the secret are the key, and nothing is signed.
/// Source: open.feishu.cn, "Custom bot usage guide", signature verification.
pub(super) fn feishu(secret: &str, timestamp: i64) -> String {
    encoded(&hmac(format!("{timestamp}\n{secret}").as_bytes(), b""))
}

fn encoded(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, cases 1, 2 and 6 (a key longer than a block).
    #[test]
    fn it_is_the_standard_s() {
        let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(
            hex(hmac(&[0x0b; 20], b"Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            hex(hmac(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex(hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }
}
