"""Files, texts and commands of tt-mlir, of any age: binaries, descriptors and older spellings."""
