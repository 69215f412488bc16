// y[i] = sin(x[i]) for i < n, in the dialects gpu, scf, math and llvm.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @sines(%x: !llvm.ptr, %y: !llvm.ptr, %n: i32) kernel {
      %block = gpu.block_id x
      %size = gpu.block_dim x
      %thread = gpu.thread_id x
      %start = arith.muli %block, %size : index
      %index = arith.addi %start, %thread : index
      %i = arith.index_cast %index : index to i32
      %inside = arith.cmpi slt, %i, %n : i32
      scf.if %inside {
        %from = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
        %to = llvm.getelementptr %y[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
        %value = llvm.load %from : !llvm.ptr -> f32
        %sine = math.sin %value : f32
        llvm.store %sine, %to : f32, !llvm.ptr
      }
      gpu.return
    }
  }
}
