"""The real package's second name for helpers of older programs: `tt_lib.utils`."""
