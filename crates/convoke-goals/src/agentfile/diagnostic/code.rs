//! Diagnostic codes.

pub use convoke_text::diagnostic::Severity;

macro_rules! codes {
    ($($severity:ident { $($variant:ident $name:literal $doc:literal,)* })*) => {
        /// The code of a diagnostic. Names are stable; there may be more of them in later versions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $doc] $variant,)*)*
            /// Something that is wrong with a file of another kind, by the name that it has there.
            Other(&'static str, Severity),
        }

        impl Code {
            /// All of those of Agentfiles.
            pub const ALL: &[Code] = &[$($(Code::$variant,)*)*];

            /// Its name, for machines.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $($(Self::$variant => $name,)*)* Self::Other(name, _) => name }
            }

            /// Returns what it means, in a line.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $($(Self::$variant => $doc,)*)*
                    Self::Other(..) => "Something that is wrong with a file of another kind.",
                }
            }

            /// Returns how bad it is.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $($(Self::$variant => Severity::$severity,)*)* Self::Other(_, severity) => severity }
            }
        }
    };
}

codes! {
    Error {
        NotText "not-text" "The file is not UTF-8.",
        NotAnAgentfile "not-an-agentfile" "The file is something else, such as the manifest of a swarm.",
        UnexpectedCharacter "unexpected-character" "A character has no meaning in the language.",
        OpenString "open-string" "A text has no closing quote.",
        UnknownStatement "unknown-statement" "A line begins with a word that begins no statement.",
        UnexpectedToken "unexpected-token" "Something stands where it has no meaning.",
        MissingName "missing-name" "A statement has no name, or a keyword for one.",
        BadName "bad-name" "A name is too long, or no text could refer to it.",
        MissingText "missing-text" "A goal or an agent does not say what it is about.",
        MissingValue "missing-value" "A word that needs something after it has nothing.",
        MissingClause "missing-clause" "A part that a statement cannot do without is missing.",
        MisplacedClause "misplaced-clause" "A statement has a part that belongs to other statements.",
        RepeatedClause "repeated-clause" "A statement has the same part twice.",
        BadValue "bad-value" "A value is not of the kind that is needed.",
        UnknownType "unknown-type" "A type has a name that no type has.",
        NoName "no-name" "The file has no NAME.",
        NoRun "no-run" "The file has no RUN.",
        DuplicateName "duplicate-name" "Two things of the same kind have the same name.",
        Contradiction "contradiction" "Two parts of the file contradict each other.",
        UndefinedAgent "undefined-agent" "A goal uses an agent that does not exist.",
        UndefinedGoal "undefined-goal" "A step runs a goal that does not exist.",
        UnknownTool "unknown-tool" "A list of tools names one that does not exist, and is nearly called like one that does.",
        UndefinedVariable "undefined-variable" "A text uses a variable that nothing defines.",
        UsedTooEarly "used-too-early" "A goal uses a value that no earlier goal is sure to have made.",
        NotAVariable "not-a-variable" "A text uses an agent, an agent's output or a step as a variable.",
        ConflictingTypes "conflicting-types" "The same variable has two types.",
        SecretShown "secret-shown" "A secret is where it would become visible.",
        NotFound "not-found" "What FROM names is not there.",
        CannotLoad "cannot-load" "What FROM names is there and cannot be used.",
        InvalidSkill "invalid-skill" "A folder is not a skill.",
        Circular "circular" "Files use each other in a circle.",
    }
    Warning {
        UnusedGoal "unused-goal" "No step runs a goal.",
        UnusedAgent "unused-agent" "No goal uses an agent.",
        UnusedInput "unused-input" "Nothing uses an input.",
        RepeatedAgent "repeated-agent" "A goal names the same agent twice.",
        ShadowedVariable "shadowed-variable" "Two things give a value to the same variable.",
        UnknownInFile "unknown-in-file" "A text from another file uses a variable that nothing defines.",
        ForeignVariable "foreign-variable" "A text uses a variable in the notation of another language.",
        StrayModifier "stray-modifier" "A SUPERVISED that looks like part of a statement is one of its own.",
        NoEffect "no-effect" "A part of a statement changes nothing.",
    }
}
