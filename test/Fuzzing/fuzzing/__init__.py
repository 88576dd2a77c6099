"""The fuzzers of test/Fuzzing/fuzz."""
