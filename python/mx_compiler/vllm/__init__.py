# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plugin for vLLM (experimental). vLLM calls `register` in each of its processes, by the entry point
`mx` in the group vllm.general_plugins. The variables VLLM_PLUGINS and VLLM_DISABLED_KERNELS
of vLLM deselect the plugin or its kernels."""

import functools
import logging
import sys

SUPPORTED = "0.33"


@functools.cache
def register():
    """Adds linear kernels of mx to vLLM's tables, and the quantization method "mx" for checkpoints in
    the format of mx. Further calls do nothing. If vLLM has another interface, logs a warning and
    leaves vLLM unchanged."""
    try:
        from . import config, kernels
        kernels.add()
        config.add()
    except Exception as error:  # of any kind, because vLLM does not catch errors of plugins
        found = getattr(sys.modules.get("vllm"), "__version__", "none")
        logging.getLogger("vllm.mx_compiler").warning(
            "mx: expected vLLM %s, found %s (%s: %s): vLLM runs without mx; pip install 'vllm==%s.*'",
            SUPPORTED, found, type(error).__name__, error, SUPPORTED)
