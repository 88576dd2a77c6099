//===- FlowFiles.h - A plan with a loop, for tests --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A handwritten plan, as mx-compile would write it, that doubles an array
// several times and reads one of its elements.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_FLOWFILES_H
#define MX_UNITTESTS_RUNTIME_FLOWFILES_H

/// Computes y = x * 2^rounds, or fills y with bytes of 255 if element `at` of y
/// is zero. Also returns the bits of that element and the sum of the loop
/// counters.
inline constexpr char kFlowManifest[] = R"({
  "format": 5,
  "target": "sm_90a",
  "ptx": "kernels.ptx",
  "kernels": [
    {"name": "vector_add", "block": [128, 1, 1], "dynamic_smem": 0, "programmatic": false}
  ],
  "entries": [
    {
      "name": "double",
      "arguments": [
        {"name": "x", "type": "tensor<64xf32>", "dtype": "f4", "shape": [64]},
        {"name": "rounds", "type": "index", "dtype": "i8"},
        {"name": "at", "type": "index", "dtype": "i8"}
      ],
      "results": [
        {"name": "y", "type": "tensor<64xf32>", "dtype": "f4", "shape": [64]},
        {"name": "bits", "type": "i32", "dtype": "i4", "value": "v5"},
        {"name": "sum", "type": "index", "dtype": "i8", "value": "v1"}
      ],
      "values": [
        ["mul", "arg2", 4]
      ],
      "requires": [],
      "workspace": 512,
      "buffers": [
        {"offset": 0, "bytes": 256},
        {"offset": 256, "bytes": 256}
      ],
      "tensor_maps": [],
      "steps": [
        {
          "for": "v2",
          "from": 0,
          "to": "arg1",
          "step": 1,
          "carries": ["buf0", "v1"],
          "init": ["arg0", 0],
          "do": {
            "steps": [
              {"choose": "buf1", "among": ["work0", "work1"], "besides": ["buf0"]},
              {"compute": "v3", "as": ["le", "v2", 4]},
              {"require": {"condition": "v3", "message": "expected at most 5 rounds, found more than {}", "values": ["v2"]}},
              {"launch": "vector_add", "grid": [1, 1, 1], "args": [{"buffer": "buf0"}, {"buffer": "buf0"}, {"buffer": "buf1"}, {"i32": 64}]},
              {"compute": "v4", "as": ["add", "v1", "v2"]}
            ],
            "yields": ["buf1", "v4"]
          }
        },
        {"read": "buf0", "offset": "v0", "dtype": "i4", "to": "v5"},
        {
          "if": "v5",
          "results": [],
          "then": {
            "steps": [
              {"copy": "buf0", "to": "result0", "bytes": 256}
            ],
            "yields": []
          },
          "else": {
            "steps": [
              {"memset": "result0", "byte": 255, "bytes": 256}
            ],
            "yields": []
          }
        }
      ]
    }
  ]
}
)";

#endif // MX_UNITTESTS_RUNTIME_FLOWFILES_H
