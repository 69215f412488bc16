"""llvmlite_module.py OUTPUT.ll OUTPUT.bc: a module built with llvmlite, as text and as bitcode of its LLVM."""
import sys

try:
    from llvmlite import binding, ir
except ImportError:
    sys.exit(77)

module = ir.Module(name="sines")
module.triple, module.data_layout = "nvptx64-nvidia-cuda", "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
number, index = ir.FloatType(), ir.IntType(32)
array = ir.PointerType(number, addrspace=1)
kernel = ir.Function(module, ir.FunctionType(ir.VoidType(), [array, array, index]), "sines")
sine = ir.Function(module, ir.FunctionType(number, [number]), "__nv_sinf")
thread = ir.Function(module, ir.FunctionType(index, []), "llvm.nvvm.read.ptx.sreg.tid.x")
b = ir.IRBuilder(kernel.append_basic_block("entry"))
i = b.call(thread, [])
with b.if_then(b.icmp_signed("<", i, kernel.args[2])):
    x = b.load(b.gep(kernel.args[0], [i]))
    b.store(b.call(sine, [x]), b.gep(kernel.args[1], [i]))
b.ret_void()
module.add_named_metadata("nvvm.annotations").add(module.add_metadata([kernel, ir.MetaDataString(module, "kernel"), index(1)]))

with open(sys.argv[1], "w", encoding="utf-8") as f:
    f.write(str(module))
with open(sys.argv[2], "wb") as f:
    f.write(binding.parse_assembly(str(module)).as_bitcode())
