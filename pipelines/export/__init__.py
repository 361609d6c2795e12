"""What trainers read: bytes are moved once, from the store through one shuffle into finished files."""
