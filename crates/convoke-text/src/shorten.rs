//! Shortens texts for display by cutting out the middle.
//!
//! Whoever wrote the text may want its end not to be read. So both ends are always there.

/// What stands where something was left out.
const GAP: &str = " … ";

/// The text in one line of at most so many characters: every run of white space is one space, and if it is too long, its middle
/// is left out.
///
/// ```
/// use convoke_text::one_line_of;
///
/// assert_eq!(one_line_of("rm -r build\n\n\nrm -r precious", 40), "rm -r build rm -r precious");
/// assert_eq!(one_line_of("rm -r aaaaaaaaaaaaaaaaaaaaaaaa precious", 21), "rm -r aaa … precious");
/// ```
#[must_use]
pub fn one_line_of(text: &str, longest: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = line.chars().count();
    if length <= longest {
        return line;
    }
    let kept = longest.saturating_sub(GAP.chars().count());
    let (first, last) = (kept.div_ceil(2), kept / 2);
    let beginning: String = line.chars().take(first).collect();
    let end: String = line.chars().skip(length - last).collect();
    format!("{}{GAP}{}", beginning.trim_end(), end.trim_start())
}
