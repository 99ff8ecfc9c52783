"""A hook of hatchling: a wheel has the compiled kernels of the folder that FRESHET_PREBUILT_KERNELS names.

Without that variable the wheel is pure, for every platform and Python.
"""

import json
import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PrebuiltKernels(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        named = os.environ.get("FRESHET_PREBUILT_KERNELS")
        if not named or version == "editable":
            return
        folder = Path(self.root, named)
        python = json.loads((folder / "target.json").read_bytes())["python"]
        if python != sysconfig.get_config_var("SOABI"):
            raise ValueError(f"{folder}: kernels were compiled with another Python, {python}")
        build_data["force_include"][str(folder)] = "freshet/kernels/prebuilt"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
