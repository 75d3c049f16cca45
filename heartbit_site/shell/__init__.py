"""What all pages share, work pages and admin: the frame, live regions, times and icons."""
