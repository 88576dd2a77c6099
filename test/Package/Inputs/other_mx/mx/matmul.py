def matmul(a, b, mx_specs=None):
    return ("the other package's product", a, b)
