"""triton_kernel.py OUTPUT.ll OUTPUT.ptx: Triton's module, made after its optimizer, and the PTX of its own LLVM. No GPU is needed."""
import sys

try:
    import triton
except ImportError:
    sys.exit(77)
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def sines(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.sin(tl.load(x + i, mask=i < n)), mask=i < n)


source = ASTSource(fn=sines, signature={"x": "*fp32", "y": "*fp32", "n": "i32", "B": "constexpr"}, constexprs={"B": 128})
made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
for path, kind in zip(sys.argv[1:], ("llir", "ptx")):
    with open(path, "w", encoding="utf-8") as f:
        f.write(made.asm[kind])
