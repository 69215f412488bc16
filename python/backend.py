"""Makes the wheel of the package `nvmini`, for pip and others (PEP 517 and 660): python/nvmini with the shared library.

The library is built by `make`, in build/release; `pip install . --config-settings library=FILE` takes another. Nothing is
downloaded, and neither setuptools nor wheel is needed: a wheel is an archive with three files of metadata.
"""
import base64
import hashlib
import os
import re
import subprocess
import sysconfig
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
METADATA = """Metadata-Version: 2.1
Name: nvmini
Version: {version}
Summary: Compiles NVVM IR (text or bitcode) to PTX, and executes kernels on the CPU
License: Apache-2.0
Requires-Python: >=3.9
Description-Content-Type: text/markdown

"""
WHEEL = "Wheel-Version: 1.0\nGenerator: nvmini\nRoot-Is-Purelib: false\nTag: {tag}\n"


class UnsupportedOperation(Exception):
    """PEP 517: what this backend does not do."""


def _read(*path):
    with open(os.path.join(ROOT, *path), "rb") as f:
        return f.read()


def _version():
    return re.search(rb"^VERSION := (\S+)", _read("Makefile"), re.MULTILINE)[1].decode()


def _library(settings):
    """The bytes of the shared library."""
    path = (settings or {}).get("library")
    if path is None:
        path = "build/release/libnvmini.so"
        subprocess.run(["make", "--no-print-directory", "VARIANT=release", path], cwd=ROOT, check=True)
    return _read(path)


def _write(folder, files):
    """Writes the wheel with the files {name: bytes}, the same bytes each time; returns its name."""
    version, tag = _version(), f"py3-none-{re.sub('[-.]', '_', sysconfig.get_platform())}"
    info = f"nvmini-{version}.dist-info"
    files = {**files, f"{info}/LICENSE": _read("LICENSE"), f"{info}/WHEEL": WHEEL.format(tag=tag).encode(),
             f"{info}/METADATA": METADATA.format(version=version).encode() + _read("docs", "python.md")}
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = f"nvmini-{version}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(folder, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    names = sorted(n for n in os.listdir(os.path.join(ROOT, "python", "nvmini")) if n.endswith((".py", "py.typed")))
    files = {f"nvmini/{name}": _read("python", "nvmini", name) for name in names}
    return _write(wheel_directory, {**files, "nvmini/libnvmini.so": _library(config_settings)})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A wheel that refers to python/ and, through it, to build/libnvmini.so."""
    return _write(wheel_directory, {"nvmini.pth": os.path.join(ROOT, "python").encode() + b"\n"})


def build_sdist(sdist_directory, config_settings=None):
    raise UnsupportedOperation("a source distribution is an archive of the repository")
