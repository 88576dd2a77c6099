// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Invalid fragment layouts and fragment types.

// -----

// CASES
// Rejects syntax errors in layouts.
// expected-error @below {{expected '<'}}
#layout = #mxgpu.fragment_layout

// expected-error @below {{expected 'threads'}}
#layout = #mxgpu.fragment_layout<[128: 1 row]>

// expected-error @below {{expected ','}}
#layout = #mxgpu.fragment_layout<threads = [128: 1 row]>

// expected-error @below {{expected 'threads'}}
#layout = #mxgpu.fragment_layout<values = [32: 1 column], threads = [128: 1 row]>

// expected-error @below {{expected ':'}}
#layout = #mxgpu.fragment_layout<threads = [128], values = [32: 1 column]>

// expected-error @below {{expected valid keyword}}
#layout = #mxgpu.fragment_layout<threads = [128: 1], values = [32: 1 column]>

// expected-error @below {{expected integer value}}
#layout = #mxgpu.fragment_layout<threads = [128: rows], values = [32: 1 column]>

// expected-error @below {{expected a mode such as '4: 2 columns' or '8: 1 row', found 'lane'}}
#layout = #mxgpu.fragment_layout<threads = [128: 1 lane], values = [32: 1 column]>

// expected-error @below {{expected '['}}
#layout = #mxgpu.fragment_layout<threads = 128: 1 row, values = [32: 1 column]>

// expected-error @below {{expected integer value}}
#layout = #mxgpu.fragment_layout<threads = [128: 1 row,], values = [32: 1 column]>

// expected-error @below {{unbalanced '[' character in pretty dialect name}}
#layout = #mxgpu.fragment_layout<threads = [128: 1 row, values = [32: 1 column]>

// expected-error @below {{expected integer value}}
#layout = #mxgpu.fragment_layout<threads = [?: 1 row], values = [32: 1 column]>

// expected-error @below {{expected '>'}}
#layout = #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column], warps = 4>

// Rejects out-of-range numbers, sizes with an overflowing product, and oversized layouts.
// expected-error @below {{integer value too large}}
#layout = #mxgpu.fragment_layout<threads = [99999999999999999999: 1 row], values = [32: 1 column]>

// expected-error @below {{integer value too large}}
#layout = #mxgpu.fragment_layout<threads = [128: 99999999999999999999 rows], values = [32: 1 column]>

// fragment_layout C3
// expected-error @below {{expected at most 1024 threads, found more}}
#layout = #mxgpu.fragment_layout<threads = [4294967296: 1 row, 4294967296: 4294967296 rows], values = [32: 1 column]>

// fragment_layout C3
// expected-error @below {{expected at most 1024 threads, found more}}
#layout = #mxgpu.fragment_layout<threads = [9223372036854775807: 1 row], values = [32: 1 column]>

// fragment_layout C3
// expected-error @below {{expected at most 1024 values, found more}}
#layout = #mxgpu.fragment_layout<threads = [32: 1 row], values = [9223372036854775807: 1 column, 9223372036854775807: 9223372036854775807 columns]>

// fragment_layout C5
// expected-error @below {{expected a mode with a step of 32 rows, so that the modes enumerate each position once, found 9223372036854775807}}
#layout = #mxgpu.fragment_layout<threads = [32: 1 row, 4: 9223372036854775807 rows], values = [32: 1 column]>

// fragment_layout C3
// expected-error @below {{expected at most 1024 threads, found more}}
#layout = #mxgpu.fragment_layout<threads = [2048: 1 row], values = [32: 1 column]>

// fragment_layout C3
// expected-error @below {{expected at most 1024 threads, found more}}
#layout = #mxgpu.fragment_layout<threads = [32: 1 row, 64: 32 rows], values = [32: 1 column]>

// fragment_layout C3
// expected-error @below {{expected at most 1024 values, found more}}
#layout = #mxgpu.fragment_layout<threads = [128: 1 row], values = [1025: 1 column]>

// fragment_layout C3
// expected-error @below {{expected at most 1024 values, found more}}
#layout = #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column, 64: 32 columns]>

// fragment_layout C4
// expected-error @below {{expected at most 16 modes of threads, found 17}}
#layout = #mxgpu.fragment_layout<threads = [1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row, 1: 1 row], values = [32: 1 column]>

// Rejects modes whose size or step is too small.
// fragment_layout C1
// expected-error @below {{expected modes of threads with at least 1 value, found 0}}
#layout = #mxgpu.fragment_layout<threads = [0: 1 row], values = [32: 1 column]>

// fragment_layout C1
// expected-error @below {{expected modes of threads with at least 1 value, found -4}}
#layout = #mxgpu.fragment_layout<threads = [-4: 1 row], values = [32: 1 column]>

// fragment_layout C1
// expected-error @below {{expected modes of threads with at least 1 value, found -9223372036854775808}}
#layout = #mxgpu.fragment_layout<threads = [-9223372036854775808: 1 row], values = [32: 1 column]>

