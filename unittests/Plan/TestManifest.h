//===- TestManifest.h - Manifest with every feature -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_PLAN_TESTMANIFEST_H
#define MX_UNITTESTS_PLAN_TESTMANIFEST_H

namespace mx::plan {

/// The manifest as writeManifest prints it.
inline constexpr char kTestManifest[] = R"({
  "format": 5,
  "target": "sm_100a",
  "ptx": "kernels.ptx",
  "cubin": "kernels.cubin",
  "data": "constants.bin",
  "constants": [
    {"name": "bias", "offset": 256, "bytes": 16}
  ],
  "groups": [
    {"name": "ep", "size": 2, "tokens": 64},
    {"name": "tp", "size": 4, "tokens": 8}
  ],
  "kernels": [
    {"name": "first", "block": [128, 1, 1], "dynamic_smem": 1024, "programmatic": false},
    {"name": "second", "block": [32, 2, 1], "dynamic_smem": 0, "programmatic": true, "schedule": "<stages = 2>"}
  ],
  "entries": [
    {
      "name": "main",
      "arguments": [
        {"name": "x", "type": "tensor<?x64xbf16>", "dtype": "u2", "shape": ["?", 64]},
        {"name": "n", "type": "i32", "dtype": "i4"},
        {"name": "alpha", "type": "f32", "dtype": "f4"}
      ],
      "results": [
        {"name": "y", "type": "tensor<?x64xbf16>", "dtype": "u2", "shape": ["arg0[0]", 64]}
      ],
      "values": [
        ["ceildiv", "arg0[0]", 128],
        ["mul", "v0", 512],
        ["mod", "arg0.address", 16],
        ["eq", "v2", 0],
        ["min", "v0", "sm_count"],
        ["mul", "arg0[0]", 128],
        ["select", "v3", "arg1", 7]
      ],
      "requires": [
        {"condition": "v3", "message": "x.mlir:1:2: expected an address of {} bytes, found {}", "values": [16, "v2"]}
      ],
      "workspace": "v1",
      "buffers": [
        {"offset": 0, "bytes": "v1"}
      ],
      "tensor_maps": [
        {"buffer": "arg0", "offset": 256, "type": "bf16", "dims": [64, "arg0[0]"], "strides": [128], "box": [64, 128], "swizzle": "128b", "l2": "256b", "oob": "zero"}
      ],
      "steps": [
        {"memset": "work0", "byte": 255, "bytes": "v1"},
        {"launch": "first", "grid": ["v4", 1, 1], "args": [{"tensor_map": 0}, {"buffer": "work0"}, {"i64": "arg0[0]"}, {"i32": "v6"}, {"argument": 2}, {"bytes": "0000803f"}]},
        {"launch": "second", "grid": [1, "v0", 2], "args": []},
        {"copy": "arg0", "to": "result0", "bytes": "v5"}
      ]
    },
    {
      "name": "idle",
      "arguments": [],
      "results": [
        {"name": "w", "type": "tensor<4xf32>", "dtype": "f4", "shape": [4]}
      ],
      "values": [],
      "requires": [],
      "workspace": 0,
      "buffers": [],
      "tensor_maps": [],
      "steps": [
        {"copy": "const0", "to": "result0", "bytes": 16}
      ]
    },
    {
      "name": "loop",
      "arguments": [
        {"name": "x", "type": "tensor<64xf32>", "dtype": "f4", "shape": [64]},
        {"name": "n", "type": "index", "dtype": "i8"}
      ],
      "results": [
        {"name": "y", "type": "tensor<64xf32>", "dtype": "f4", "shape": [64]},
        {"name": "sum", "type": "index", "dtype": "i8", "value": "v2"}
      ],
      "values": [
        ["le", "arg1", 4]
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
          "for": "v3",
          "from": 0,
          "to": "arg1",
          "step": 1,
          "carries": ["buf0", "v1", "v2"],
          "init": ["arg0", 0, 7],
          "do": {
            "steps": [
              {"choose": "buf1", "among": ["work0", "work1"], "besides": ["buf0"]},
              {"compute": "v4", "as": ["add", "v1", "v3"]},
              {"require": {"condition": "v0", "message": "expected at most 4 rounds, found {}", "values": ["arg1"]}},
              {"copy": "buf0", "to": "buf1", "bytes": 256},
              {"encode": 0, "map": {"buffer": "buf1", "offset": 0, "type": "f32", "dims": [64], "strides": [], "box": [64], "swizzle": "none", "l2": "none", "oob": "zero"}},
              {"launch": "first", "grid": [0, 1, 1], "args": [{"tensor_map": 0}, {"i64": "v4"}]},
              {"read": "buf1", "offset": 8, "dtype": "i4", "to": "v5"},
              {
                "if": "v5",
                "results": ["v6", "buf2"],
                "then": {
                  "steps": [
                    {"compute": "v7", "as": ["mul", "v5", 2]},
                    {"memset": "buf1", "byte": 1, "bytes": 4}
                  ],
                  "yields": ["v7", "buf1"]
                },
                "else": {
                  "steps": [],
                  "yields": [0, "buf0"]
                }
              }
            ],
            "yields": ["buf2", "v4", "v6"]
          }
        },
        {"copy": "buf0", "to": "result0", "bytes": 256}
      ]
    },
    {
      "name": "exchange",
      "arguments": [
        {"name": "x", "type": "tensor<?x16xf32>", "dtype": "f4", "shape": ["?", 16]}
      ],
      "results": [
        {"name": "rank", "type": "index", "dtype": "i8", "value": "group0.rank"}
      ],
      "values": [
        ["mul", "group0.rank", 4096],
        ["add", "win0.address", "v0"],
        ["mul", "arg0[0]", 64]
      ],
      "requires": [],
      "workspace": 0,
      "buffers": [],
      "windows": [
        {"group": 0, "offset": 0, "bytes": 8192},
        {"group": 0, "offset": 8192, "bytes": 8192},
        {"group": 1, "offset": 256, "bytes": 512}
      ],
      "tensor_maps": [
        {"buffer": "win0", "offset": 0, "type": "f32", "dims": [16, 128], "strides": [64], "box": [16, 8], "swizzle": "none", "l2": "none", "oob": "zero"}
      ],
      "steps": [
        {"memset": "win1", "byte": 0, "bytes": 8192},
        {"launch": "first", "grid": [1, 1, 1], "args": [{"tensor_map": 0}, {"buffer": "win1"}, {"i64": "v1"}]},
        {"all_gather": "win0", "group": 0, "bytes": 4096, "token": 0},
        {"all_to_all": "win0", "to": "win1", "group": 0, "bytes": "v2", "token": 1},
        {"copy": "win2", "to": "arg0", "bytes": 64},
        {"copy": "arg0", "to": "win1", "offset": "v0", "bytes": 64},
        {"wait": 1, "group": 0},
        {"barrier": 1}
      ]
    }
  ]
}
)";

} // namespace mx::plan

#endif // MX_UNITTESTS_PLAN_TESTMANIFEST_H
