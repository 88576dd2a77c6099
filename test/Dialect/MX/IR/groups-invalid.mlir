// RUN: %expand_cases %s %t.mlir
// RUN: mx-opt %t.mlir -mx-decompose-groups -split-input-file -verify-diagnostics

// Each function violates one constraint of docs/reference/Spec.md and is named
// after this constraint.

// -----

// CASES
// expected-error @below {{'mx.group' op expected a size of 1 to 1024, found 0}}
mx.group @ep size = 0 tokens = 4
func.func private @group_c1()

// expected-error @below {{'mx.group' op expected a size of 1 to 1024, found 1025}}
mx.group @ep size = 1025 tokens = 4
func.func private @group_c1_many()

// expected-error @below {{'mx.group' op expected at least 1 token per rank and at most 2147483647 tokens in total, found 0 for each of 2 ranks}}
mx.group @ep size = 2 tokens = 0
func.func private @group_c2()

// expected-error @below {{'mx.group' op expected at least 1 token per rank and at most 2147483647 tokens in total, found 1073741824 for each of 2 ranks}}
mx.group @ep size = 2 tokens = 1073741824
func.func private @group_c2_many()

// expected-error @below {{'mx.group' op expected 1 to 4 slots, the tokens of a rank, found 0}}
mx.group @ep size = 2 tokens = 4 slots = 0
func.func private @group_c3()

// expected-error @below {{'mx.group' op expected 1 to 4 slots, the tokens of a rank, found 5}}
mx.group @ep size = 2 tokens = 4 slots = 5
func.func private @group_c3_many()

func.func @groups_c1() -> index {
  // expected-error @below {{'mx.rank' op expected an mx.group, found nothing named @ep}}
  %r = mx.rank @ep
  return %r : index
}

func.func @groups_c1_other() -> index {
  // expected-error @below {{'mx.rank' op expected an mx.group, found func.func named @groups_c1_other}}
  %r = mx.rank @groups_c1_other
  return %r : index
}

