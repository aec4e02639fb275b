//! parquet.
