"""Crowd-Driving: through a junction full of cars whose ways nobody knows."""
