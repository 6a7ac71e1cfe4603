"""What nodes say of themselves: one sample, field by field."""
