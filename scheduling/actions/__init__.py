"""Actions on schedules."""
