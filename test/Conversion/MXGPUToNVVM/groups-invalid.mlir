// RUN: mx-opt %s -convert-mxgpu-host-to-gpu -split-input-file -verify-diagnostics

mx.group @ep size = 2 tokens = 4
func.func @rank() -> index {
  // expected-error @below {{'mx.rank' op expected a launch plan for operations that involve several ranks, found host code that calls the runtime: compile with mx-compile, or run mx-to-plan}}
  %r = mx.rank @ep
  return %r : index
}

// -----
mx.group @ep size = 2 tokens = 4
func.func @gather(%w: memref<8x64xf32>) {
  // expected-error @below {{'mx.all_gather' op expected a launch plan for operations that involve several ranks, found host code that calls the runtime: compile with mx-compile, or run mx-to-plan}}
  mx.all_gather @ep outs(%w : memref<8x64xf32>)
  return
}
