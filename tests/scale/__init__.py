"""Simulation of a fleet: the processors and slots that a load takes; checked against figures."""
