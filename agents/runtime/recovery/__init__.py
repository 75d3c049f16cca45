"""Recovery from lost workers and silent loops: heartbeats, watches and isolated runs."""
