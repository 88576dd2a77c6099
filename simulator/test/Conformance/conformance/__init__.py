"""Small kernels, one per instruction or mechanism, and what a GPU made of them."""
