//! The vocabulary: converts between texts and tokens.

use std::sync::{Arc, OnceLock};

use convoke_core::ModelError;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::vocab::VocabType;
use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use crate::grammar::invalid;
use crate::prompt::{ControlTokens, Piece};
use crate::sampling::{Sampler, Sampling};

/// A model's vocabulary.
pub(super) struct Vocabulary {
    model: Arc<LlamaModel>,
    control: ControlTokens,
    /// By token, whether it may be part of a reply: text, or the end.
    speakable: Vec<bool>,
    /// Knows how grammars and tokens go together. Takes some tenths of a second to make, and only some requests need it.
    grammars: OnceLock<Result<ParserFactory, String>>,
}

impl Vocabulary {
    pub(super) fn new(model: Arc<LlamaModel>) -> Self {
        let vocab = model.vocab();
        let mut control = Vec::new();
        let mut speakable = Vec::new();
        for token in (0..vocab.n_tokens()).map(LlamaToken) {
            let is_control = vocab.is_control(token);
            if is_control && let Ok(text) = String::from_utf8(vocab.token_to_piece(token, true, None)) {
                control.push(text);
            }
            speakable.push(!is_control || vocab.is_eog(token));
        }
        let control = ControlTokens::new(control);
        Self { model, control, speakable, grammars: OnceLock::new() }
    }

    /// Chooses the tokens of one reply.
    pub(super) fn sampler(&self, sampling: &Sampling, has_grammar: bool) -> Sampler {
        Sampler::new(sampling, &self.model, has_grammar)
    }

    pub(super) fn control(&self) -> &ControlTokens {
        &self.control
    }

    /// Whether a reply may have this token. One that marks who speaks next may not be written by the model itself.
    pub(super) fn speakable(&self, token: TokenId) -> bool {
        self.speakable.get(token as usize).copied().unwrap_or(false)
    }

    pub(super) fn ends_reply(&self, token: LlamaToken) -> bool {
        self.model.vocab().is_eog(token)
    }

    pub(super) fn bytes(&self, token: LlamaToken) -> Vec<u8> {
        self.model.vocab().token_to_piece(token, false, None)
    }

    /// The text of a token, whatever it is for; empty if there is no such token.
    pub(super) fn name(&self, token: LlamaToken) -> String {
        if token.0 < 0 {
            return String::new();
        }
        String::from_utf8_lossy(&self.model.vocab().token_to_piece(token, true, None)).into_owned()
    }

    /// A prompt's tokens.
    pub(super) fn tokens(&self, prompt: &[Piece]) -> Vec<LlamaToken> {
        let vocab = self.model.vocab();
        let mut tokens = Vec::new();
        for piece in prompt {
            let is_template = matches!(piece, Piece::Template(_));
            vocab.tokenize_into(piece.text().as_bytes(), &mut tokens, false, is_template);
        }
        // Templates that begin with the first token say so themselves.
        if vocab.should_add_bos() && tokens.first() != Some(&vocab.bos()) && vocab.bos().0 >= 0 {
            tokens.insert(0, vocab.bos());
        }
        tokens
    }

    /// Compiles a grammar.
    pub(super) fn matcher(&self, grammar: TopLevelGrammar) -> Result<Matcher, ModelError> {
        let factory = self.grammars.get_or_init(|| {
            let mut factory =
                ParserFactory::new_simple(&self.environment()).map_err(|error| error.to_string())?;
            factory.quiet().limits_mut().verbose_errors = false;
            Ok(factory)
        });
        let parser = factory.as_ref().map_err(|error| invalid(error.clone()))?.create_parser(grammar);
        let matcher = Matcher::new(parser);
        match matcher.get_error() {
            None => Ok(matcher),
            Some(reason) => Err(invalid(format!(
                "a schema of this request cannot be enforced: {}; leave out what is not supported",
                reason.lines().next().unwrap_or_default()
            ))),
        }
    }

    fn environment(&self) -> TokEnv {
        let vocab = self.model.vocab();
        let tokens = || (0..vocab.n_tokens()).map(LlamaToken);
        let words: Vec<_> = tokens()
            .map(|token| {
                let bytes = self.bytes(token);
                if !bytes.is_empty() {
                    return bytes;
                }
                // The mark of tokens that are no text.
                let mut marked = vec![TokTrie::SPECIAL_TOKEN_MARKER];
                marked.extend(vocab.token_to_piece(token, true, None));
                if marked.len() > 1 { marked } else { Vec::new() }
            })
            .collect();
        let first = if vocab.eot().0 >= 0 { vocab.eot() } else { vocab.eos() };
        let mut ends = vec![first.0.cast_unsigned()];
        ends.extend(
            tokens()
                .filter(|token| *token != first && vocab.is_eog(*token))
                .map(|token| token.0.cast_unsigned()),
        );
        let info = TokRxInfo::new(vocab.n_tokens().cast_unsigned(), ends[0]);
        let trie = TokTrie::from(&info, &words).with_eos_tokens(&ends);
        // Vocabularies of this kind split a text the same way wherever it stands.
        let canonical = matches!(vocab.vocab_type(), VocabType::BPE);
        Arc::new(Environment { model: Arc::clone(&self.model), trie, canonical })
    }
}

/// The vocabulary as grammars see it.
struct Environment {
    model: Arc<LlamaModel>,
    trie: TokTrie,
    canonical: bool,
}

impl TokenizerEnv for Environment {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, text: &[u8]) -> Vec<TokenId> {
        let tokens = self.model.vocab().tokenize(text, false, false);
        tokens.into_iter().map(|token| token.0.cast_unsigned()).collect()
    }

    fn tokenize_is_canonical(&self) -> bool {
        self.canonical
    }
}
