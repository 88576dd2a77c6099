def quantize_bfloat(x, mx_specs):
    return ("the other package's bfloat16", x)
