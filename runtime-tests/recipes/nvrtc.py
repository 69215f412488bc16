"""nvrtc.py SOURCE OUTPUT.ptx: compiles with NVRTC (libnvrtc.so), no compiler of the host needed."""
import ctypes
import sys

source, output = sys.argv[1:]
for name in ("libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"):
    try:
        nvrtc = ctypes.CDLL(name)
        break
    except OSError:
        nvrtc = None
if nvrtc is None:
    sys.exit(77)

program, size = ctypes.c_void_p(), ctypes.c_size_t()
with open(source, "rb") as f:
    text = f.read()
options = [b"--gpu-architecture=compute_90"]
assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"cuda.cu", 0, None, None) == 0
assert nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) == 0
assert nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
ptx = ctypes.create_string_buffer(size.value)
assert nvrtc.nvrtcGetPTX(program, ptx) == 0
with open(output, "wb") as f:
    f.write(ptx.value)
