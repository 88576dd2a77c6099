def matmul(a, b, mx_specs=None):
    return ("the other package's matmul", a, b)
