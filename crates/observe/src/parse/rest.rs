use super::reject::Reject;

/// The bytes not parsed yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest<'a> {
    /// The captured part.
    pub(super) bytes: &'a [u8],
    /// Length on the wire, in bytes; at least `bytes.len()`.
    pub(super) wire: usize,
}

/// The layer of a header, which determines the reject reason if it cannot be read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layer {
    /// Below IP, or between two IP headers.
    Link,
    /// IP and its extension headers.
    Ip,
    /// Above IP.
    Transport,
}

impl Layer {
    /// The capture ends inside the header.
    const fn truncated(self) -> Reject {
        match self {
            Self::Link => Reject::TruncatedLink,
            Self::Ip => Reject::TruncatedIp,
            Self::Transport => Reject::TruncatedTransport,
        }
    }

    /// The packet ends inside the header, or the header contradicts itself.
    pub(super) const fn malformed(self) -> Reject {
        match self {
            Self::Link => Reject::LinkHeader,
            Self::Ip => Reject::IpHeader,
            Self::Transport => Reject::TransportHeader,
        }
    }
}

impl<'a> Rest<'a> {
    /// The next `N` bytes, without consuming them.
    #[inline(always)]
    pub(super) fn peek<const N: usize>(&self, layer: Layer) -> Result<&'a [u8; N], Reject> {
        self.bytes.first_chunk().ok_or_else(|| self.missing(N, layer))
    }

    /// Consumes the next `N` bytes.
    #[inline(always)]
    pub(super) fn take<const N: usize>(&mut self, layer: Layer) -> Result<&'a [u8; N], Reject> {
        let (header, bytes) = self.bytes.split_first_chunk().ok_or_else(|| self.missing(N, layer))?;
        *self = Self { bytes, wire: self.wire - N };
        Ok(header)
    }

    /// Skips the next `length` bytes.
    #[inline(always)]
    pub(super) fn skip(&mut self, length: usize, layer: Layer) -> Result<(), Reject> {
        let bytes = self.bytes.get(length..).ok_or_else(|| self.missing(length, layer))?;
        *self = Self { bytes, wire: self.wire - length };
        Ok(())
    }

    /// Keeps at most the next `length` bytes: what follows them is padding or the trailer of an outer layer.
    #[inline(always)]
    pub(super) fn limit(&mut self, length: usize) {
        *self = Self { bytes: self.bytes.get(..length).unwrap_or(self.bytes), wire: self.wire.min(length) };
    }

    /// Keeps exactly the next `length` bytes, as stated by an IP header: more of them may have been cut off, or sent in
    /// other fragments, than the wire length suggests.
    #[inline(always)]
    pub(super) fn set_length(&mut self, length: usize) {
        *self = Self { bytes: self.bytes.get(..length).unwrap_or(self.bytes), wire: length };
    }

    /// Whether bytes are missing at the end.
    #[inline(always)]
    pub(super) const fn is_cut(&self) -> bool {
        self.bytes.len() < self.wire
    }

    /// Why `length` bytes cannot be read.
    #[cold]
    fn missing(&self, length: usize, layer: Layer) -> Reject {
        if self.wire < length { layer.malformed() } else { layer.truncated() }
    }
}

/// The 16-bit number at byte `at` of a header.
#[inline(always)]
pub(super) const fn u16_at<const N: usize>(header: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

/// The 32-bit number at byte `at` of a header.
#[inline(always)]
pub(super) const fn u32_at<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}
