"""Parts of every page, work pages and admin: the frame, live regions, times and icons."""
