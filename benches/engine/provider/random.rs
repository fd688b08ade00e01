//! Seeded hashing: every random choice is a pure function of its inputs, the same on every machine.

const K: u64 = 0x9e37_79b9_7f4a_7c15;

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// A hash of `bytes`.
pub fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = K ^ bytes.len() as u64;
    for word in words {
        hash = fold(hash ^ u64::from_le_bytes(*word), K | 1) ^ hash.rotate_left(23);
    }
    let tail = rest.iter().fold(0_u64, |tail, byte| tail << 8 | u64::from(*byte));
    mix(fold(hash ^ tail, 0xe703_7ed1_a0b4_28db), bytes.len() as u64)
}

/// Two numbers as one.
pub fn mix(a: u64, b: u64) -> u64 {
    let mut z = (a ^ b.rotate_left(32)).wrapping_add(K);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A uniform number in `[0, 1)`.
pub fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}
