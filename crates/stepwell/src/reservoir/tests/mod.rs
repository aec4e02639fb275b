mod exact;
mod plain;
mod robust;
