"""Files of a run: its folder, given files, and files of skills."""
