//! Line numbers in a text.

/// Counts the lines before places that follow each other, so that each byte is looked at once.
pub(crate) struct LineCount<'a> {
    text: &'a [u8],
    /// The byte up to which lines are counted.
    at: usize,
    /// Its line, counted from 1.
    line: usize,
}

impl<'a> LineCount<'a> {
    /// Begins at the first byte.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// The line of the byte at `offset`, which is not before the last one asked for.
    pub(crate) fn at(&mut self, offset: usize) -> usize {
        let offset = offset.clamp(self.at, self.text.len());
        self.line += self.text[self.at..offset].iter().filter(|&&byte| byte == b'\n').count();
        self.at = offset;
        self.line
    }
}
