//! tud.
