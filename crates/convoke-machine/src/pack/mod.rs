//! What a pack says: the document, its templates and variables, and everything that is wrong with it.
