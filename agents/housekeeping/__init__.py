"""Housekeeping: archives, retention, and wake-ups for work that is overdue."""
