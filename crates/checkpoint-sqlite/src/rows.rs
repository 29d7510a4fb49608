//! Lists of rows as one argument of a statement.

/// A JSON array of texts, or nothing. Each text is a row: numbers with a fixed width, then one text of any length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows(String);

impl Rows {
    /// Adds a row: each number with its width in digits, at most 20. A number that is wider loses its first digits.
    pub(crate) fn push(&mut self, numbers: &[(u64, usize)], text: &str) {
        self.0.push_str(if self.0.is_empty() { "[\"" } else { ",\"" });
        for (number, width) in numbers {
            push_number(&mut self.0, *number, *width);
        }
        push_escaped(&mut self.0, text);
        self.0.push('"');
    }

    pub(crate) fn finish(mut self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        self.0.push(']');
        Some(self.0)
    }
}

/// Several times as fast as a format text, and there are a dozen in each row.
fn push_number(to: &mut String, mut number: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let digits = &mut digits[..width.min(20)];
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
    to.push_str(std::str::from_utf8(digits).unwrap_or_default());
}

fn push_escaped(to: &mut String, text: &str) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        return to.push_str(text);
    }
    let quoted = serde_json::Value::from(text).to_string();
    to.push_str(quoted.get(1..quoted.len() - 1).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_json() {
        let mut rows = Rows::default();
        assert_eq!(rows.clone().finish(), None);
        rows.push(&[(7, 3), (u64::MAX, 20), (0, 1)], "");
        let odd = "a\"b\\c\n\t\u{1}é🦀";
        rows.push(&[(1_234, 3)], odd);
        let list: Vec<String> = serde_json::from_str(&rows.finish().unwrap()).unwrap();
        assert_eq!(list, ["007184467440737095516150".to_owned(), format!("234{odd}")]);
    }
}
