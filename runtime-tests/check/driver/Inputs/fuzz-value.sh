#!/bin/sh
# fuzz-value.sh VALUE IN -o OUT: PTX of a kernel that stores VALUE, whatever it reads.
cat > "$4" <<PTX
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [k_param_0];
  mov.u32 %r1, $1;
  st.global.u32 [%rd1], 0;
  st.global.u32 [%rd1+4], %r1;
  ret;
}
PTX
