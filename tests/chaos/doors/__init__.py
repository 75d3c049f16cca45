"""R29: web processes and workers are killed under approvals over every protocol."""
