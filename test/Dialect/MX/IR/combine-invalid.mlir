// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -split-input-file -verify-diagnostics

// Each function violates one constraint of docs/reference/Spec.md and is named after this constraint.

// -----

// TEMPLATE function
// SET function = none
func.func ${function} {
  // BLOCK body
  // END
  return
}

// -----

// CASES function body
// SET function = @group_rows_c1(%ids: memref<30x8xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>)
// expected-error @below {{'mx.group_rows' op expected all tensors or all memrefs, found 'memref<30x8xi32>' and 'tensor<240xi32>'}}
%g:4 = mx.group_rows ins(%ids : memref<30x8xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>

// SET function = @group_rows_c2(%ids: tensor<30x8xi32>, %r: tensor<240xi32>, %e: tensor<4xi32>)
// expected-error @below {{'mx.group_rows' op expected 4 outs (rows, slots, ends, count), found 2}}
%g:2 = mx.group_rows ins(%ids : tensor<30x8xi32>) outs(%r, %e : tensor<240xi32>, tensor<4xi32>) -> tensor<240xi32>, tensor<4xi32>

// SET function = @group_rows_c3(%ids: tensor<240xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>)
// expected-note @above {{ids is defined here}}
// expected-error @below {{'mx.group_rows' op expected ids of rank 2, found rank 1}}
%g:4 = mx.group_rows ins(%ids : tensor<240xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>

// SET function = @group_rows_c3_choices(%ids: tensor<30x?xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>)
// expected-note @above {{ids is defined here}}
// expected-error @below {{'mx.group_rows' op expected dimension 1 of ids, the number of choices, to be static and at least 1, found 'tensor<30x?xi32>'}}
%g:4 = mx.group_rows ins(%ids : tensor<30x?xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>

// SET function = @group_rows_c3_none(%ids: tensor<30x0xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>)
// expected-note @above {{ids is defined here}}
// expected-error @below {{'mx.group_rows' op expected dimension 1 of ids, the number of choices, to be static and at least 1, found 'tensor<30x0xi32>'}}
%g:4 = mx.group_rows ins(%ids : tensor<30x0xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>

// SET function = @group_rows_c4(%ids: tensor<30x8xi32>, %r: tensor<30x8xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>)
// expected-note @above {{rows is defined here}}
// expected-error @below {{'mx.group_rows' op expected rows of rank 1, found rank 2}}
%g:4 = mx.group_rows ins(%ids : tensor<30x8xi32>) outs(%r, %s, %e, %c : tensor<30x8xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<30x8xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>

// SET function = @group_rows_c4_count(%ids: tensor<30x8xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<1xi32>)
// expected-note @above {{count is defined here}}
// expected-error @below {{'mx.group_rows' op expected count of rank 0, found rank 1}}
%g:4 = mx.group_rows ins(%ids : tensor<30x8xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<1xi32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<1xi32>

// SET function = @group_rows_c5(%ids: tensor<30x8xi32>, %r: tensor<240xi32>, %s: tensor<239xi32>, %e: tensor<4xi32>, %c: tensor<i32>)
// expected-note @above {{slots is defined here}}
// expected-error @below {{'mx.group_rows' op expected dimension 0 of slots to be 240, found 239}}
%g:4 = mx.group_rows ins(%ids : tensor<30x8xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<239xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<239xi32>, tensor<4xi32>, tensor<i32>

// SET function = @group_rows_c6(%ids: tensor<30x8xi32>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<0xi32>, %c: tensor<i32>)
// expected-note @above {{ends is defined here}}
// expected-error @below {{'mx.group_rows' op expected at least 1 expert, found 0}}
%g:4 = mx.group_rows ins(%ids : tensor<30x8xi32>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<0xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<0xi32>, tensor<i32>

// SET function = @group_rows_c7(%ids: tensor<30x8xi32, #mx.ragged<groups = 4, align = 128>>, %r: tensor<240xi32>, %s: tensor<240xi32>, %e: tensor<4xi32>, %c: tensor<i32>)
// expected-note @above {{ids is defined here}}
// expected-error @below {{'mx.group_rows' op expected ids without encoding, found #mx.ragged<groups = 4, align = 128>}}
%g:4 = mx.group_rows ins(%ids : tensor<30x8xi32, #mx.ragged<groups = 4, align = 128>>) outs(%r, %s, %e, %c : tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>) -> tensor<240xi32>, tensor<240xi32>, tensor<4xi32>, tensor<i32>

// SET function = @combine_c1(%z: memref<300x48xbf16>, %rows: tensor<300xi32>, %o0: tensor<100x48xf32>)
// expected-error @below {{'mx.combine' op expected all tensors or all memrefs, found 'memref<300x48xbf16>' and 'tensor<300xi32>'}}
%r = mx.combine ins(%z : memref<300x48xbf16>) rows(%rows : tensor<300xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>

// SET function = @combine_c2(%z: tensor<300x48xbf16>, %rows: tensor<300xi32>, %o0: tensor<100x48xf32>, %o1: tensor<100x48xf32>)
// expected-error @below {{'mx.combine' op expected 1 operand in outs, found 2}}
%r:2 = mx.combine ins(%z : tensor<300x48xbf16>) rows(%rows : tensor<300xi32>) outs(%o0, %o1 : tensor<100x48xf32>, tensor<100x48xf32>) -> tensor<100x48xf32>, tensor<100x48xf32>

// SET function = @combine_c3(%z: tensor<2x300x48xbf16>, %rows: tensor<300xi32>, %o0: tensor<100x48xf32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.combine' op expected input of rank 2, found rank 3}}
%r = mx.combine ins(%z : tensor<2x300x48xbf16>) rows(%rows : tensor<300xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>

// SET function = @combine_c4(%z: tensor<300x48xbf16>, %rows: tensor<299xi32>, %o0: tensor<100x48xf32>)
// expected-note @above {{rows is defined here}}
// expected-error @below {{'mx.combine' op expected dimension 0 of rows to be 300, found 299}}
%r = mx.combine ins(%z : tensor<300x48xbf16>) rows(%rows : tensor<299xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>

// SET function = @combine_c4_columns(%z: tensor<300x48xbf16>, %rows: tensor<300xi32>, %o0: tensor<100x50xf32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.combine' op expected dimension 1 of outs to be 48, found 50}}
%r = mx.combine ins(%z : tensor<300x48xbf16>) rows(%rows : tensor<300xi32>) outs(%o0 : tensor<100x50xf32>) -> tensor<100x50xf32>

// SET function = @combine_c5(%z: tensor<300x48xbf16>, %rows: tensor<300xi32>, %g: tensor<0xi32>, %o0: tensor<100x48xf32>)
// expected-error @below {{'mx.combine' op expected at least 1 expert group, found 0}}
%r = mx.combine ins(%z : tensor<300x48xbf16>) rows(%rows : tensor<300xi32>) offsets(%g : tensor<0xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>

// SET function = @combine_c6(%z: tensor<300x48xbf16, #mx.ragged<groups = 4, align = 128>>, %rows: tensor<300xi32>, %o0: tensor<100x48xf32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.combine' op expected input without encoding, found #mx.ragged<groups = 4, align = 128>}}
%r = mx.combine ins(%z : tensor<300x48xbf16, #mx.ragged<groups = 4, align = 128>>) rows(%rows : tensor<300xi32>) outs(%o0 : tensor<100x48xf32>) -> tensor<100x48xf32>

// SET function = @gather_rows_c1(%x: tensor<30x8xf32>, %l: tensor<9xi32>, %o0: tensor<9x8xf32>, %o1: tensor<9x8xf32>)
// expected-error @below {{'mx.gather_rows' op expected 1 operand in outs, found 2}}
%r:2 = mx.gather_rows ins(%x : tensor<30x8xf32>) rows(%l : tensor<9xi32>) outs(%o0, %o1 : tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<9x8xf32>, tensor<9x8xf32>

// SET function = @gather_rows_c2(%x: tensor<30x8xf32>, %l: tensor<9x1xi32>, %o0: tensor<9x8xf32>)
// expected-note @above {{rows is defined here}}
// expected-error @below {{'mx.gather_rows' op expected rows of rank 1, found rank 2}}
%r = mx.gather_rows ins(%x : tensor<30x8xf32>) rows(%l : tensor<9x1xi32>) outs(%o0 : tensor<9x8xf32>) -> tensor<9x8xf32>

// SET function = @gather_rows_c3(%x: tensor<30xf32>, %l: tensor<9xi32>, %o0: tensor<9xf32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.gather_rows' op expected input of rank 2 or more, found 'tensor<30xf32>'}}
%r = mx.gather_rows ins(%x : tensor<30xf32>) rows(%l : tensor<9xi32>) outs(%o0 : tensor<9xf32>) -> tensor<9xf32>

// SET function = @gather_rows_c3_type(%x: tensor<30x8xf32>, %l: tensor<9xi32>, %o0: tensor<9x8xbf16>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.gather_rows' op expected outs with the element type 'f32' of input, found 'bf16'}}
%r = mx.gather_rows ins(%x : tensor<30x8xf32>) rows(%l : tensor<9xi32>) outs(%o0 : tensor<9x8xbf16>) -> tensor<9x8xbf16>

// SET function = @gather_rows_c3_rows(%x: tensor<30x8xf32>, %l: tensor<9xi32>, %o0: tensor<8x8xf32>)
// expected-note @above {{outs is defined here}}
// expected-error @below {{'mx.gather_rows' op expected dimension 0 of outs to be 9, found 8}}
%r = mx.gather_rows ins(%x : tensor<30x8xf32>) rows(%l : tensor<9xi32>) outs(%o0 : tensor<8x8xf32>) -> tensor<8x8xf32>

// SET function = @gather_rows_c3_columns(%x: tensor<30x?xf32>, %l: tensor<9xi32>, %o0: tensor<9x?xf32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.gather_rows' op expected rows of static size in input, found 'tensor<30x?xf32>'}}
%r = mx.gather_rows ins(%x : tensor<30x?xf32>) rows(%l : tensor<9xi32>) outs(%o0 : tensor<9x?xf32>) -> tensor<9x?xf32>

// SET function = @gather_rows_c5(%x: tensor<30x8xcomplex<f32>>, %l: tensor<9xi32>, %o0: tensor<9x8xcomplex<f32>>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.gather_rows' op expected numbers in input, with a last dimension of whole bytes, found 'tensor<30x8xcomplex<f32>>'}}
%r = mx.gather_rows ins(%x : tensor<30x8xcomplex<f32>>) rows(%l : tensor<9xi32>) outs(%o0 : tensor<9x8xcomplex<f32>>) -> tensor<9x8xcomplex<f32>>

// SET function = @gather_rows_c5_half(%x: tensor<30x2x3xf4E2M1FN>, %l: tensor<9xi32>, %o0: tensor<9x2x3xf4E2M1FN>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.gather_rows' op expected numbers in input, with a last dimension of whole bytes, found 'tensor<30x2x3xf4E2M1FN>'}}
%r = mx.gather_rows ins(%x : tensor<30x2x3xf4E2M1FN>) rows(%l : tensor<9xi32>) outs(%o0 : tensor<9x2x3xf4E2M1FN>) -> tensor<9x2x3xf4E2M1FN>

// SET function = @gather_rows_c4(%x: tensor<30x8xf32, #mx.ragged<groups = 4, align = 128>>, %l: tensor<9xi32>, %o0: tensor<9x8xf32>)
// expected-note @above {{input is defined here}}
// expected-error @below {{'mx.gather_rows' op expected input without encoding, found #mx.ragged<groups = 4, align = 128>}}
%r = mx.gather_rows ins(%x : tensor<30x8xf32, #mx.ragged<groups = 4, align = 128>>) rows(%l : tensor<9xi32>) outs(%o0 : tensor<9x8xf32>) -> tensor<9x8xf32>
