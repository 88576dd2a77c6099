// Stock mlir-opt rejects mx IR until the plugin is loaded. With the plugin, mlir-opt
// parses and verifies mx IR, runs passes on it, and writes bytecode.

// REQUIRES: plugin

// RUN: not mlir-opt %s 2>&1 | FileCheck %s --check-prefix=WITHOUT
// WITHOUT: error: Dialect `mx' not found

// RUN: mlir-opt --load-dialect-plugin=%mx_libs/MXPlugin%shlibext %s \
// RUN:   --pass-pipeline="builtin.module(func.func(canonicalize,cse))" | FileCheck %s

// RUN: mlir-opt --load-dialect-plugin=%mx_libs/MXPlugin%shlibext %s --emit-bytecode \
// RUN:   | mlir-opt --load-dialect-plugin=%mx_libs/MXPlugin%shlibext | FileCheck %s

// The library is also a pass plugin.
// RUN: mlir-opt --load-pass-plugin=%mx_libs/MXPlugin%shlibext \
// RUN:   --load-dialect-plugin=%mx_libs/MXPlugin%shlibext %s | FileCheck %s

// CHECK-LABEL: func.func @quantize(
// CHECK-SAME:    %[[X:.+]]: tensor<256x512xbf16>, %[[E:.+]]: tensor<256x512xf8E4M3FN>, %[[S:.+]]: tensor<256x16xf8E8M0FNU>)
// CHECK:         mx.quantize ins(%[[X]] : tensor<256x512xbf16>) outs(%[[E]], %[[S]] :
func.func @quantize(%x: tensor<256x512xbf16>, %e: tensor<256x512xf8E4M3FN>,
                    %s: tensor<256x16xf8E8M0FNU>)
    -> (tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>) {
  %q:2 = mx.quantize ins(%x : tensor<256x512xbf16>)
      outs(%e, %s : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>)
      -> tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
  return %q#0, %q#1 : tensor<256x512xf8E4M3FN>, tensor<256x16xf8E8M0FNU>
}
