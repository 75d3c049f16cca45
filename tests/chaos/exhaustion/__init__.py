"""R21: what everybody shares is used up: by one workspace, on the disk, and in a process."""
