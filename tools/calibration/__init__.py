"""How far the clock is from measured times, and the fit of its constants to them. Not part of the wheel."""
