"""Mutants of PTX kernels: see simulator/docs/Checks/Mutants.md."""
