"""The parts of test/Fuzzing/fuzz."""
