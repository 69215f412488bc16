# The text checks: lit runs the RUN lines of each test, FileCheck compares.
#
# A test is a .nvir, .ll or .test file below this folder whose RUN lines a shell (bash) runs with
# `pipefail`. On the PATH stand, first: nvmini of the build under test, FileCheck, and what lies in
# runtime-tests/bin: `not` (succeeds if the command fails with a status below 126), `exits N`
# (succeeds if it exits with N), `roundtrip` (prints, parses, prints again, compares).
# %s is the test, %t a file of its own, %S its folder, %samples the samples' folder.
import inspect
import os
import resource
import subprocess
import lit.formats

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
build = os.path.join(root, os.environ.get("NVMINI_BUILD", "build"))
variant = os.environ.get("NVMINI_VARIANT", "default")

# A test that runs away ends after two minutes of processor time. (lit's own time limit wants a
# Python module that Debian's package does not bring.)
resource.setrlimit(resource.RLIMIT_CPU, (120, resource.getrlimit(resource.RLIMIT_CPU)[1]))

config.name = "check-" + variant
# Since LLVM 23, two options of lit select the external shell.
external = {"execute_external": True}
if "force_execute_external" in inspect.signature(lit.formats.ShTest).parameters:
    external["force_execute_external"] = True
config.test_format = lit.formats.ShTest(**external)
config.suffixes = [".nvir", ".ll", ".ptx", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(build, "check")
config.environment["PATH"] = os.pathsep.join(
    [build, os.path.join(root, "build", "test-tools"), os.path.join(root, "runtime-tests", "bin"),
     os.environ["PATH"]])
config.environment["LC_ALL"] = "C"
config.environment["FILECHECK_OPTS"] = "--dump-input=fail"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "NVMINI_BUILD", "CC"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions.append(("%samples", os.path.join(root, "samples")))
config.substitutions.append(("%root", root))
config.available_features.add(variant)
assembler = subprocess.run([os.path.join(root, "tools", "find-llvm.sh"), "llvm-as", "19"], capture_output=True, text=True).stdout.strip()
if assembler:  # for tests of bitcode
    config.available_features.add("llvm-as")
    config.substitutions.append(("%llvm-as", assembler))
if os.geteuid() == 0:
    config.available_features.add("root")
