//===- GroupFiles.h - Plans of two ranks, for tests -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handwritten plans, as mx-compile would write them, for programs in which two
// ranks exchange rows of 64 numbers.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_GROUPFILES_H
#define MX_UNITTESTS_RUNTIME_GROUPFILES_H

/// Entries:
/// - exchange: each rank doubles its x and gathers the results of all ranks,
///   then adds its two rows of y and sends row d of the sum to rank d. The
///   received rows are the result z.
/// - rounds: gathers in a loop in chosen windows, and reads a number.
/// - segments: gathers `bytes` bytes from each rank.
/// - barrier: a barrier if the ranks map each other's windows, or a gather.
inline constexpr char kGroupManifest[] = R"({
  "format": 5,
  "target": "sm_90a",
  "ptx": "kernels.ptx",
  "groups": [
    {"name": "ep", "size": 2, "tokens": 1}
  ],
  "kernels": [
    {"name": "vector_add", "block": [128, 1, 1], "dynamic_smem": 0, "programmatic": false}
  ],
  "entries": [
    {
      "name": "exchange",
      "arguments": [
        {"name": "x", "type": "tensor<64xf32>", "dtype": "f4", "shape": [64]},
        {"name": "y", "type": "tensor<2x64xf32>", "dtype": "f4", "shape": [2, 64]}
      ],
      "results": [
        {"name": "z", "type": "tensor<2x64xf32>", "dtype": "f4", "shape": [2, 64]},
        {"name": "rank", "type": "index", "dtype": "i8", "value": "group0.rank"}
      ],
      "values": [
        ["mul", "group0.rank", 256],
        ["mod", "win1.address", 256],
        ["eq", "v1", 0]
      ],
      "requires": [
        {"condition": "v2", "message": "expected a window at a multiple of 256, found {} after one", "values": ["v1"]}
      ],
      "workspace": 512,
      "buffers": [
        {"offset": 0, "bytes": 512}
      ],
      "windows": [
        {"group": 0, "offset": 0, "bytes": 512},
        {"group": 0, "offset": 512, "bytes": 512}
      ],
      "tensor_maps": [],
      "steps": [
        {"launch": "vector_add", "grid": [1, 1, 1], "args": [{"buffer": "arg0"}, {"buffer": "arg0"}, {"buffer": "win0", "offset": "v0"}, {"i32": 64}]},
        {"all_gather": "win0", "group": 0, "bytes": 256},
        {"launch": "vector_add", "grid": [1, 1, 1], "args": [{"buffer": "win0"}, {"buffer": "arg1"}, {"buffer": "work0"}, {"i32": 128}]},
        {"all_to_all": "work0", "to": "win1", "group": 0, "bytes": 256, "token": 0},
        {"wait": 0, "group": 0},
        {"copy": "win1", "to": "result0", "bytes": 512}
      ]
    },
    {
      "name": "rounds",
      "arguments": [
        {"name": "x", "type": "tensor<64xf32>", "dtype": "f4", "shape": [64]},
        {"name": "n", "type": "index", "dtype": "i8"}
      ],
      "results": [
        {"name": "z", "type": "tensor<2x64xf32>", "dtype": "f4", "shape": [2, 64]},
        {"name": "bits", "type": "i32", "dtype": "i4", "value": "v2"}
      ],
      "values": [
        ["mul", "group0.rank", 256]
      ],
      "requires": [],
      "workspace": 0,
      "buffers": [],
      "windows": [
        {"group": 0, "offset": 1024, "bytes": 512},
        {"group": 0, "offset": 2048, "bytes": 1000}
      ],
      "tensor_maps": [],
      "steps": [
        {"memset": "win0", "byte": 0, "bytes": 512},
        {
          "for": "v1", "from": 0, "to": "arg1", "step": 1,
          "carries": ["buf0"], "init": ["win0"],
          "do": {
            "steps": [
              {"choose": "buf1", "among": ["win0", "win1"], "besides": ["buf0"]},
              {"launch": "vector_add", "grid": [1, 1, 1], "args": [{"buffer": "buf0", "offset": "v0"}, {"buffer": "arg0"}, {"buffer": "buf1", "offset": "v0"}, {"i32": 64}]},
              {"all_gather": "buf1", "group": 0, "bytes": 256}
            ],
            "yields": ["buf1"]
          }
        },
        {"copy": "buf0", "to": "result0", "bytes": 512},
        {"read": "buf0", "offset": 256, "dtype": "i4", "to": "v2"}
      ]
    },
    {
      "name": "segments",
      "arguments": [
        {"name": "bytes", "type": "index", "dtype": "i8"}
      ],
      "results": [],
      "values": [],
      "requires": [],
      "workspace": 0,
      "buffers": [],
      "windows": [
        {"group": 0, "offset": 0, "bytes": 512}
      ],
      "tensor_maps": [],
      "steps": [
        {"all_gather": "win0", "group": 0, "bytes": "arg0"}
      ]
    },
    {
      "name": "mix",
      "arguments": [
        {"name": "x", "type": "tensor<128xf32>", "dtype": "f4", "shape": [128]},
        {"name": "y", "type": "tensor<128xf32>", "dtype": "f4", "shape": [128]}
      ],
      "results": [],
      "values": [],
      "requires": [],
      "workspace": 0,
      "buffers": [],
      "tensor_maps": [],
      "steps": [
        {"all_to_all": "arg0", "to": "arg1", "group": 0, "bytes": 256}
      ]
    },
    {
      "name": "barrier", "arguments": [], "results": [], "values": [], "requires": [], "workspace": 0, "buffers": [],
      "windows": [{"group": 0, "offset": 0, "bytes": 512}],
      "tensor_maps": [],
      "steps": [
        {"if": "group0.peers", "results": [], "then": {"steps": [{"barrier": 0}], "yields": []},
         "else": {"steps": [{"all_gather": "win0", "group": 0, "bytes": 256}], "yields": []}}
      ]
    }
  ]
}
)";

#endif // MX_UNITTESTS_RUNTIME_GROUPFILES_H
