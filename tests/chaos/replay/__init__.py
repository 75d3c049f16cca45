"""R19: recorded journals, replayed: at every point the loop decides as it did when it was recorded.

python -m tests.chaos.replay.record      makes runs of all shapes, and keeps their journals here
"""