// fragment_layout C1
// expected-error @below {{expected modes of values with at least 1 value, found 0}}
#layout = #mxgpu.fragment_layout<threads = [128: 1 row], values = [0: 1 column]>

// fragment_layout C2
// expected-error @below {{expected modes of values with a step of at least 1, found 0}}
#layout = #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 0 columns]>

// fragment_layout C2
// expected-error @below {{expected modes of threads with a step of at least 0, found -1}}
#layout = #mxgpu.fragment_layout<threads = [128: -1 row], values = [32: 1 column]>

// fragment_layout C2
// expected-error @below {{expected modes of values with a step of at least 1, found -9223372036854775808}}
#layout = #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: -9223372036854775808 columns]>

// Rejects layouts with repeated or missing rows or columns.
// fragment_layout C5
// expected-error @below {{expected a mode with a step of 1 rows, so that the modes enumerate each position once, found 2}}
#layout = #mxgpu.fragment_layout<threads = [32: 2 rows], values = [32: 1 column]>

// fragment_layout C5
// expected-error @below {{expected a mode with a step of 32 rows, so that the modes enumerate each position once, found 31}}
#layout = #mxgpu.fragment_layout<threads = [32: 1 row, 4: 31 rows], values = [32: 1 column]>

// fragment_layout C5
// expected-error @below {{expected a mode with a step of 32 rows, so that the modes enumerate each position once, found 64}}
#layout = #mxgpu.fragment_layout<threads = [32: 1 row, 4: 64 rows], values = [32: 1 column]>

// fragment_layout C5
// expected-error @below {{expected a mode with a step of 32 rows, so that the modes enumerate each position once, found 1}}
#layout = #mxgpu.fragment_layout<threads = [32: 1 row, 4: 1 row], values = [32: 1 column]>

// fragment_layout C5
// expected-error @below {{expected a mode with a step of 32 columns, so that the modes enumerate each position once, found 128}}
#layout = #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column, 2: 128 columns]>

// fragment_layout C5
// expected-error @below {{expected a mode with a step of 4 columns, so that the modes enumerate each position once, found 1}}
#layout = #mxgpu.fragment_layout<threads = [4: 1 column, 8: 1 row], values = [2: 1 column]>

// fragment_layout C6
// expected-error @below {{expected a power-of-two size for every mode except the highest mode of rows, found 3}}
#layout = #mxgpu.fragment_layout<threads = [3: 1 row, 4: 3 rows], values = [32: 1 column]>

// fragment_layout C6
// expected-error @below {{expected a power-of-two size for every mode except the highest mode of columns, found 6}}
#layout = #mxgpu.fragment_layout<threads = [32: 1 row], values = [6: 1 column, 2: 6 columns]>

// Rejects mismatches between a fragment type and its layout.
// fragment C3
// expected-error @below {{expected the 'f4E2M1FN' elements of each thread to fill 32-bit words, found 4}}
func.func private @f(!mxgpu.fragment<128x4xf4E2M1FN, #mxgpu.fragment_layout<threads = [128: 1 row], values = [4: 1 column]>>)

// fragment C3
// expected-error @below {{expected the 'f6E3M2FN' elements of each thread to fill 32-bit words, found 6}}
func.func private @f(!mxgpu.fragment<128x6xf6E3M2FN, #mxgpu.fragment_layout<threads = [128: 1 row], values = [6: 1 column]>>)

// fragment C2
// expected-error @below {{expected the shape 128x32 of the layout, found 64, 32}}
func.func private @f(!mxgpu.fragment<64x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>)

// fragment C2
// expected-error @below {{expected the shape 128x32 of the layout, found 128}}
func.func private @f(!mxgpu.fragment<128xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>)

// fragment C2
// expected-error @below {{expected the shape 128x32 of the layout, found 128, 32, 1}}
func.func private @f(!mxgpu.fragment<128x32x1xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>)

// expected-error @below {{expected static shape}}
func.func private @f(!mxgpu.fragment<?x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>)

// fragment C2
// expected-error @below {{expected the shape 128x32 of the layout, found 128, 9223372036854775807}}
func.func private @f(!mxgpu.fragment<128x9223372036854775807xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>)

// expected-error @below {{invalid dimension}}
func.func private @f(!mxgpu.fragment<99999999999999999999x32xf32, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>)

// fragment C1
// expected-error @below {{expected integer or float elements, found 'index'}}
func.func private @f(!mxgpu.fragment<128x32xindex, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>)

// fragment C1
// expected-error @below {{expected integer or float elements, found 'vector<2xf32>'}}
func.func private @f(!mxgpu.fragment<128x32xvector<2xf32>, #mxgpu.fragment_layout<threads = [128: 1 row], values = [32: 1 column]>>)

// expected-error @below {{expected ','}}
func.func private @f(!mxgpu.fragment<128x32xf32>)

// expected-error @below {{invalid kind of attribute specified}}
func.func private @f(!mxgpu.fragment<128x32xf32, 1>)
