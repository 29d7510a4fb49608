//! Lists that a read gives in one blob: see `packed!` in `query.rs`.
//!
//! Each item begins with numbers in decimal digits, each ended by a colon, and goes on with an id of 16 bytes and
//! contents whose lengths are among the numbers.

use bytes::Bytes;

/// Takes a packed list apart. `None` where it is not as it should be.
pub(crate) struct Packed {
    list: Bytes,
    at: usize,
}

impl Packed {
    pub(crate) fn new(list: Bytes) -> Self {
        Self { list, at: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.list.len()
    }

    pub(crate) fn number<N: TryFrom<u64>>(&mut self) -> Option<N> {
        let mut number: u64 = 0;
        let rest = self.list.get(self.at..)?;
        let digits = rest.iter().position(|byte| *byte == b':').filter(|digits| *digits > 0)?;
        for digit in &rest[..digits] {
            let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
            number = number.checked_mul(10)?.checked_add(digit.into())?;
        }
        self.at += digits + 1;
        N::try_from(number).ok()
    }

    pub(crate) fn id(&mut self) -> Option<[u8; 16]> {
        self.take(16)?.try_into().ok()
    }

    pub(crate) fn name<N: for<'n> TryFrom<&'n str>>(&mut self, len: usize) -> Option<N> {
        N::try_from(std::str::from_utf8(self.take(len)?).ok()?).ok()
    }

    /// Shares the memory of the list.
    pub(crate) fn bytes(&mut self, len: usize) -> Option<Bytes> {
        let start = self.at;
        self.take(len)?;
        Some(self.list.slice(start..self.at))
    }

    fn take(&mut self, len: usize) -> Option<&[u8]> {
        let start = self.at;
        let taken = self.list.get(start..start.checked_add(len)?)?;
        self.at = start + len;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use superstep_checkpoint::ChannelName;

    use super::*;

    #[test]
    fn what_was_packed_comes_back() {
        let mut packed = Packed::new(Bytes::from_static(b"12:3:2:0123456789abcdefa:b\0:"));
        assert_eq!(packed.number(), Some(12_i64));
        assert_eq!(packed.number(), Some(3_usize));
        assert_eq!(packed.number(), Some(2_u8));
        assert_eq!(packed.id(), Some(*b"0123456789abcdef"));
        assert_eq!(packed.name::<ChannelName>(3).map(|name| name.to_string()), Some("a:b".to_owned()));
        assert_eq!(packed.bytes(2), Some(Bytes::from_static(b"\0:")));
        assert!(packed.is_empty());
    }

    #[test]
    fn damage_is_no_panic() {
        let take = |list: &'static [u8]| Packed::new(Bytes::from_static(list));
        assert_eq!(take(b"").number::<u64>(), None);
        assert_eq!(take(b"12").number::<u64>(), None);
        assert_eq!(take(b":").number::<u64>(), None);
        assert_eq!(take(b"-1:").number::<u64>(), None);
        assert_eq!(take(b"18446744073709551616:").number::<u64>(), None);
        assert_eq!(take(b"300:").number::<u8>(), None);
        assert_eq!(take(b"0123456789abcde").id(), None);
        assert_eq!(take(b"ab").bytes(3), None);
        assert_eq!(take(b"\xff\xfe").name::<ChannelName>(2), None);
        assert_eq!(take(b"ab").bytes(usize::MAX), None);
    }
}
