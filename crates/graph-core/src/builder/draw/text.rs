//! Names inside Mermaid labels.

use std::fmt::Write;

/// The text for use between double quotes: what could be taken for syntax, markup or Markdown becomes a character code.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if is_plain(character, rest.peek().copied()) {
            out.push(character);
        } else {
            let _ = write!(out, "#{};", u32::from(character));
        }
    }
    out
}

fn is_plain(character: char, next: Option<char>) -> bool {
    match character {
        // At the begin of a label, "1. " and "- " would make a list.
        '.' | '-' => next.is_some_and(|next| next != ' '),
        ' ' | '_' | '/' | ',' | '(' | ')' | '?' | '!' | '\'' | '=' => true,
        ascii if ascii.is_ascii() => ascii.is_ascii_alphanumeric(),
        other => !other.is_control() && !other.is_whitespace(),
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn plain_names_stay_as_they_are() {
        for name in ["check_order", "a-b.c/d (2), ok?", "größe", "🦀"] {
            assert_eq!(escaped(name), name);
        }
    }

    #[test]
    fn nothing_can_leave_the_label() {
        assert_eq!(escaped("a\"] --> b[\""), "a#34;#93; --#62; b#91;#34;");
        assert_eq!(escaped("<script>"), "#60;script#62;");
        assert_eq!(escaped("#quot; & `x`"), "#35;quot#59; #38; #96;x#96;");
        assert_eq!(escaped("one\ntwo\u{2028}three"), "one#10;two#8232;three");
        assert_eq!(escaped("1. first"), "1#46; first");
    }
}
