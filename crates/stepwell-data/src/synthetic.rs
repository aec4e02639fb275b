//! synthetic.
