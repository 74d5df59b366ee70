"""Files, texts and commands of tt-mlir, of any age: binaries, descriptors and older spellings."""

NO_NATIVE = "the CPU functions of a .ttnn run by an interpreter when it is read, without an option: the compiled library in the file is never loaded"
