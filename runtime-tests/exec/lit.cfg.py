# Executed kernels: as the text checks (../check/lit.cfg.py), but each test runs what it compiles, in
# the simulator. algorithms/ and ops/ are executed in every way (../bin/everyway) and held against the
# reference.c there, which $CC or cc compiles; that takes a minute: only with EVERYWAY in the
# environment, as run.py's step everyway has it.
import os

here = os.path.dirname(os.path.abspath(__file__))
lit_config.load_config(config, os.path.join(here, "..", "check", "lit.cfg.py"))
config.name = "exec-" + variant if "variant" in globals() else "exec"
config.test_source_root = here
config.test_exec_root = config.test_exec_root.replace("check", "exec")
if "EVERYWAY" not in os.environ:
    config.excludes = [*config.excludes, "algorithms", "ops"]
