//! jsonl.
