mod exact;
mod gates;
mod plain;
mod pyramids;
mod robust;
