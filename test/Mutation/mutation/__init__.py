"""Mutants of PTX kernels: see simulator/docs/Mutants.md."""
