"""Questions whose answers are compared: one module for each subject."""
