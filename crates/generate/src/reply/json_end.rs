/// Finds where a JSON text, an object or array, ends.
#[derive(Debug, Default)]
pub(super) struct JsonEnd {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl JsonEnd {
    /// Whether the text ends within `more` of it, which begins where the last one left off.
    pub(super) fn reached(&mut self, more: &str) -> bool {
        more.bytes().any(|byte| self.step(byte))
    }

    fn step(&mut self, byte: u8) -> bool {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}
