"""Mutants of PTX kernels: see docs/Checks/Mutants.md."""
