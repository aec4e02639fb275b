mod exact;
mod plain;
mod pyramids;
mod robust;
