"""Graphs that end alike in memory, in process and on the fleet; also the app of their functions."""
