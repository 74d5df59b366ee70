"""Chooses program configs, memory and layouts by simulated time."""
