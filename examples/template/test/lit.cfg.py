# lit tests. mx provides programs, substitutions and features (mx_suite.py).

import os
import sys

import lit.formats

sys.path.insert(0, config.mx_lit_dir)
import mx_suite

config.name = "MyCompiler"
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = config.my_source_dir
config.test_exec_root = config.my_binary_dir

mx_suite.use(config, {"my-compiler-opt": os.path.join(config.my_tools_dir, "my-compiler-opt")})
config.substitutions.append(("%python", f'"{sys.executable}"'))
