"""Small kernels, one per instruction or mechanism, with golden results of a GPU."""