mx.group @ep size = 2 tokens = 4
func.func @groups_c2() {
  // expected-note @below {{the window is defined here}}
  // expected-error @below {{'mx.window' op expected the window with rank 2 or more and 8 rows (4 for each of 2 ranks), found 'tensor<4x64xf32>'}}
  %w = mx.window @ep : tensor<4x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
func.func @groups_c2_rank() {
  // expected-note @below {{the window is defined here}}
  // expected-error @below {{'mx.window' op expected the window with rank 2 or more and 8 rows (4 for each of 2 ranks), found 'tensor<8xf32>'}}
  %w = mx.window @ep : tensor<8xf32>
  return
}

mx.group @ep size = 2 tokens = 4
// expected-note @below {{input is defined here}}
func.func @groups_c2_input(%x: tensor<4x64xf32>) {
  %w = mx.window @ep : tensor<8x64xf32>
  // expected-error @below {{'mx.all_to_all' op expected input with rank 2 or more and 8 rows (4 for each of 2 ranks), found 'tensor<4x64xf32>'}}
  %y = mx.all_to_all @ep ins(%x : tensor<4x64xf32>) outs(%w : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
// expected-note @below {{the window is defined here}}
func.func @groups_c3(%x: tensor<8x?xf32>) {
  // expected-error @below {{'mx.all_gather' op expected rows of static size in the window, found 'tensor<8x?xf32>'}}
  %y = mx.all_gather @ep outs(%x : tensor<8x?xf32>) -> tensor<8x?xf32>
  return
}

mx.group @ep size = 2 tokens = 4
func.func @groups_c4() {
  // expected-note @below {{the window is defined here}}
  // expected-error @below {{'mx.window' op expected numeric rows of whole bytes in the window, found 'tensor<8x63xf4E2M1FN>'}}
  %w = mx.window @ep : tensor<8x63xf4E2M1FN>
  return
}

mx.group @ep size = 2 tokens = 4
func.func @groups_c4_complex() {
  // expected-note @below {{the window is defined here}}
  // expected-error @below {{'mx.window' op expected numeric rows of whole bytes in the window, found 'tensor<8x64xcomplex<f32>>'}}
  %w = mx.window @ep : tensor<8x64xcomplex<f32>>
  return
}

mx.group @ep size = 2 tokens = 4
func.func @groups_c5(%x: tensor<3x64xbf16>) {
  // expected-note @below {{the window is defined here}}
  %w = mx.window @ep : tensor<8x64xf32>
  // expected-error @below {{'mx.all_gather' op expected the window with the element type 'bf16' of input, found 'f32'}}
  %y = mx.all_gather @ep ins(%x : tensor<3x64xbf16>) outs(%w : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
// expected-note @below {{input is defined here}}
func.func @groups_c5_columns(%x: tensor<3x32xf32>) {
  %w = mx.window @ep : tensor<8x64xf32>
  // expected-error @below {{'mx.all_gather' op expected dimension 1 of input to be 64, found 32}}
  %y = mx.all_gather @ep ins(%x : tensor<3x32xf32>) outs(%w : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
func.func @groups_c6(%ids: tensor<3x2xi32>) {
  %w = mx.window @ep : tensor<8x2xi32>
  // expected-error @below {{'mx.dispatch' op expected a positive number of experts that is divisible by the number of ranks, 2, found 7}}
  %y = mx.dispatch @ep experts = 7 ids(%ids : tensor<3x2xi32>) ins() outs(%w : tensor<8x2xi32>) -> tensor<8x2xi32>
  return
}

mx.group @ep size = 2 tokens = 4
// expected-note @below {{ids is defined here}}
func.func @groups_c7(%ids: tensor<3x33xi32>) {
  %w = mx.window @ep : tensor<8x33xi32>
  // expected-error @below {{'mx.dispatch' op expected dimension 1 of ids, the number of choices, to be static and from 1 to 32, found 'tensor<3x33xi32>'}}
  %y = mx.dispatch @ep experts = 8 ids(%ids : tensor<3x33xi32>) ins() outs(%w : tensor<8x33xi32>) -> tensor<8x33xi32>
  return
}

mx.group @ep size = 2 tokens = 4
func.func @groups_c8(%c: i1, %x: tensor<3x64xf32>) -> tensor<8x64xf32> {
  %w = mx.window @ep : tensor<8x64xf32>
  %y = scf.if %c -> tensor<8x64xf32> {
    // expected-error @below {{'mx.all_gather' op expected a collective outside of branches and of loops with non-constant bounds, because all ranks must execute it the same number of times, found it in scf.if}}
    %z = mx.all_gather @ep ins(%x : tensor<3x64xf32>) outs(%w : tensor<8x64xf32>) -> tensor<8x64xf32>
    scf.yield %z : tensor<8x64xf32>
  } else {
    scf.yield %w : tensor<8x64xf32>
  }
  return %y : tensor<8x64xf32>
}

mx.group @ep size = 2 tokens = 4
func.func @groups_c8_block(%c: i1, %x: tensor<3x64xf32>, %o: tensor<8x64xf32>) -> tensor<8x64xf32> {
  cf.cond_br %c, ^meet, ^end(%o : tensor<8x64xf32>)
^meet:
  %w = mx.window @ep : tensor<8x64xf32>
  // expected-error @below {{'mx.all_gather' op expected a collective outside of branches, because all ranks must execute it the same number of times, found it in the target block of a branch}}
  %y = mx.all_gather @ep ins(%x : tensor<3x64xf32>) outs(%w : tensor<8x64xf32>) -> tensor<8x64xf32>
  cf.br ^end(%y : tensor<8x64xf32>)
^end(%z: tensor<8x64xf32>):
  return %z : tensor<8x64xf32>
}

mx.group @ep size = 2 tokens = 4
func.func private @inner(%x: tensor<3x64xf32>) -> tensor<8x64xf32> {
  %w = mx.window @ep : tensor<8x64xf32>
  %z = mx.all_gather @ep ins(%x : tensor<3x64xf32>) outs(%w : tensor<8x64xf32>) -> tensor<8x64xf32>
  return %z : tensor<8x64xf32>
}
func.func @groups_c8_call(%n: index, %x: tensor<3x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{'func.call' op expected a call to a function with collectives outside of branches and of loops with non-constant bounds, because all ranks must execute it the same number of times, found it in scf.for}}
    %y = func.call @inner(%x) : (tensor<3x64xf32>) -> tensor<8x64xf32>
  }
  return
}

mx.group @ep size = 2 tokens = 4
mx.group @tp size = 2 tokens = 4
func.func @groups_c9(%x: tensor<3x64xf32>) {
  // expected-note @below {{the window is defined here}}
  %w = mx.window @tp : tensor<8x64xf32>
  // expected-error @below {{'mx.all_gather' op expected the window to belong to group @ep, found group @tp}}
  %y = mx.all_gather @ep ins(%x : tensor<3x64xf32>) outs(%w : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
mx.group @tp size = 2 tokens = 4
func.func @groups_c9_dispatch(%ids: tensor<3x2xi32>, %x: tensor<3x64xf32>) {
  %w = mx.window @ep : tensor<8x2xi32>
  // expected-note @below {{the window of payload 0 is defined here}}
  %v = mx.window @tp : tensor<8x64xf32>
  // expected-error @below {{'mx.dispatch' op expected the window of payload 0 to belong to group @ep, found group @tp}}
  %y:2 = mx.dispatch @ep experts = 8 ids(%ids : tensor<3x2xi32>) ins(%x : tensor<3x64xf32>) outs(%w, %v : tensor<8x2xi32>, tensor<8x64xf32>) -> tensor<8x2xi32>, tensor<8x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
mx.group @tp size = 2 tokens = 4
func.func @groups_c9_written(%zero: f32) {
  %w = mx.window @tp : tensor<8x64xf32>
  // expected-note @below {{the window is defined here}}
  %own = linalg.fill ins(%zero : f32) outs(%w : tensor<8x64xf32>) -> tensor<8x64xf32>
  // expected-error @below {{'mx.all_gather' op expected the window to belong to group @ep, found group @tp}}
  %y = mx.all_gather @ep outs(%own : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
mx.group @tp size = 2 tokens = 4
func.func @groups_c9_slice(%x: memref<8x64xf32>) {
  %w = mx.window @tp : memref<8x128xf32>
  // expected-note @below {{the window is defined here}}
  %part = memref.subview %w[0, 64] [8, 64] [1, 1] : memref<8x128xf32> to memref<8x64xf32, strided<[128, 1], offset: 64>>
  // expected-error @below {{'mx.all_to_all' op expected the window to belong to group @ep, found group @tp}}
  mx.all_to_all @ep ins(%x : memref<8x64xf32>) outs(%part : memref<8x64xf32, strided<[128, 1], offset: 64>>)
  return
}

mx.group @ep size = 2 tokens = 4
mx.group @tp size = 2 tokens = 4
func.func @groups_c9_slice_of_tensor(%x: tensor<8x64xf32>) {
  %w = mx.window @tp : tensor<8x128xf32>
  // expected-note @below {{the window is defined here}}
  %part = tensor.extract_slice %w[0, 64] [8, 64] [1, 1] : tensor<8x128xf32> to tensor<8x64xf32>
  // expected-error @below {{'mx.all_to_all' op expected the window to belong to group @ep, found group @tp}}
  %y = mx.all_to_all @ep ins(%x : tensor<8x64xf32>) outs(%part : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
func.func @dispatch_c1(%ids: tensor<3x2xi32>, %x: tensor<3x64xf32>) {
  %w = mx.window @ep : tensor<8x2xi32>
  // expected-error @below {{'mx.dispatch' op expected 2 outs (a window for ids and for each payload) and at most a number, found 1}}
  %y = mx.dispatch @ep experts = 8 ids(%ids : tensor<3x2xi32>) ins(%x : tensor<3x64xf32>) outs(%w : tensor<8x2xi32>) -> tensor<8x2xi32>
  return
}

mx.group @ep size = 2 tokens = 4
// expected-note @below {{payload 0 is defined here}}
func.func @dispatch_c2(%ids: tensor<3x2xi32>, %x: tensor<4x64xf32>) {
  %w = mx.window @ep : tensor<8x2xi32>
  %v = mx.window @ep : tensor<8x64xf32>
  // expected-error @below {{'mx.dispatch' op expected dimension 0 of payload 0 to be 3, found 4}}
  %y:2 = mx.dispatch @ep experts = 8 ids(%ids : tensor<3x2xi32>) ins(%x : tensor<4x64xf32>) outs(%w, %v : tensor<8x2xi32>, tensor<8x64xf32>) -> tensor<8x2xi32>, tensor<8x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
func.func @dispatch_c3(%ids: tensor<3x2xi32>) {
  %w = mx.window @ep : tensor<8x2xi32>
  // expected-note @below {{the number of rows is defined here}}
  %n = tensor.empty() : tensor<i64>
  // expected-error @below {{'mx.dispatch' op expected the number of rows as i32, found 'tensor<i64>'}}
  %y:2 = mx.dispatch @ep experts = 8 ids(%ids : tensor<3x2xi32>) ins() outs(%w, %n : tensor<8x2xi32>, tensor<i64>) -> tensor<8x2xi32>, tensor<i64>
  return
}

mx.group @ep size = 2 tokens = 4
// expected-note @below {{slots is defined here}}
func.func @collect_c1(%ids: tensor<3x2xi32>, %z: tensor<9x64xbf16>, %s: tensor<8xi32>, %o: tensor<3x64xf32>) {
  // expected-error @below {{'mx.collect' op expected dimension 0 of slots to be 9, found 8}}
  %y = mx.collect @ep experts = 8 wire = bf16 ids(%ids : tensor<3x2xi32>) ins(%z : tensor<9x64xbf16>) slots(%s : tensor<8xi32>) outs(%o : tensor<3x64xf32>) -> tensor<3x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
// expected-note @below {{outs is defined here}}
func.func @collect_c2(%ids: tensor<3x2xi32>, %z: tensor<9x64xbf16>, %s: tensor<9xi32>, %o: tensor<4x64xf32>) {
  // expected-error @below {{'mx.collect' op expected dimension 0 of outs to be 3, found 4}}
  %y = mx.collect @ep experts = 8 wire = bf16 ids(%ids : tensor<3x2xi32>) ins(%z : tensor<9x64xbf16>) slots(%s : tensor<9xi32>) outs(%o : tensor<4x64xf32>) -> tensor<4x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
func.func @collect_c3(%ids: tensor<3x2xi32>, %z: tensor<9x64xbf16>, %s: tensor<9xi32>, %o: tensor<3x64xf32>) {
  // expected-error @below {{'mx.collect' op expected wire = f32 or bf16, found 'f16'}}
  %y = mx.collect @ep experts = 8 wire = f16 ids(%ids : tensor<3x2xi32>) ins(%z : tensor<9x64xbf16>) slots(%s : tensor<9xi32>) outs(%o : tensor<3x64xf32>) -> tensor<3x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
// expected-note @below {{input is defined here}}
func.func @collect_c4(%ids: tensor<3x2xi32>, %z: tensor<9x?xbf16>, %s: tensor<9xi32>, %o: tensor<3x64xf32>) {
  // expected-error @below {{'mx.collect' op expected rows of static size in input, found 'tensor<9x?xbf16>'}}
  %y = mx.collect @ep experts = 8 wire = bf16 ids(%ids : tensor<3x2xi32>) ins(%z : tensor<9x?xbf16>) slots(%s : tensor<9xi32>) outs(%o : tensor<3x64xf32>) -> tensor<3x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
func.func @collect_c5(%ids: tensor<3x2xi32>, %z: tensor<9x64xbf16>, %s: tensor<9xi32>, %o: tensor<3x64xf32>) {
  // expected-error @below {{'mx.collect' op expected at least 1 part, found 0}}
  %y = mx.collect @ep experts = 8 wire = bf16 parts = 0 ids(%ids : tensor<3x2xi32>) ins(%z : tensor<9x64xbf16>) slots(%s : tensor<9xi32>) outs(%o : tensor<3x64xf32>) -> tensor<3x64xf32>
  return
}

mx.group @ep size = 2 tokens = 4
// expected-note @below {{outs is defined here}}
func.func @collect_pairs_c1(%ids: tensor<3x2xi32>, %z: tensor<9xf32>, %s: tensor<9xi32>, %o: tensor<3x3xf32>) {
  // expected-error @below {{'mx.collect_pairs' op expected dimension 1 of outs to be 2, found 3}}
  %y = mx.collect_pairs @ep experts = 8 ids(%ids : tensor<3x2xi32>) ins(%z : tensor<9xf32>) slots(%s : tensor<9xi32>) outs(%o : tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}

func.func @combine_c7(%z: tensor<9x64xf32>, %r: tensor<9xi32>, %o: tensor<3x64xf32>) {
  // expected-error @below {{'mx.combine' op expected order = fixed with 'overwrite'}}
  %y = mx.combine ins(%z : tensor<9x64xf32>) rows(%r : tensor<9xi32>) outs(%o : tensor<3x64xf32>) overwrite -> tensor<3x64xf32>
  return
}

// expected-note @below {{outs is defined here}}
func.func @combine_c8(%z: tensor<9x64xf32>, %r: tensor<9xi32>, %o: tensor<3x64xbf16>) {
  // expected-error @below {{'mx.combine' op expected outs of type f32 without order = fixed, found 'bf16'}}
  %y = mx.combine ins(%z : tensor<9x64xf32>) rows(%r : tensor<9xi32>) outs(%o : tensor<3x64xbf16>) -> tensor<3x64xbf16>
  return
}

mx.group @ep size = 2 tokens = 4
func.func @to_peers(%w: memref<8x64xf32>, %t: index) {
  // expected-error @below {{'mx.to_peers' op expected rows of 'memref<8x64xf32>' with identity layout, found 'memref<?x32xf32>'}}
  %v = mx.to_peers @ep %w[%t] : memref<8x64xf32> to memref<?x32xf32>
  return
}

mx.group @ep size = 2 tokens = 4
// expected-note @below {{the window is defined here}}
func.func @from_peers(%w: memref<9x64xf32>) {
  // expected-error @below {{'mx.from_peers' op expected the window with rank 2 or more and 8 rows (4 for each of 2 ranks), found 'memref<9x64xf32>'}}
  %v = mx.from_peers @ep %w : memref<9x64xf32>
  return
}

func.func @barrier() {
  // expected-error @below {{'mx.barrier' op expected an mx.group, found nothing named @ep}}
  mx.barrier @ep
  return
}
