//! The bytes of a report, in pieces: a long one never stands in one block, whose growth would hold it twice.

/// Bytes of a piece, about. Below what allocators set apart, so that a piece takes the place of what was freed before it.
const PIECE: usize = 64 << 10;

/// Bytes to be written one piece after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pieces(Vec<Vec<u8>>);

impl Pieces {
    /// The pieces in their order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// All of it in one block.
    pub fn concat(&self) -> Vec<u8> {
        self.0.concat()
    }

    /// Appends.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(last) if last.len().saturating_add(bytes.len()) <= last.capacity() => last.extend_from_slice(bytes),
            Some(_) | None => {
                let mut piece = Vec::with_capacity(bytes.len().max(PIECE));
                piece.extend_from_slice(bytes);
                self.0.push(piece);
            }
        }
    }

    /// A place at the end, to put something there later; what is appended from now on stands behind it.
    pub(super) fn place(&mut self) -> Place {
        self.0.push(Vec::new());
        Place(self.0.len() - 1)
    }

    /// Whether nothing was appended behind `place`.
    pub(super) fn ends_at(&self, place: &Place) -> bool {
        self.0.len() == place.0 + 1
    }

    /// Puts `bytes` there.
    pub(super) fn put(&mut self, place: Place, bytes: Vec<u8>) {
        if let Some(piece) = self.0.get_mut(place.0) {
            *piece = bytes;
        }
    }
}

/// Where something is still to stand.
#[derive(Debug)]
pub(super) struct Place(usize);

impl From<Vec<u8>> for Pieces {
    fn from(bytes: Vec<u8>) -> Self {
        Self(vec![bytes])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_later_stands_in_its_place() {
        let mut pieces = Pieces::default();
        let head = pieces.place();
        assert!(pieces.ends_at(&head));
        for _ in 0..3 {
            pieces.push(&[b'x'; PIECE / 2]);
        }
        assert!(!pieces.ends_at(&head));
        pieces.put(head, b"head".to_vec());
        let all = pieces.concat();
        assert!(all.starts_with(b"headx") && all.len() == 4 + PIECE / 2 * 3);
        assert_eq!(pieces.iter().count(), 3, "two halves are a piece");
    }
}
