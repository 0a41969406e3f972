"""Crowd-Driving in SUMO: other drivers than the model's, and a car with tyres whose wheels take time to turn."""
