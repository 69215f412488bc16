# Executed kernels: as the text checks (../check/lit.cfg.py), but each test runs what it compiles, in
# the simulator. `%exec OPTIONS` runs it from PTX made for several CPU generations, and compares the
# results with each other.
import os

here = os.path.dirname(os.path.abspath(__file__))
lit_config.load_config(config, os.path.join(here, "..", "check", "lit.cfg.py"))
config.name = "exec-" + variant if "variant" in globals() else "exec"
config.test_source_root = here
config.test_exec_root = config.test_exec_root.replace("check", "exec")
