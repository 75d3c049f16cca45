"""Files of agents: a folder of the workspace, or a bucket of an S3-compatible storage."""
