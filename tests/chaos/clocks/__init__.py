"""R10 and R11: schedules among clocks that jump, and among beats that die and that are many."""
