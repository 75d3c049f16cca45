"""What Heartbit is made of: known vulnerabilities of the lock, and its bill of materials."""
