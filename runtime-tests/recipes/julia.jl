# julia.jl FOLDER: writes modules of one kernel, y[i] = sin(x[i]) for i < n, to FOLDER.
# Uses Julia and its standard library alone, no package.
using InteractiveUtils

block() = ccall("llvm.nvvm.read.ptx.sreg.ctaid.x", llvmcall, Int32, ())
width() = ccall("llvm.nvvm.read.ptx.sreg.ntid.x", llvmcall, Int32, ())
thread() = ccall("llvm.nvvm.read.ptx.sreg.tid.x", llvmcall, Int32, ())
sine(x::Float32) = ccall("extern __nv_sinf", llvmcall, Float32, (Float32,), x)

# Element i, from 0, of generic memory. unsafe_load(p, i) assumes an alignment of one byte.
load(p::Ptr{Float32}, i) = Core.Intrinsics.pointerref(p, Int(i) + 1, 4)
store(p::Ptr{Float32}, i, x) = Core.Intrinsics.pointerset(p, x, Int(i) + 1, 4)

# Element i of global memory, in the syntax of the typed pointers of LLVM 9.
const Global = Core.LLVMPtr{Float32,1}
load(p::Global, i) = Base.llvmcall("""
    %start = bitcast i8 addrspace(1)* %0 to float addrspace(1)*
    %at = getelementptr inbounds float, float addrspace(1)* %start, i32 %1
    %x = load float, float addrspace(1)* %at, align 4
    ret float %x""", Float32, Tuple{Global,Int32}, p, i)
store(p::Global, i, x) = Base.llvmcall("""
    %start = bitcast i8 addrspace(1)* %0 to float addrspace(1)*
    %at = getelementptr inbounds float, float addrspace(1)* %start, i32 %1
    store float %2, float addrspace(1)* %at, align 4
    ret void""", Cvoid, Tuple{Global,Int32,Float32}, p, i, x)

function sines(x, y, n)
    i = block() * width() + thread()
    if i < n
        store(y, i, sine(load(x, i)))
    end
    return
end

# The module of f for arguments of these types, as text, with f as its kernel. Removed: the host's
# triple and data layout, the wrapper that Julia's dispatch calls, the list of the collector's functions.
function kernel_module(f, types; options...)
    text = sprint(io -> code_llvm(io, f, types; dump_module=true, debuginfo=:none, options...))
    text = replace(text, r"^(target |@llvm\.compiler\.used ).*\n"m => "")
    text = replace(text, r"^define [^\n]*@\"?jfptr_.*?^}\n"ms => "")
    return replace(text, Regex("^define .*?void @\"?julia_$(nameof(f))_\\d+\"?\\(", "m") => "define ptx_kernel void @\"$(nameof(f))\"(")
end

write("$(ARGS[1])/generic.ll", kernel_module(sines, Tuple{Ptr{Float32},Ptr{Float32},Int32}))
write("$(ARGS[1])/global.ll", kernel_module(sines, Tuple{Global,Global,Int32}))
write("$(ARGS[1])/plain.ll", kernel_module(sines, Tuple{Global,Global,Int32}; optimize=false))
