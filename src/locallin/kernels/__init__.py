"""All compiled code: arrays and scalars in, arrays out."""
