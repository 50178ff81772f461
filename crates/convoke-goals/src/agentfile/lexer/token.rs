//! Tokens, keywords and comments.

use std::borrow::Cow;
use std::fmt;

use crate::agentfile::Span;

/// A word, string, number or sign of an Agentfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// Its location.
    pub span: Span,
    /// What it says: of a string the text without quotes and escapes, of a variable the name without the dollar, of
    /// everything else what is written.
    pub text: Cow<'a, str>,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenKind {
    /// A reserved word.
    Keyword(Keyword),
    /// A name: `[A-Za-z_][A-Za-z0-9_-]*`, and no keyword.
    Ident,
    /// `"one line"` or `"""several lines"""`.
    String,
    /// `10` or `2.5`.
    Number,
    /// What follows `FROM`, up to the next space.
    Path,
    /// `$name` or `${name}`.
    Variable,
    /// `,`
    Comma,
    /// `->`
    Arrow,
    /// `:`
    Colon,
    /// `|`
    Bar,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `<`, `<=`, `>` or `>=`.
    Comparison(Comparison),
    /// The end of one or more lines, if anything follows.
    Newline,
    /// Something that means nothing.
    Illegal(Illegal),
    /// The end of the text.
    End,
}

/// A comparison of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// Returns it as it is written.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }
}

/// The kinds of illegal tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Illegal {
    /// The line ends before the string does.
    OpenString,
    /// The text ends before the string does.
    OpenTripleString,
    /// The `>` of an arrow whose `-` became part of a name: `foo->bar`.
    BrokenArrow,
    /// A character that has no meaning.
    Character(char),
}

macro_rules! keywords {
    ($($variant:ident $word:literal,)*) => {
        /// A reserved word. Written in capitals, always.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each is the word itself")]
        pub enum Keyword { $($variant,)* }

        impl Keyword {
            /// All of them.
            pub const ALL: &[Keyword] = &[$(Keyword::$variant,)*];

            /// Returns it as it is written.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The keyword that is written so.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

keywords! {
    Name "NAME",
    Input "INPUT",
    Agent "AGENT",
    Goal "GOAL",
    Converge "CONVERGE",
    Run "RUN",
    From "FROM",
    Using "USING",
    Within "WITHIN",
    Default "DEFAULT",
    Requires "REQUIRES",
    Supervised "SUPERVISED",
    Human "HUMAN",
    Unsupervised "UNSUPERVISED",
    Security "SECURITY",
}

/// A comment, from its `#` to the end of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment {
    /// Its location.
    pub span: Span,
    /// Whether there is nothing else in its line.
    pub own_line: bool,
}

impl Token<'_> {
    /// Whether it is this identifier.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Ident && self.text == word
    }
}

/// As it is named in messages: "expected a name, found the number `10`".
impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = shortened(&self.text);
        match self.kind {
            TokenKind::Keyword(_) => write!(f, "the keyword `{text}`"),
            TokenKind::Ident => write!(f, "`{text}`"),
            TokenKind::String => f.write_str("a text"),
            TokenKind::Number => write!(f, "the number `{text}`"),
            TokenKind::Path => write!(f, "the path `{text}`"),
            TokenKind::Variable => write!(f, "the variable `${text}`"),
            TokenKind::Newline => f.write_str("the end of the line"),
            TokenKind::End => f.write_str("the end of the file"),
            TokenKind::Illegal(Illegal::OpenString | Illegal::OpenTripleString) => {
                f.write_str("a text without a closing quote")
            }
            TokenKind::Illegal(Illegal::Character(character)) => write!(f, "`{}`", character.escape_debug()),
            _ => write!(f, "`{text}`"),
        }
    }
}

/// At most forty characters of a word, so that a message stays a line.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(40) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}
